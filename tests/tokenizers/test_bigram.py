"""The Kneser-Ney bigram against its definition, computed pair by pair in plain Python."""

import math
import random
from collections import Counter

import numpy as np
import pytest

from vocap.tokenizers.bigram import code_lengths, train_bigram

BORDER = "#"


def discount(counts):
    once, twice = (sum(count == number for count in counts) for number in (1, 2))
    return once / (once + 2 * twice) if once else 0.5


def direct_probability(pairs, size):
    """P(w | v) as in the module's definition, from a Counter of pairs."""
    symbols = [*range(size), BORDER]
    different, higher = len(pairs), discount(pairs.values())
    predecessors = Counter(w for _, w in pairs)
    lower = discount(predecessors.values())

    def unigram(w):
        return max(predecessors[w] - lower, 0) / different + lower * len(predecessors) / different / len(symbols)

    def probability(v, w):
        total = sum(count for (a, _), count in pairs.items() if a == v)
        if not total:
            return unigram(w)
        successors = sum(a == v for a, _ in pairs)
        return max(pairs[v, w] - higher, 0) / total + higher * successors / total * unigram(w)

    return probability, symbols


@pytest.mark.parametrize("seed", range(5))
def test_code_lengths_are_those_of_the_definition(seed):
    rng = random.Random(seed)
    size = rng.choice([2, 7, 30])
    draw = lambda: [min(int(rng.expovariate(0.3)), size - 1) for _ in range(rng.randint(0, 9))]  # noqa: E731
    train, test = [draw() for _ in range(40)], [draw() for _ in range(15)]
    pairs = Counter(pair for line in train for pair in zip([BORDER, *line], [*line, BORDER], strict=True))
    probability, symbols = direct_probability(pairs, size)
    for v in symbols:
        assert math.fsum(probability(v, w) for w in symbols) == pytest.approx(1, abs=1e-12)
    expected = [
        -math.fsum(math.log2(probability(v, w)) for v, w in zip([BORDER, *line], [*line, BORDER], strict=True))
        for line in test
    ]
    unknown = np.arange(len(test))
    found = code_lengths(train_bigram(train, size), test, unknown)
    assert found == pytest.approx(np.array(expected) + 8 * unknown, rel=1e-12)


def test_a_model_of_no_text_is_refused():
    with pytest.raises(ValueError, match="a line of text"):
        train_bigram([], 5)
    assert code_lengths(train_bigram([[]], 5), [], np.array([])).shape == (0,)
