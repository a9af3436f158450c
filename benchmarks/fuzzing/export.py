"""The Hugging Face form against SentencePiece: random models, random strings over all
of Unicode.

    python benchmarks/fuzzing/export.py [--seed 1] [--minutes 10] [--strings 20000]
        [--text FILE ...]

Each round draws a model, exports it, and compares the ids of both forms on `--strings`
strings. Drawn are pieces and scores on the grid of 2^-10 (with `--text`, in every other
round: a model that SentencePiece trains on some of its lines), user-defined symbols,
byte fallback, normaliser and treatment of spaces. The strings consist of keys of the
normaliser's table and their parts, marks, spaces, names of special tokens, symbols and
pieces of the model and their parts, noncharacters, code points of all planes and, with
`--text`, parts of lines. Equal seeds draw equal models and strings; `--minutes` bounds
the number of rounds.

Prints the differences, each string cut to its shortest differing part, and the counts.
Exit status 1 where a string differs beyond the stated limits (docs/tokenizers.md): ties
after a user-defined symbol, and symbols with a character that is no piece.
"""

import argparse
import functools
import io
import os
import random
import sys
import time
import unicodedata
from collections import Counter

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from vocap.errors import VocapError
from vocap.text_files.records import read_blocks
from vocap.tokenizer_files.charsmap import read_charsmap
from vocap.tokenizer_files.encoders import HuggingFaceEncoder
from vocap.tokenizer_files.export import build_tokenizer
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT
from vocap.tokenizer_files.layout import Contents, build_model, read_contents
from vocap.tokenizer_files.model_file import CONTROL

NORMALIZERS = ("nmt_nfkc", "nmt_nfkc", "nmt_nfkc", "identity", "nfkc", "nfkc_cf", "nmt_nfkc_cf")
SPACES = [
    *" \t\n\r\u00a0\u2581\u3000\u200b\u200c\u200d\u2028\ufeff",
    "  ",
    "\r\n",
    " \u2581",
    "\u2581 ",
]
MARKS = [
    chr(code)
    for first, last in ((0x300, 0x36F), (0x1AB0, 0x1AFF), (0x20D0, 0x20FF))
    for code in range(first, last)
]
NONCHARACTERS = [
    *(chr(code) for code in range(0xFDD0, 0xFDF0)),
    *(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF)),
    *map(chr, (0xE000, 0xF8FF, 0xF0000, 0x100000, 0x100001, 0x10FFFD)),
]
NAMES = [*XLM_R_LAYOUT.names, "<0x41>", "<0xE0>", "<0x", "<s", "s>", "</", "<", ">", "▁<s>"]
LIMITS = ("tie after a symbol", "unknown character of a symbol")
SHOWN = 20  # strings that differ, a round
ROUNDING = 0.01  # nats: the largest error of float32 sums of a long line
LETTERS = "aàbceikt<s>x0é①ﬁاლกเहิ的はガ가ᄀ"


