"""A tokenizer and the tokenized text of three languages, small enough to train on within a test."""

import json
import random
from functools import cache
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from vocap.corpora.records import Layout
from vocap.pretraining.tokenizing import tokenize_language
from vocap.tokenizers.export import export
from vocap.tokenizers.joint import train_joint
from vocap.tokenizers.layout import serialize
from vocap.tokenizers.multilingual_text import sampled_text

LETTERS = {
    "de": "abcdefghiklmnoprstuwz",
    "ja": "日本語文字列計算機学習言葉前後左右上下中",
    "ru": "абвгдежзиклмнопрстуя",
}
TOTAL = 400
LENGTH = 64

# one layer, a few steps: what is tested is how a run goes
RECIPE = {
    "loss": {"kind": "knn", "k": 5, "every": 4},
    "shape": {"layers": 1, "hidden": 16, "heads": 2, "intermediate": 32, "positions": LENGTH},
    "steps": 12, "batch": 8, "micro_batch": 4, "warmup": 3, "learning_rate": 1e-2, "log_every": 4,
    "checkpoint_every": 1, "heldout_blocks": 2,
}  # fmt: skip


def make_lines(language: str, count: int, seed: int = 0) -> list[str]:
    """Distinct sentences of words that follow Zipf's law; Japanese has no spaces."""
    generator = random.Random(f"{language} {seed}")
    words = ["".join(generator.choices(LETTERS[language], k=generator.randint(2, 6))) for _ in range(400)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    space = "" if language == "ja" else " "
    lines: dict[str, None] = {}
    while len(lines) < count:
        lines[space.join(generator.choices(words, weights, k=generator.randint(3, 12)))] = None
    return list(lines)


def write_lines(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


@cache
def model_bytes() -> bytes:
    """A joint tokenizer of three languages."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        lines = [line for language in LETTERS for line in make_lines(language, 500)]
        random.Random(0).shuffle(lines)
        mix = write_lines(Path(folder, "mix.txt"), lines)
        return serialize(train_joint(sampled_text(mix), TOTAL, 0.9995, 1, False, []))


def make_tokenizer(folder: Path) -> Path:
    """A tokenizer's folder: sentencepiece.model and huggingface/."""
    folder.mkdir(parents=True)
    (folder / "sentencepiece.model").write_bytes(model_bytes())
    export(folder / "sentencepiece.model", folder / "huggingface")
    return folder


def processor() -> SentencePieceProcessor:
    return SentencePieceProcessor(model_proto=model_bytes())


def make_blocks(folder: Path, tokenizer: Path, counts: dict[str, int], length: int = LENGTH) -> Path:
    """Tokenized text of so many lines of each language, 20 more held out (none where there are none)."""
    for language, count in counts.items():
        lines = make_lines(language, count + 20, seed=1) if count else []
        text = folder / "text" / language
        train = write_lines(text / "train.txt", lines[:count])
        heldout = write_lines(text / "heldout.txt", lines[count:])
        model = tokenizer / "sentencepiece.model"
        tokenize_language(language, [str(train)], Layout(), heldout, model, folder / "tokens" / language, length)
    return folder / "tokens"


def make_run(folder: Path, **changes) -> list[str]:
    """The arguments of `vocap pretrain` for a run in `folder`, but for the output; what it needs is made."""
    tokenizer = make_tokenizer(folder / "tokenizer")
    tokens = make_blocks(folder, tokenizer, {"de": 300, "ja": 150, "ru": 200})
    return arguments(tokenizer, tokens, **changes)


def arguments(tokenizer: Path, tokens: Path, **changes) -> list[str]:
    settings = json.dumps(RECIPE | changes)
    return ["--tokenizer", str(tokenizer), "--tokens", str(tokens), "--settings-json", settings, "--threads", "1"]
