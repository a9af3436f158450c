"""Plain lines against SentencePiece's normaliser, one by one, and the trainer's view of lines
with and without them.
"""

import random
from collections import Counter

import pytest

from tests.unigram.test_word_types import ALPHABET, make_lines
from vocap.unigram.plain_lines import LEAST, PlainLines
from vocap.unigram.text_settings import XLM_R, TextSettings
from vocap.unigram.training_text import LINE_END, trainer_normalizer

# A mark composes with the letter before it; jamo do with each other; U+00B4 becomes a space and
# a mark; U+200B, U+0007 are a space or nothing; U+0085 and U+2028 are line ends for Python alone
LETTERS = [*"eo \u0301\u0323\u1100\u1161\u11a8", "\u00b4", "\u200b", "\a", "\u0085", "\u2028", "\r"]
SETTINGS = {
    "usual": XLM_R,
    "no prefix": TextSettings(add_dummy_prefix=False),
    "all spaces": TextSettings(remove_extra_whitespaces=False),
    "spaces alone": TextSettings(remove_extra_whitespaces=False, add_dummy_prefix=False),
    "no rules": TextSettings(normalization="identity"),
    "folded": TextSettings(normalization="nfkc_cf"),
    "NFC": TextSettings(normalization="nfc"),
    "symbols": TextSettings(user_defined_symbols=("ab", "\u2581c", "ß ж")),
    "bytes": TextSettings(byte_fallback=True, allow_whitespace_only_pieces=True),
}


@pytest.fixture(scope="module")
def lines() -> list[str]:
    chooser = random.Random(5)
    short = [
        "".join(chooser.choices(ALPHABET[:3] + LETTERS, k=chooser.randint(0, 5)))
        for _ in range(2 * LEAST)
    ]
    return ["".join(chooser.choices("abcß ", k=9)) for _ in short] + short + make_lines(1, 900, 12)


def split(texts: bytearray) -> Counter[str]:
    return Counter(texts.decode("utf-32-le").split(LINE_END)[:-1])


@pytest.mark.parametrize("name", SETTINGS)
def test_plain_lines_are_normalised_as_by_sentencepiece(name, lines):
    settings = SETTINGS[name]
    normalize = trainer_normalizer(settings).normalize
    plain, others = PlainLines(settings).take(lines, LINE_END)
    assert split(plain) + Counter(normalize(others)) == Counter(map(normalize, lines))
    assert split(plain).total() > 500


def test_a_line_with_a_line_end_is_not_taken_for_two():
    plain, others = PlainLines(XLM_R).take(["a\nb", "c"] * LEAST, LINE_END)
    assert not plain
    assert len(others) == 2 * LEAST
