"""The E step against its definition: the mean over all ways to cut a word, weighted by
their probabilities.
"""

import math
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from vocap.unigram import descent
from vocap.unigram.em import approximate_counts, expected_counts
from vocap.unigram.kernels import Workers
from vocap.unigram.word_types import load_word_types


def make_lines(lines: int, longest: int = 6, words: int = 9, seed: int = 1) -> list[str]:
    chooser = random.Random(seed)
    lexicon = [
        "".join(chooser.choices("abcdefgh", k=chooser.randint(1, longest))) for _ in range(lines)
    ]
    return [" ".join(chooser.choices(lexicon, k=words)) for _ in range(lines)]


def seeded(lines: list[str]):
    """The corpus, the seed pieces, and the arguments of `expected_counts` for the first
    E step.
    """
    words = load_word_types({"train": lambda: [lines]}, coverage=1.0)
    corpus, state = descent.seed(words)
    scores = np.append(state.scores, state.scores.min() - 10).astype(np.float32)
    return corpus, state, (state.lattice, corpus.frequency, scores, len(state.ids))


def cuts(word: str, pieces: dict[str, int]):
    """All ways to cut a word into pieces, as lists of their numbers."""
    if not word:
        yield []
    for end in range(1, len(word) + 1):
        if word[:end] in pieces:
            for rest in cuts(word[end:], pieces):
                yield [pieces[word[:end]], *rest]


@pytest.mark.parametrize(
    ("count", "tolerance"), [(expected_counts, 2e-5), (approximate_counts, 1e-6)]
)
def test_counts_are_means_over_all_cuts(count, tolerance):
    corpus, state, arguments = seeded(make_lines(40))
    text = "".join(map(chr, corpus.text))
    places = zip(corpus.piece_place, corpus.piece_length, strict=True)
    pieces = {text[place : place + length]: number for number, (place, length) in enumerate(places)}
    expected = np.zeros(len(state.ids))
    for start, length, frequency in zip(
        state.lattice.start, state.lattice.size, corpus.frequency, strict=False
    ):
        ways = list(cuts(text[start : start + length], pieces))
        weights = [math.exp(math.fsum(map(float, state.scores[way]))) for way in ways]
        for way, weight in zip(ways, weights, strict=True):
            for number in way:
                expected[number] += frequency * weight / math.fsum(weights)
    np.testing.assert_allclose(count(*arguments), expected, rtol=tolerance, atol=tolerance)


def test_threads_change_no_bit_of_the_counts():
    *_, arguments = seeded(make_lines(20_000))
    assert len(arguments[0][1]) > 100_000  # several blocks
    one = expected_counts(*arguments)
    for threads in (2, 5):
        with ThreadPoolExecutor(threads) as pool:
            many = expected_counts(*arguments, Workers(threads, pool))
        assert many.tobytes() == one.tobytes()


def test_probabilities_beyond_the_range_of_float64_are_logarithms():
    """Words of 2,000 characters: the probability of one is below 1e-1000."""
    *_, arguments = seeded(make_lines(30, longest=2000, words=1))
    exact, fast = expected_counts(*arguments), approximate_counts(*arguments)
    assert exact.sum() > 1000
    # float32 logarithms of -5,000 are that rough
    np.testing.assert_allclose(fast, exact, rtol=0.02, atol=0.02)
