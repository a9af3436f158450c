"""The Kneser-Ney bigram against its definition, pair by pair in plain Python; intervals
against theory.
"""

import math
import random
from collections import Counter

import numpy as np
import pytest

from tests.made_text import write_lines
from vocap.tables.bits_per_byte import bits_per_byte, with_unknown_bytes
from vocap.tables.line_bits import paired_differences, read_lengths, write_lengths
from vocap.tokenizers.bigram import train_bigram, training_sample

BORDER = "#"


def discount(counts):
    once, twice = (sum(count == number for count in counts) for number in (1, 2))
    return once / (once + 2 * twice) if once else 0.5


def neighbours(line):
    return zip([BORDER, *line], [*line, BORDER], strict=True)


def direct_probability(lines, size):
    """P(w | v) as in the module's definition, from a Counter of pairs."""
    pairs = Counter(pair for line in lines for pair in neighbours(line))
    different, higher = len(pairs), discount(pairs.values())
    predecessors, successors = (Counter(pair[side] for pair in pairs) for side in (1, 0))
    totals = Counter()
    for (v, _), count in pairs.items():
        totals[v] += count
    lower = discount(predecessors.values())

    def unigram(w):
        return max(predecessors[w] - lower, 0) / different + lower * len(
            predecessors
        ) / different / (size + 1)

    def probability(v, w):
        if not totals[v]:
            return unigram(w)
        return max(pairs[v, w] - higher, 0) / totals[v] + higher * successors[v] / totals[
            v
        ] * unigram(w)

    return probability


def direct_bits(train, test, size):
    """Bits of each line of ids, without those of unknown characters."""
    probability = direct_probability(train, size)
    return [-math.fsum(math.log2(probability(v, w)) for v, w in neighbours(line)) for line in test]


@pytest.mark.parametrize("seed", range(5))
def test_code_lengths_are_those_of_the_definition(seed):
    rng = random.Random(seed)
    size = rng.choice([2, 7, 30])
    draw = lambda: [min(int(rng.expovariate(0.3)), size - 1) for _ in range(rng.randint(0, 9))]  # noqa: E731
    train, test = [draw() for _ in range(40)], [draw() for _ in range(15)]
    probability, symbols = direct_probability(train, size), [*range(size), BORDER]
    for v in symbols:
        assert math.fsum(probability(v, w) for w in symbols) == pytest.approx(1, abs=1e-12)
    unknown = np.arange(len(test))
    found = with_unknown_bytes(train_bigram(train, size).line_bits(test), unknown)
    assert found == pytest.approx(np.array(direct_bits(train, test, size)) + 8 * unknown, rel=1e-12)


def test_no_text_has_no_bits():
    assert train_bigram([[]], 5).line_bits([]).shape == (0,)
    assert bits_per_byte(np.zeros((2, 0))) is bits_per_byte(np.array([[math.nan], [3]])) is None


def test_the_sample_is_spread_evenly_over_the_file(tmp_path):
    lines = [f"{number:09}" for number in range(1000)]
    write_lines(tmp_path / "train.txt", ["", *lines, ""])
    assert (
        training_sample(tmp_path / "train.txt", 9000)
        == training_sample(tmp_path / "train.txt")
        == lines
    )
    assert training_sample(tmp_path / "train.txt", 900) == lines[::10]


def test_intervals_are_those_of_paired_lines():
    """Against the normal approximation of a ratio of means; a rival that pays 0.1 bits
    a byte more.
    """
    rng = np.random.default_rng(3)
    best = {
        code: np.stack([rng.uniform(50, 300, 400), rng.integers(40, 90, 400)])
        for code in ("en", "hi", "fi")
    }
    noise = {code: rng.normal(2, 20, 400) for code in best}
    rivals = {
        "alike": {code: np.stack([bits + 0.1 * size, size]) for code, (bits, size) in best.items()},
        "noisy": {
            code: np.stack([best[code][0] + noise[code], best[code][1]]) for code in ("en", "hi")
        },
    }
    found = paired_differences({"best": best, "alike": rivals["alike"]})
    mean = sum(bits_per_byte(lines) for lines in best.values()) / 3
    assert found["best"] == (pytest.approx(mean), 0, 0)
    assert found["alike"] == pytest.approx((mean + 0.1, 0.1, 0.1))
    # the languages that both have, fi not
    _, low, high = paired_differences({"best": best, "noisy": rivals["noisy"]})["noisy"]
    differences = {code: noise[code].sum() / best[code][1].sum() for code in ("en", "hi")}
    errors = [
        np.std(noise[code] - part * best[code][1]) / best[code][1].mean() / 20
        for code, part in differences.items()
    ]
    middle, error = sum(differences.values()) / 2, math.hypot(*errors) / 2
    assert (low, high) == pytest.approx(
        (middle - 1.96 * error, middle + 1.96 * error), abs=0.15 * error
    )


def test_lengths_come_back(tmp_path):
    path = tmp_path / "bits.npz"
    lines = np.array([[3.5, 4], [1, 2]])
    write_lengths(path, {("heldout", "en"): lines, ("parallel", "hi"): lines * math.nan})
    assert (
        read_lengths(path, "heldout")["en"].tolist() == lines.tolist()
        and read_lengths(path, "parallel") == {}
    )
