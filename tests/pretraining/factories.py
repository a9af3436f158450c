"""Factories of small inputs of pre-training: text of three languages, a tokenizer,
token blocks, arguments.
"""

import json
import random
from functools import cache
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from tests.cases import read_cases
from tests.made_text import draw_sentences, write_lines
from vocap.options import parse_layout
from vocap.pretraining.tokenizing import tokenize_language
from vocap.text_files import Layout
from vocap.tokenizer_files.export import export_unigram
from vocap.tokenizer_files.layout import serialize
from vocap.tokenizers.joint import descend_joint
from vocap.tokenizers.settings import JointTraining
from vocap.tokenizers.weighted_text import sampled_text

CASES = read_cases(__file__)
LETTERS, RECIPE = CASES["letters"], CASES["recipe"]
TOTAL = 400
LENGTH = 64


def make_lines(language: str, count: int, seed: int = 0) -> list[str]:
    """Distinct made sentences; Japanese has no spaces."""
    space = "" if language == "ja" else " "
    sentences = draw_sentences(
        f"{language} {seed}", LETTERS[language], space, words=400, longest=6, length=(3, 12)
    )
    lines: dict[str, None] = {}
    while len(lines) < count:
        lines[next(sentences)] = None
    return list(lines)


@cache
def model_bytes(layout: str = "xlm-r") -> bytes:
    """A joint tokenizer of three languages."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        lines = [line for language in LETTERS for line in make_lines(language, 500)]
        random.Random(0).shuffle(lines)
        mix = write_lines(Path(folder, "mix.txt"), lines)
        own = JointTraining(total=TOTAL, layout=parse_layout(layout))
        ((_, proto, _),) = descend_joint(sampled_text(mix), [TOTAL], own)
        return serialize(proto)


def make_tokenizer(folder: Path, layout: str = "xlm-r") -> Path:
    """A tokenizer's folder: sentencepiece.model and huggingface/."""
    folder.mkdir(parents=True)
    (folder / "sentencepiece.model").write_bytes(model_bytes(layout))
    export_unigram(folder / "sentencepiece.model", folder / "huggingface")
    return folder


def processor() -> SentencePieceProcessor:
    return SentencePieceProcessor(model_proto=model_bytes())


def make_blocks(
    folder: Path, tokenizer: Path, counts: dict[str, int], length: int = LENGTH
) -> Path:
    """Tokenized text of so many lines of each language, 20 more held out (none where
    there are none).
    """
    for language, count in counts.items():
        lines = make_lines(language, count + 20, seed=1) if count else []
        text = folder / "text" / language
        train = write_lines(text / "train.txt", lines[:count])
        heldout = write_lines(text / "heldout.txt", lines[count:])
        model = tokenizer / "sentencepiece.model"
        tokenize_language(
            language, [str(train)], Layout(), heldout, model, folder / "tokens" / language, length
        )
    return folder / "tokens"


def pretrain_arguments(folder: Path, layout: str = "xlm-r", **changes) -> list[str]:
    """The arguments of `vocap pretrain` for a run in `folder`, without the output;
    makes its inputs.
    """
    tokenizer = make_tokenizer(folder / "tokenizer", layout)
    tokens = make_blocks(folder, tokenizer, {"de": 300, "ja": 150, "ru": 200})
    return arguments(tokenizer, tokens, **changes)


def arguments(tokenizer: Path, tokens: Path, **changes) -> list[str]:
    named = {"tokenizer": str(tokenizer), "tokens": str(tokens)}
    named |= {"settings-json": json.dumps(RECIPE | changes), "threads": "1"}
    return [word for name, value in named.items() for word in (f"--{name}", value)]


def with_settings(arguments: list[str], **changes) -> list[str]:
    """Arguments with changes of their settings."""
    words = list(arguments)
    place = words.index("--settings-json") + 1
    words[place] = json.dumps(json.loads(words[place]) | changes)
    return words
