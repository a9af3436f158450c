"""Single steps of the ladder against their definitions."""

import math
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from vocap.unigram import em, seeds, segmentation
from vocap.unigram.descent import piece_losses, prune_pieces, run_e_step, seed
from vocap.unigram.em import add_expected, log_sum_exp, occurrences
from vocap.unigram.kernels import Workers
from vocap.unigram.lattice import Lattice, turns_of
from vocap.unigram.seeds import divide_suffixes, find_seeds, ranks, seed_text, sort_suffixes
from vocap.unigram.text_settings import TextSettings
from vocap.unigram.word_types import load_word_types

f32 = np.float32
SPACE = "\u2581"


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


@pytest.mark.parametrize(
    ("alphabet", "runs"),
    [
        ("ab", False),
        ("ab\u2581\u2581", False),
        ("a\u2581\0", True),
        ("".join(map(chr, range(0x4E00, 0x5000))), False),
        ("".join(map(chr, range(0x10000, 0x20400))), False),
    ],
)
@pytest.mark.parametrize("part", [1 << 17, 70, 1])
def test_suffixes_are_sorted_in_parts_and_their_prefixes_counted(monkeypatch, alphabet, runs, part):
    monkeypatch.setattr(seeds, "_PART", part)
    monkeypatch.setattr(seeds, "_PARTS", 1 << 30)
    settings = TextSettings(max_sentencepiece_length=8, allow_whitespace_only_pieces=runs)
    chooser = random.Random(1)
    characters = chooser.choices(alphabet, k=600) + chooser.choices(alphabet[:300], k=600)
    characters[900:] = characters[600:900]
    text = np.array([ord(character) for character in characters], np.int32)

    def compared(place):
        """The characters that a seed could hold, and the one after them."""
        for end in range(place, min(place + 9, len(text))):
            if characters[end] == "\0" or (characters[end] == SPACE and end > place and not runs):
                return characters[place : end + 1]
        return characters[place : place + 9]

    suffixes = divide_suffixes(text, settings)
    order, shared = suffixes.order, []
    for first, stop in pairwise(suffixes.bounds.tolist()):
        assert order[first:stop].tolist() == sorted(order[first:stop])
        shared += sort_suffixes(text, ranks(text), order[first:stop], settings).tolist()
    kept = [compared(place) for place in order.tolist()]
    assert kept == sorted(
        tail for place in range(len(text) - 1) if seed_begins(tail := compared(place), runs)
    )
    assert len(set(order.tolist())) == len(order)
    for rank in set(range(1, len(order))).difference(suffixes.bounds.tolist()):
        assert shared[rank] == common(kept[rank - 1], kept[rank])
    for rank in suffixes.bounds[1:-1].tolist():
        assert common(kept[rank - 1], kept[rank]) < 2
    if part == 1 and alphabet == "ab":
        assert len(suffixes.bounds) == 5  # of the pairs aa, ab, ba and bb


def seed_begins(tail, runs):
    """Whether a piece can begin with the first two of these characters."""
    return len(tail) > 1 and "\0" not in tail[:2] and (runs or tail[1] != SPACE)


def common(a, b):
    """The number of first characters that are the same."""
    return next(
        (n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


@pytest.mark.parametrize("part", [1 << 17, 1, 50])
def test_seeds_are_the_repeated_substrings_of_the_trained_lines(monkeypatch, part):
    monkeypatch.setattr(seeds, "_PART", part)
    monkeypatch.setattr(seeds, "_PARTS_AT_ONCE", 3)
    chooser = random.Random(3)
    lines = [
        " ".join(chooser.choices(["ab", "abc", "bca", "cab1", "ca", "ж", "жa"], k=6))
        for _ in range(40)
    ]
    words = load_word_types(
        {"train": lambda: [lines], "heldout": lambda: [["abcabc cab abab", "bcab"]]}, coverage=1.0
    )
    source = seed_text(words)
    suffixes = divide_suffixes(source.text)
    order = suffixes.order
    with ThreadPoolExecutor(3) as pool:
        best = find_seeds(source, suffixes, workers=Workers(3, pool))
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
    limited = find_seeds(source, suffixes, limit=5)
    for name in ("left", "right", "depth", "score"):
        assert getattr(limited, name).tolist() == getattr(best, name)[:5].tolist()


def with_gap(lattice: Lattice, folder: Path) -> Lattice:
    """The lattice with edges that are no type's, so that the others' numbers pass 2^32
    among those of one type.
    """
    size = len(lattice.first) - 1
    row = size - int(lattice.start[len(lattice.start) // 2])  # of the separator before a type
    first = lattice.first.astype(np.int64)
    gap = (1 << 32) - 3 - int(first[row])
    first[row + 1 :] += gap
    edges = []
    for name, array in (("piece", lattice.piece), ("length", lattice.length)):
        shape = int(first[-1])  # sparse files
        longer = np.memmap(folder / name, array.dtype, mode="w+", shape=shape)
        border = int(lattice.first[row])
        longer[:border], longer[border + gap :] = array[:border], array[border:]
        edges.append(longer.view(np.ndarray))
    first = first.astype(np.uint32)
    turns = turns_of(first)
    assert len(turns) == 1
    return Lattice(first, *edges, lattice.start, lattice.size, turns)


def test_edges_beyond_32_bits_are_those_of_a_lattice_with_fewer(monkeypatch, tmp_path):
    for module in (em, segmentation):  # a block is one type, which the gap is not inside
        monkeypatch.setattr(module, "BLOCK_EDGES", 1)
    draw = random.Random(3)
    lines = ["".join(draw.choices("abcd ", k=20)) for _ in range(60)]
    words = load_word_types({"train": lambda: [lines]}, 1.0)
    corpus, state = seed(words)
    beyond = replace(state, lattice=with_gap(state.lattice, tmp_path))
    assert run_e_step(corpus, beyond).tolist() == run_e_step(corpus, state).tolist()
    for one, other in zip(piece_losses(corpus, beyond), piece_losses(corpus, state), strict=True):
        assert np.array_equal(one, other)
    kept = np.arange(0, len(state.ids), 2)
    buffer = state.lattice._replace(
        **{name: np.empty_like(getattr(state.lattice, name)) for name in Lattice._fields[:3]}
    )
    pruned = prune_pieces(corpus, beyond, kept, state.scores[kept], buffer).lattice
    expected = prune_pieces(corpus, state, kept, state.scores[kept]).lattice
    assert all(np.array_equal(*both) for both in zip(pruned, expected, strict=True))
