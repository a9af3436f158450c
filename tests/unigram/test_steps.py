"""Single steps of the ladder against their definitions."""

import math
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from vocap.unigram import seeds
from vocap.unigram.em import add_expected, log_sum_exp, occurrences
from vocap.unigram.kernels import Workers
from vocap.unigram.seeds import common_prefixes, find_seeds, seed_text, suffix_array
from vocap.unigram.word_types import load_word_types

f32 = np.float32


def library_log_sum_exp(x, y):
    """`LogSumExp` of unigram_model.cc, word by word."""
    low, high = min(x, y), max(x, y)
    if high > f32(low + f32(50)):
        return high
    return f32(float(high) + math.log(math.exp(float(f32(low - high))) + 1.0))


def test_log_sum_exp_rounds_like_the_library():
    random_ = np.random.default_rng(1)
    high = -np.exp(random_.uniform(-8, 7, 40_000))
    gap = np.concatenate([random_.uniform(0, 60, 20_000), np.exp(random_.uniform(-15, 3, 20_000))])
    for x, y in zip(high.astype(f32), (high - gap).astype(f32), strict=True):
        assert log_sum_exp(x, y) == log_sum_exp(y, x) == library_log_sum_exp(x, y), (x, y)
    for gap in (0, 1 / 64, 17.999, 18, 18.001, 49.99, 50, 50.01, 88):  # borders of cells and cases
        for high in (0.0, -1e-6, -0.999, -1, -1.001, -2, -700):
            x, y = f32(high), f32(high - gap)
            assert log_sum_exp(x, y) == library_log_sum_exp(x, y), (x, y)
    assert log_sum_exp(f32(-math.inf), f32(-3)) == f32(-3)


def test_add_expected_rounds_like_the_library():
    random_ = np.random.default_rng(2)
    marginals = -np.concatenate(
        [random_.uniform(0, 130, 10_000), np.exp(random_.uniform(-16, 3, 10_000))]
    )
    marginals[:50] = random_.uniform(0, 1e-5, 50)  # rounding can leave a probability above 1
    totals = np.concatenate([[0.0] * 5000, np.exp(random_.uniform(-20, 15, 15_000))])
    for total, marginal in zip(totals.astype(f32), marginals.astype(f32), strict=True):
        times = f32(random_.integers(1, 50_000))
        expected = f32(float(total) + float(times) * math.exp(float(marginal)))
        about = occurrences(times, marginal)
        assert add_expected(total, times, marginal, about) == expected, (total, times, marginal)


def test_suffixes_are_sorted_and_their_prefixes_counted(monkeypatch):
    monkeypatch.setattr(seeds, "_BLOCK", 100)
    for alphabet in ("ab", "".join(map(chr, range(0x4E00, 0x5000)))):
        text = np.array([ord(c) for c in random.Random(1).choices(alphabet, k=600)], np.int32)
        tails = [text[start:].tolist() for start in range(len(text))]
        order = suffix_array(text)
        assert order.tolist() == sorted(range(len(text)), key=lambda start: tails[start])
        lcp = common_prefixes(text, order, 20)
        for rank in range(1, len(text)):
            a, b = tails[order[rank - 1]], tails[order[rank]]
            shared = next(
                (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y),
                min(len(a), len(b)),
            )
            assert lcp[rank] == min(shared, 20)


def test_suffixes_of_more_characters_than_two_bytes_can_number():
    text = np.concatenate([np.arange(0x10000, 0x20500), np.arange(0x10000, 0x10200)]).astype(
        np.int32
    )
    order = suffix_array(text).tolist()
    # each suffix in the second, shorter run comes before the one that begins alike and
    # goes on
    expected = [place for point in range(0x200) for place in (0x10500 + point, point)]
    assert order[: 2 * 0x200] == expected
    assert order[2 * 0x200 :] == list(range(0x200, 0x10500))


@pytest.mark.parametrize("block", [1 << 17, 1, 50])
def test_seeds_are_the_repeated_substrings_of_the_trained_lines(monkeypatch, block):
    monkeypatch.setattr(seeds, "_BLOCK", block)
    monkeypatch.setattr(seeds, "_RANGES", 3)
    chooser = random.Random(3)
    lines = [
        " ".join(chooser.choices(["ab", "abc", "bca", "cab1", "ca", "ж", "жa"], k=6))
        for _ in range(40)
    ]
    words = load_word_types(
        {"train": lambda: [lines], "heldout": lambda: [["abcabc cab abab", "bcab"]]}, coverage=1.0
    )
    source = seed_text(words)
    order = suffix_array(source.text)
    with ThreadPoolExecutor(3) as pool:
        best = find_seeds(
            source, order, common_prefixes(source.text, order, 17), workers=Workers(3, pool)
        )
    found = {}
    for left, depth, score in zip(best.left, best.depth, best.score, strict=True):
        place = order[left]
        found["".join(map(chr, source.text[place : place + depth]))] = int(score)
    # By definition: all substrings of all lines, with what may follow each
    followers: dict[str, Counter] = {}
    for line in lines:
        text = "\u2581" + line.replace(" ", "\u2581") + "\0"
        for begin in range(len(text)):
            for end in range(begin + 2, min(begin + 16, len(text) - 1) + 1):
                followers.setdefault(text[begin:end], Counter())[text[end]] += 1
    expected = {}
    for piece, next_characters in followers.items():
        kinds = {
            "digit" if c.isdigit() else "Cyrl" if c == "ж" else "Latn"
            for c in piece.removeprefix("\u2581")
        }
        if len(next_characters) > 1 and "\u2581" not in piece[1:] and len(kinds) <= 1:
            expected[piece] = sum(next_characters.values()) * len(piece)
    assert found == expected
    ranked = sorted(expected, key=lambda piece: -expected[piece])
    assert [expected[piece] for piece in ranked] == best.score.tolist()
    limited = find_seeds(source, order, common_prefixes(source.text, order, 17), limit=5)
    for name in ("left", "right", "depth", "score"):
        assert getattr(limited, name).tolist() == getattr(best, name)[:5].tolist()