@functools.cache
def normalizer(name: str):
    """The `NormalizerSpec` that SentencePiece's trainer writes for a name of rules."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a"]),
        model_writer=model,
        vocab_size=5,
        normalization_rule_name=name,
        num_threads=1,
        minloglevel=2,
    )
    return sentencepiece_model_pb2.ModelProto.FromString(model.getvalue()).normalizer_spec


@functools.cache
def keys_of(name: str) -> list[str]:
    """Of the table of these rules, sorted."""
    return sorted(read_charsmap(normalizer(name).precompiled_charsmap))


def code_point(rng: random.Random) -> str:
    """Any code point but a surrogate; those of the lower planes as often as the
    others.
    """
    while True:
        code = rng.randrange(rng.choice((0x80, 0x800, 0x3000, 0x10000, 0x20000, 0x110000)))
        if not 0xD800 <= code < 0xE000:
            return chr(code)


def draw_symbols(rng: random.Random, keys: list[str], letters: list[str]) -> list[str]:
    """User-defined symbols: plain, of keys and their parts, overlapping, with spaces,
    names of special tokens.
    """
    drawn = []
    for _ in range(rng.choice((0, 0, 1, 2, 4, 8))):
        kind = rng.random()
        if kind < 0.3:
            symbol = rng.choice(keys) + rng.choice(("", "", rng.choice(letters)))
        elif kind < 0.5:
            symbol = "".join(rng.choices(letters, k=rng.randint(1, 4)))
        elif kind < 0.6 and drawn:
            symbol = rng.choice(drawn)[rng.randint(0, 1) :] + rng.choice(letters)
        elif kind < 0.7:
            symbol = rng.choice(MARKS) + rng.choice(("", rng.choice(letters)))
        elif kind < 0.8:
            symbol = rng.choice(("<date>", "ที่", "①", "  ", "\n", "a b", "▁a", "<s", "™", "e\u0301"))
        else:
            symbol = "".join(code_point(rng) for _ in range(rng.randint(1, 3)))
        if symbol and "\0" not in symbol and symbol not in XLM_R_LAYOUT.names:
            drawn.append(symbol)
    return sorted(set(drawn))


def draw_model(rng: random.Random, keys: list[str]):
    """A `ModelProto` in the shared layout, every character of a piece itself a
    piece.
    """
    letters = [*rng.sample(LETTERS, 8), *(code_point(rng) for _ in range(rng.randint(0, 8)))]
    letters += rng.sample(MARKS, 2) + list("".join(rng.sample(keys, 2)))
    symbols = draw_symbols(rng, keys, letters)
    single = sorted({*letters, *("▁" * (rng.random() < 0.9))} - {"\0", " "} - set(symbols))
    pieces = dict.fromkeys(single)
    across = rng.random() < 0.1  # pieces that cross a space
    for _ in range(rng.randint(0, 60)):
        piece = "".join(rng.choices(single, k=rng.randint(2, 5)))
        if across or "▁" not in piece[1:]:
            pieces[piece] = None
    names = [piece for piece in pieces if piece not in symbols and piece not in XLM_R_LAYOUT.names]
    scale = rng.choice((0.25, 0.25, 3.0, 30.0))  # the first: many ties
    scores = [-scale * rng.randint(1, 40) / 10 - (len(piece) == 1) for piece in names]
    if rng.random() < 0.1:
        scores = [score + 3 * scale for score in scores]
    return build_model(Contents(names, scores, symbols, rng.random() < 0.5), draw_normalizer(rng))


def train_model(rng: random.Random, keys: list[str], lines: list[str]):
    """A `ModelProto` of SentencePiece's trainer in the shared layout."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=rng.choice((3000, 5000)),
        hard_vocab_limit=False,
        character_coverage=rng.choice((0.98, 0.9995)),
        num_threads=1,
        minloglevel=2,
    )
    contents = read_contents(
        sentencepiece_model_pb2.ModelProto.FromString(model.getvalue()), "the model"
    )
    symbols = draw_symbols(rng, keys, list("aeàé는กिe"))
    kept = [number for number, piece in enumerate(contents.pieces) if piece not in symbols]
    pieces, scores = [contents.pieces[number] for number in kept], contents.scores[kept]
    return build_model(Contents(pieces, scores, symbols, rng.random() < 0.5), draw_normalizer(rng))


def draw_normalizer(rng: random.Random):
    spec = sentencepiece_model_pb2.NormalizerSpec()
    spec.CopyFrom(normalizer(rng.choice(NORMALIZERS)))
    spec.add_dummy_prefix = rng.random() < 0.8
    spec.remove_extra_whitespaces = rng.random() < 0.8
    return spec


def draw_strings(
    rng: random.Random, keys: list[str], vocabulary: list[str], lines: list[str], count: int
) -> list[str]:
    """`count` strings of 1 to 10 parts."""
    first = [key[0] for key in rng.sample(keys, 200)]
    # may join a grapheme of under 6 bytes
    short = [key for key in keys if ord(key[0]) < 0x800 and len(key) == 1]
    symbols = sorted(
        {part for piece in vocabulary for part in (piece, piece[1:], piece[:-1]) if part}
    )
    kinds = (
        lambda: code_point(rng),
        lambda: rng.choice(keys),
        lambda: rng.choice(first),
        lambda: rng.choice(short),
        lambda: rng.choice(MARKS),
        lambda: rng.choice(symbols),
        lambda: rng.choice(vocabulary),
        lambda: rng.choice(SPACES),
        lambda: rng.choice(NAMES),
        lambda: rng.choice(NONCHARACTERS),
    )
    if lines:
        kinds += (lambda: part_of(rng, rng.choice(lines)),)
    weights = [rng.choice((1, 1, 4)) for _ in kinds]
    return [
        "".join(make() for make in rng.choices(kinds, weights, k=rng.randint(1, 10)))
        for _ in range(count)
    ]


def part_of(rng: random.Random, line: str) -> str:
    """Up to 80 characters of a line, composed or decomposed."""
    start = rng.randrange(len(line))
    return unicodedata.normalize(
        rng.choice(("NFC", "NFD")), line[start : start + rng.randint(1, 80)]
    )


