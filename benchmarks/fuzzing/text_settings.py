"""Random combinations of the text settings: the ladder's models against those of
SentencePiece.

    python benchmarks/fuzzing/text_settings.py [--combinations 200] [--seed 1]
        [--minutes 30] [-o TABLE.tsv]

Each combination is tried on a text of its own: some lines of a language of NTREX
(VOCAP_DATA/text/ntrex), source code of the standard library, and odd text. Prints the
counts; exits 1 if a model or a reason differs.
"""

import argparse
import atexit
import csv
import functools
import io
import lzma
import os
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import fields
from pathlib import Path

import sentencepiece
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from vocap.errors import UsageError
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.unigram.alp import average_log_probability, count_tokens
from vocap.unigram.ladder import train_sizes
from vocap.unigram.text_settings import NFC, NORMALIZATIONS, TextSettings, nfc_rules
from vocap.unigram.word_types import load_word_types

LANGUAGES = (
    "en",
    "ru",
    "ar",
    "hi",
    "th",
    "km",
    "ja",
    "zh",
    "ko",
    "ka",
    "am",
    "my",
    "he",
    "el",
    "ta",
)
CODE = (
    "json/decoder.py",
    "textwrap.py",
    "statistics.py",
    "colorsys.py",
    "html/entities.py",
    "heapq.py",
)
EQUAL, REFUSED, DIFFERENT = "equal", "refused by both", "different"
ODD = (
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308 "
    "\U0001f1e9\U0001f1ea x\ufe0f",
    "e\u0301a\u0300\u0323 \u0301x q\u0308\u0308 \u1100\u1161\u11a8 ệ e\u0302\u0323",
    "  a   b    c     ",
    "\tif x:\t\treturn\t",
    "\ta\t\tb ",
    "a\0b \0",
    "\ufffd\ufffd x\ufffd \ufeff",
    "a\u2581b\u2581\u2581c \u2581",
    "x \u2585 y",
    "<unk> <s>x</s> <0x41><0xFF> [CLS]<|end|>",
    "ﬁ ﬂ Ａ１２ ２０２４ ㍿ ½ ẞ İ ſ",
    "line \u2028 and \x85 and \x1c \x0b",
    "1234 56.78 x1y2 ３４ ٣٤ ४५",
    "\u200fשלום\u200e \u202eabc\u202c",
    "日本語テキストー ｶﾀｶﾅ 한국어",
    "text \r",
    "   ",
    "",
)
SYMBOLS = (
    "<|end|>",
    "[CLS]",
    "the",
    "in",
    " = ",
    "\t",
    "<s>",
    "</s>",
    "self",
    "1",
    "日",
    "\u2581",
    "  ",
    "<pad>",
    ".",
)
PROBABLE = {  # values that differ from the default, drawn for a key that is chosen
    "normalization": lambda draw: draw.choice(NORMALIZATIONS),
    "max_sentencepiece_length": lambda draw: draw.choice([1, 2, 3, 5, 8, 12, 24, 40, 100]),
    "required_chars": lambda draw: "".join(draw.sample("☃Ωéx9語\u0301\U0001f469.\u2581", 3)),
    "user_defined_symbols": lambda draw: tuple(draw.sample(SYMBOLS, draw.randint(1, 4))),
    "control_symbols": lambda draw: tuple(draw.sample(SYMBOLS, draw.randint(1, 4))),
}


def draw_keys(draw: random.Random) -> dict:
    """Some of the keys with other values than the default ones."""
    keys = {}
    share = draw.choice([0.2, 0.4, 0.6])
    for one in fields(TextSettings):
        if draw.random() < share:
            value = PROBABLE[one.name](draw) if one.name in PROBABLE else not one.default
            if value != one.default:
                keys[one.name] = value
    return keys


def draw_lines(draw: random.Random) -> list[str]:
    """A text of some hundred lines: of a language where VOCAP_DATA is set, source code
    and odd lines.
    """
    lines = []
    if folder := os.environ.get("VOCAP_DATA"):
        path = Path(folder) / "text" / "ntrex" / f"{draw.choice(LANGUAGES)}.txt.xz"
        text = lzma.decompress(path.read_bytes()).decode("utf-8").split("\n")
        lines += draw.sample(text, draw.choice([0, 40, 150]))
    source = Path(os.__file__).parent / draw.choice(CODE)
    code = source.read_text(encoding="utf-8").split("\n")
    begin = draw.randrange(max(1, len(code) - 150))
    lines += code[begin : begin + draw.choice([20, 80, 150])]
    lines += draw.choices(ODD, k=draw.choice([0, 5, 40]))
    if draw.random() < 0.3:
        draw.shuffle(lines)
    return lines


