"""The exported normaliser against SentencePiece's own on every pair of code points that
may join.

    python benchmarks/fuzzing/code_points.py [--after 20] [--seed 1]

Compared are every mark (category M of Unicode 18) after every code point that begins a
key of nmt_nfkc, and every code point of Unicode after `--after` of these, drawn by
`--seed`: half of them of under 3 bytes in UTF-8. The pairs of a line are put apart by a
character that is in no key. Prints the pairs that differ (exit status 1), and the
counts.
"""

import argparse
import random
import sys
import time
import unicodedata
from collections.abc import Iterable

import sentencepiece

from tests.tokenizer_files.factories import built_in_maps
from vocap.tokenizer_files.charsmap import read_charsmap
from vocap.tokenizer_files.normalizer import build_normalizer

# the marks of Unicode 15 to 18 (unicodedata2 18.0.0), which the tables of Python 3.11
# lack
NEW_MARKS = (
    (0x5C8, 0x5C9),
    (0x897, 0x897),
    (0xB53, 0xB54),
    (0xCF3, 0xCF3),
    (0xECE, 0xECE),
    (0x1ACF, 0x1AF0),
    (0x10D69, 0x10D6D),
    (0x10ECB, 0x10ECF),
    (0x10EF0, 0x10EFF),
    (0x11241, 0x11241),
    (0x113B8, 0x113C0),
    (0x113C2, 0x113C2),
    (0x113C5, 0x113C5),
    (0x113C7, 0x113CA),
    (0x113CC, 0x113D0),
    (0x113D2, 0x113D2),
    (0x113E1, 0x113E2),
    (0x11B60, 0x11B67),
    (0x11DF0, 0x11DF0),
    (0x11F00, 0x11F01),
    (0x11F03, 0x11F03),
    (0x11F34, 0x11F3A),
    (0x11F3E, 0x11F42),
    (0x11F5A, 0x11F5A),
    (0x13440, 0x13440),
    (0x13447, 0x13455),
    (0x1611E, 0x1612F),
    (0x1D127, 0x1D128),
    (0x1D250, 0x1D252),
    (0x1D25B, 0x1D25C),
    (0x1D25F, 0x1D25F),
    (0x1D280, 0x1D281),
    (0x1E08F, 0x1E08F),
    (0x1E4EC, 0x1E4EF),
    (0x1E5EE, 0x1E5EF),
    (0x1E6E3, 0x1E6E3),
    (0x1E6E6, 0x1E6E6),
    (0x1E6EE, 0x1E6EF),
    (0x1E6F5, 0x1E6F5),
)
BETWEEN = "_"
PAIRS = 3000  # of a line
SHOWN = 20


def marks() -> list[str]:
    """The code points of category M."""
    new = {code for first, last in NEW_MARKS for code in range(first, last + 1)}
    return [
        chr(code)
        for code in range(0x110000)
        if code in new or unicodedata.category(chr(code))[0] == "M"
    ]


def every_code_point() -> list[str]:
    """All but surrogates."""
    return [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]


def differing(own, exported, pairs: list[str]) -> list[str]:
    """The pairs that the two normalise differently."""
    text = BETWEEN.join(pairs)
    if own.normalize(text) == exported.normalize_str(text):
        return []
    if len(pairs) == 1:
        return pairs
    half = len(pairs) // 2
    return differing(own, exported, pairs[:half]) + differing(own, exported, pairs[half:])


def compare(own, exported, firsts: Iterable[str], seconds: list[str], name: str) -> int:
    """Print and count the pairs that differ."""
    begin, pairs, different = time.perf_counter(), 0, []
    for first in firsts:
        for start in range(0, len(seconds), PAIRS):
            part = [first + second for second in seconds[start : start + PAIRS]]
            pairs += len(part)
            different += differing(own, exported, part)
    for pair in different[:SHOWN]:
        print(
            f"{pair!a}: SentencePiece {own.normalize(pair)!a}, export "
            f"{exported.normalize_str(pair)!a}"
        )
    print(
        f"{name}: {len(different)} of {pairs:,} pairs differ, {time.perf_counter() - begin:.0f} s",
        flush=True,
    )
    return len(different)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--after", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    own = sentencepiece.SentencePieceNormalizer(
        rule_name="nmt_nfkc",
        add_dummy_prefix=True,
        escape_whitespaces=True,
        remove_extra_whitespaces=True,
    )
    # the smallest of the built-in tables whose first rule deletes: nmt_nfkc
    charsmap, rules = next(
        (blob, rules)
        for blob in sorted(built_in_maps(), key=len)
        if (rules := read_charsmap(blob)).get("\x01") == "" and rules.get("A") is None
    )
    exported = build_normalizer(rules, charsmap)
    if any(BETWEEN in key for key in rules):
        raise AssertionError(f"{BETWEEN!r} is in a key")
    firsts = sorted({key[0] for key in rules})
    rng = random.Random(options.seed)
    short = [first for first in firsts if ord(first) < 0x800]
    other = [first for first in firsts if ord(first) >= 0x800]
    drawn = rng.sample(short, (options.after + 1) // 2) + rng.sample(other, options.after // 2)
    different = compare(own, exported, firsts, marks(), "marks after the beginnings of keys")
    different += compare(
        own, exported, drawn, every_code_point(), f"code points after {options.after} of them"
    )
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
