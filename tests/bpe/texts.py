"""Texts for byte-pair encoding: made ones in several scripts, and real ones where
VOCAP_DATA is set.
"""

import lzma
import os
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.made_text import draw_sentences
from vocap.bpe.cutting import KEPT, Pretokenization
from vocap.bpe.training import apply
from vocap.bpe.words import count_words
from vocap.unigram.text_settings import text_settings

LETTERS = {
    "Latin": "abcdefghilmnoprstu",
    "Malayalam": "കമലനരവയസ\u0d3e\u0d3f\u0d41\u0d4d\u0d02",
    "Khmer": "កខគងចឆជញ\u17b6\u17b7\u17bb\u17d2",
    "Tamil": "கஙசஞடணதந\u0bbe\u0bbf\u0bc1\u0bcd",
    "Thai": "กขคงจฉชซ\u0e31\u0e34\u0e38\u0e49",
    "Burmese": "ကခဂဃငစဆဇ\u102c\u102d\u102f\u1039",
    "Arabic": "ابتثجحخد\u064b\u064e\u0650",
    "Cyrillic": "абвгдежзиклмно",
    "Han": "的一是不了人我在有他这中大来上",
}
CODE = [
    "def total(values: list[int], *, start=0) -> int:",
    "    return sum(values[1:], start) + 3.14e10  # 'it''s' done",
    "\tif (x&&y || !z) { a[i++] = b->c; }",
    "",
    "x  =  0x7F;   // tabs\tand  spaces   ",
    "👨\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3 naïve e\u0301 don't L\u2019été 😀😀!!",
    "می\u200cخواهم نمی\u200cدانم ١٢٣ 一二三 ½ Ⅷ",
    " leading, trailing ",
    "a\u00a0b\u2003c\u3000d",
]


def pretokenization(split: str, single: bool = False, **own) -> Pretokenization:
    """Of text as it is; `single`: text.split_digits."""
    return Pretokenization(split, text_settings("lossless", split_digits=single), **own)


def cutter(split: str, single: bool = False, **own):
    """The pre-tokenizer of tokenizer.json."""
    return pretokenization(split, single, **own).cut.pre_tokenizer()


def made(script: str, lines: int = 400) -> list[str]:
    space = "" if script in ("Thai", "Khmer", "Han") else " "
    return list(islice(draw_sentences(script, LETTERS[script], space), lines))


def real(language: str, lines: int = 2000, source: str = "ntrex") -> list[str]:
    """Lines of NTREX-128, or of another source; the test is skipped where VOCAP_DATA is
    not set.
    """
    folder = os.environ.get("VOCAP_DATA")
    if not folder:
        pytest.skip("VOCAP_DATA is not set: no real text")
    with lzma.open(
        Path(folder) / "text" / source / f"{language}.txt.xz", "rt", encoding="utf-8", newline="\n"
    ) as file:
        return [line.rstrip("\n") for line in islice(file, lines)]


def blocks(lines: list[str]) -> Callable[[], Iterator[list[str]]]:
    """A text as `count_words` takes it, in small blocks."""
    return lambda: (lines[at : at + 100] for at in range(0, len(lines), 100))


def words_of(lines: list[str], split: str, single: bool = False, **own) -> Counter[str]:
    """The words that `count_words` counts, with spaces as they were."""
    how = pretokenization(split, single, **own)
    words = count_words([blocks(lines)], how)
    text = "".join(map(chr, words.store.tolist()))
    found = Counter()
    for begin, end, count in zip(
        words.bounds[:-1], words.bounds[1:], words.counts[:, 0], strict=True
    ):
        found[text[begin:end].replace("\u2581", " ").replace(KEPT, "\u2581")] += int(count)
    return found


def expected(lines: list[str], split: str, single: bool = False, **own) -> Counter[str]:
    """Those of the tokenizer, by their places in the line."""
    cut = cutter(split, single, **own)
    return Counter(
        line[begin:end] for line in lines for _, (begin, end) in cut.pre_tokenize_str(line)
    )


def train_merges(alphabet, words, wanted, reserved=(), **options):
    """The merges of one training on the words of all texts."""
    counts = words.counts.sum(1, keepdims=True)
    return apply(alphabet, alphabet.symbols(words), counts, wanted, reserved=reserved, **options)