@functools.cache
def nfc_table() -> str:
    """The path of our table of canonical composition, in SentencePiece's format."""
    hexadecimal = [
        [" ".join(f"{ord(one):X}" for one in text) for text in rule] for rule in nfc_rules()
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", delete=False) as file:
        file.writelines(f"{source}\t{target}\n" for source, target in hexadecimal)
    atexit.register(os.unlink, file.name)
    return file.name


def reference(lines: list[str], size: int, keys: dict, coverage: float = 0.9995) -> bytes | str:
    """The model of SentencePiece, called with `keys` under its own names; or its
    message.
    """
    options = {"byte_fallback": False, "user_defined_symbols": [], "control_symbols": []}
    options |= {
        name: list(value) if isinstance(value, tuple) else value for name, value in keys.items()
    }
    if name := options.pop("normalization", None):
        path = nfc_table() if name == NFC else name
        options[
            "normalization_rule_tsv" if path.endswith(".tsv") else "normalization_rule_name"
        ] = path
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="unigram",
            vocab_size=size,
            character_coverage=coverage,
            input_sentence_size=1_000_000,
            shuffle_input_sentence=True,
            hard_vocab_limit=True,
            num_threads=1,
            unk_id=0,
            bos_id=1,
            eos_id=2,
            pad_id=-1,
            minloglevel=2,
            **options,
        )
    except (RuntimeError, OSError) as error:
        return str(error)
    proto = ModelProto.FromString(model.getvalue())
    proto.normalizer_spec.ClearField("normalization_rule_tsv")  # the path of a file on this machine
    return proto.SerializeToString()


def compare(
    keys: dict, lines: list[str], heldout: list[str], coverage: float, draw: random.Random
) -> list[tuple]:
    """The outcome at sizes within reach and just outside it: size, EQUAL, REFUSED or
    DIFFERENT, and the reason.
    """
    try:
        settings = TextSettings(**keys)
    except UsageError as error:
        refused = isinstance(reference(lines, 800, keys, coverage), str)
        return [(800, REFUSED if refused else DIFFERENT, str(error))]
    texts = {"train": lambda: [lines], "heldout": lambda: [heldout]}
    words = load_word_types(texts, coverage=coverage, settings=settings)
    ends = {rung.point.size: rung for rung in train_sizes(words, [1, 1_000_000], coverage)}
    least, most = ends[1].least or 1, ends[1_000_000].most or 9
    sizes = {
        draw.randint(least, max(least, most)),
        draw.choice([max(1, least - 1), least, most, most + 1]),
    }
    outcomes = []
    for rung in train_sizes(words, sorted(sizes), coverage):
        expected = reference(lines, rung.point.size, keys, coverage)
        if isinstance(expected, str):
            said = _limit(expected) in rung.point.status if rung.model is None else False
            outcomes.append((rung.point.size, REFUSED if said else DIFFERENT, expected))
        elif rung.model != expected:
            outcomes.append((rung.point.size, DIFFERENT, "model"))
        else:
            encoder = SentencePieceEncoder(
                sentencepiece.SentencePieceProcessor(model_proto=expected)
            )
            alps = [
                average_log_probability(*count_tokens(encoder, [text])) for text in (lines, heldout)
            ]
            same = alps == [rung.point.alp, rung.point.alp_heldout]
            outcomes.append((rung.point.size, EQUAL if same else DIFFERENT, "" if same else "ALP"))
    return outcomes


def _limit(message: str) -> str:
    """The number that SentencePiece names, as in the reasons of `curve.tsv`."""
    if "too high" in message:
        return message.rpartition("<= ")[2].rstrip(". \n")
    return message.partition(" vs ")[2].partition(".")[0] or "no text"


def run(seed: int, number: int) -> tuple[dict, list[tuple]]:
    """One combination with its text: its keys, and the outcome at each size."""
    draw = random.Random(f"{seed} {number}")
    keys = draw_keys(draw)
    lines = draw_lines(draw)
    heldout = [*draw.sample(lines, min(len(lines), 3)), *ODD[:8], "x" * 5000]
    return keys, compare(keys, lines, heldout, draw.choice([0.9995, 0.9995, 1.0, 0.98]), draw)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--combinations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first combination")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("-o", "--output", type=Path, help="table of the outcomes")
    options = parser.parse_args()
    end, rows = time.monotonic() + 60 * options.minutes, []
    combinations = 0
    for number in range(options.first, options.first + options.combinations):
        if time.monotonic() > end:
            break
        keys, outcomes = run(options.seed, number)
        combinations += 1
        for size, outcome, reason in outcomes:
            rows.append((number, repr(keys), size, outcome, reason))
            if outcome == DIFFERENT:
                print(f"{number}: {size}: {reason}: {keys}", flush=True)
    if options.output:
        with options.output.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="\t").writerows(
                [("number", "keys", "size", "outcome", "reason"), *rows]
            )
    counts = Counter(row[3] for row in rows)
    shares = ", ".join(f"{counts[one]} {one}" for one in (EQUAL, REFUSED, DIFFERENT))
    print(f"{combinations} combinations; models: {shares}")
    sys.exit(counts[DIFFERENT] > 0)


if __name__ == "__main__":
    main()
