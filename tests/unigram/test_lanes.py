"""Several sizes at once: their approximations against float64, their models against
SentencePiece.
"""

import random

import numpy as np
import pytest
from numpy.polynomial import polynomial

from tests.unigram.test_against_sentencepiece import check_rung, reference
from vocap.unigram import em, lanes
from vocap.unigram.ladder import train_sizes
from vocap.unigram.word_types import load_word_types


def test_approximations_are_off_by_less_than_they_say():
    x = np.linspace(0, -lanes.DEPTH, 400_001)
    halves = np.round(x / np.log(2))
    exp = polynomial.polyval(halves * np.log(2) - x, lanes._EXP) * 2.0**-halves
    assert np.abs(exp / np.exp(-x) - 1).max() < 2e-12
    softplus = polynomial.polyval(2 * exp - 1, lanes._LOG)
    assert np.abs(softplus - np.log1p(np.exp(-x))).max() < 2e-12
    assert em.EXPANSION >= 4e-12 and np.exp(lanes.DEPTH) < 2e-12


def make_lines(seed: int) -> list[str]:
    """Words that repeat a part."""
    draw = random.Random(seed)
    lexicon = []
    for _ in range(60):
        first = draw.randrange(0x4E00, 0x4E30)
        part = "".join(chr(first + draw.randrange(3)) for _ in range(draw.randint(1, 5)))
        lexicon.append(part * draw.randint(1, 20) + draw.choice(["", part[:1]]))
    return [" ".join(draw.choices(lexicon, k=draw.randint(1, 4))) for _ in range(80)]


# c is dropped by EM in some sizes, and not in others of the same rung
DROPPED = [
    "a" * 16 + "bc",
    *["b" * times + "c" for times in (3, 3, 3, 6, 14, 14, 14)],
    *["b" * times + "a" for times in (10, 11)],
    *["b" * times for times in (2, 10, 10)],
    *["bc" * times for times in (6, 11)],
    "a" * 7,
]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("lines", "sizes"),
    [
        (make_lines(1), range(50, 200, 5)),
        (make_lines(2), range(52, 202, 5)),
        (DROPPED, range(7, 17)),
    ],
)
def test_sizes_that_branch_together_are_those_of_sentencepiece(lines, sizes, threads):
    heldout = ["bccacb", "c z"]
    texts = {"train": lambda: [lines], "heldout": lambda: [heldout]}
    words = load_word_types(texts)
    rungs = [rung for rung in train_sizes(words, sizes, threads=threads) if rung.model]
    assert len(rungs) >= 9
    for rung in rungs:
        check_rung(rung, reference(lines, rung.point.size), lines, heldout)