class Forms:
    """SentencePiece's model and its export, side by side."""

    def __init__(self, proto, tokenizer) -> None:
        self.proto = proto
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
        self.encoder = HuggingFaceEncoder(tokenizer, XLM_R_LAYOUT.names.index("<unk>"))

    def kind(self, line: str, wanted: list[int], given: list[int]) -> str:
        """The reason for a line that differs.

        `normaliser`: the normalised texts differ; `special token`: the export found one
        in the text; `unknown`: another number of unknown characters; `tie`: another
        path of the same score; `score`: of another score.
        """
        normalizer = self.encoder.tokenizer.normalizer
        if normalizer and normalizer.normalize_str(line) != self.processor.normalize(line):
            return "normaliser"
        if any(self.proto.pieces[number].type == CONTROL for number in given):
            return "special token"
        unknown = self.processor.unk_id()
        if wanted.count(unknown) != given.count(unknown):
            return "unknown"
        own, other = (sum(map(self.processor.get_score, ids)) for ids in (wanted, given))
        return "tie" if abs(own - other) < ROUNDING else "score"


def shortest(pair: Forms, text: str) -> str:
    """A part of `text` that differs and no character of which can be left out."""
    place = 0
    while place < len(text):
        shorter = text[:place] + text[place + 1 :]
        if differs(pair, shorter):
            text, place = shorter, 0
        else:
            place += 1
    return text


def differs(pair: Forms, text: str) -> bool:
    return pair.processor.encode(text) != pair.encoder.encode_batch([text])[0]


def settings(proto) -> str:
    spec = proto.normalizer_spec
    symbols = [entry.piece for entry in proto.pieces if entry.type == entry.USER_DEFINED]
    return (
        f"{spec.name}, prefix {spec.add_dummy_prefix}, squeeze {spec.remove_extra_whitespaces}, "
        f"bytes {proto.trainer_spec.byte_fallback}, symbols {symbols!a}"
    )


def run_round(seed: int, number: int, count: int, text: list[str], totals: Counter) -> None:
    """Draw one model and compare `count` strings; adds to `totals`."""
    rng = random.Random(f"{seed} {number}")
    keys = keys_of("nmt_nfkc")
    lines = rng.sample(text, min(len(text), 400)) if number % 2 else []
    proto = train_model(rng, keys, lines) if lines else draw_model(rng, keys)
    vocabulary = [
        entry.piece for entry in proto.pieces if entry.type in (entry.NORMAL, entry.USER_DEFINED)
    ]
    strings = draw_strings(rng, keys, vocabulary, lines, count)
    try:
        tokenizer = build_tokenizer(proto)
    except VocapError as error:
        totals["models refused"] += 1
        print(f"round {number}: refused: {error} ({settings(proto)})")
        return
    pair = Forms(proto, tokenizer)
    own = pair.processor
    totals["models"] += 1
    totals["strings"] += len(strings)
    symbols = {
        number: entry.piece
        for number, entry in enumerate(proto.pieces)
        if entry.type == entry.USER_DEFINED
    }
    spelt, single = (
        set("".join(symbols.values())),
        {piece for piece in vocabulary if len(piece) == 1},
    )
    found = pair.encoder.encode_batch(strings)
    seen: set[tuple[str, str]] = set()
    for text, wanted, given in zip(strings, own.encode(strings), found, strict=True):
        if wanted == given:
            continue
        kind = pair.kind(text, wanted, given)
        if kind == "tie" and any(number in symbols for number in wanted):
            kind = LIMITS[0]
        elif kind == "unknown" and spelt - single:
            kind = LIMITS[1]
        totals[f"different: {kind}"] += 1
        if len(seen) < SHOWN and (kind, part := shortest(pair, text)) not in seen:
            seen.add((kind, part))
            one, two = own.encode(part), pair.encoder.encode_batch([part])[0]
            pieces = [ascii([own.id_to_piece(number) for number in ids]) for ids in (one, two)]
            if len(seen) == 1:
                print(f"round {number}: {settings(proto)}")
            print(f"  {kind}: {part!a}: SentencePiece {pieces[0]}, export {pieces[1]}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10, help="no round begins after so many")
    parser.add_argument("--strings", type=int, default=20_000, help="a round")
    parser.add_argument("--round", type=int, help="only this one")
    parser.add_argument("--text", nargs="*", default=[], help="of any languages, in UTF-8")
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    totals: Counter = Counter()
    text = sorted(
        {
            line
            for path in options.text
            for lines in read_blocks(path)
            for line in lines
            if line.strip()
        }
    )
    end = time.monotonic() + 60 * options.minutes
    number = 0 if options.round is None else options.round
    while time.monotonic() < end:
        run_round(options.seed, number, options.strings, text, totals)
        number += 1
        if options.round is not None:
            break
    for name, count in sorted(totals.items()):
        print(f"{count:>12,} {name}")
    allowed = ("models", "strings", "models refused", *(f"different: {kind}" for kind in LIMITS))
    return int(any(name not in allowed for name in totals))


if __name__ == "__main__":
    sys.exit(main())
