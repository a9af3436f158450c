"""Lattices of fewer pieces against the definition, edge by edge."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from vocap.unigram import lattice as lattices
from vocap.unigram.given_pieces import build_trie, child
from vocap.unigram.kernels import ONE_THREAD, Workers
from vocap.unigram.lattice import FIRST, BufferPool, Lattice, empty_like, select

PIECES = 40


def made(seed: int, places: int) -> Lattice:
    """A lattice as `build_lattice` makes them: at each place of a word, the character and longer pieces."""
    chooser = np.random.default_rng(seed)
    edges = chooser.choice([0, 1, 2, 3, 9], places)  # 0: a separator
    first = np.concatenate([[0], np.cumsum(edges)]).astype(np.int32)
    piece = chooser.integers(0, PIECES + 1, first[-1]).astype(np.int32)  # the last one: an unknown node
    length = np.concatenate([np.arange(1, count + 1) for count in edges] or [[]]).astype(np.uint8)
    length[first[:-1][edges > 0]] |= FIRST
    return Lattice(first, piece, length)


def selected(lattice: Lattice, renumber: np.ndarray, alive: int) -> list[list[tuple[int, int, bool]]]:
    """For each place, number, length and whether it is first, of the edges that stay; the unknown node last."""
    places = []
    for begin, end in zip(lattice.first[:-1], lattice.first[1:], strict=True):
        kept, unknown = [], None
        for edge in range(begin, end):
            number = int(renumber[lattice.piece[edge]])
            if number >= alive:
                unknown = number
            elif number >= 0:
                kept.append((number, int(lattice.length[edge]) & 127))
        if unknown is not None:
            kept.append((unknown, 1))
        places.append([(number, length, at == 0) for at, (number, length) in enumerate(kept)])
    return places


def as_lists(lattice: Lattice) -> list[list[tuple[int, int, bool]]]:
    assert len(lattice.piece) == len(lattice.length) == lattice.first[-1]
    edges = [(int(p), int(n) & 127, n >= FIRST) for p, n in zip(lattice.piece, lattice.length, strict=True)]
    return [edges[begin:end] for begin, end in zip(lattice.first[:-1], lattice.first[1:], strict=True)]


def renumbered(seed: int) -> tuple[np.ndarray, int]:
    """Some pieces go, some become unknown nodes, as does the one that was."""
    chooser = np.random.default_rng(seed)
    renumber = np.full(PIECES + 1, -1, np.int32)
    alive = int(chooser.integers(1, PIECES))
    order = chooser.permutation(PIECES)
    renumber[order[:alive]] = np.arange(alive)
    dying = order[alive : alive + int(chooser.integers(0, 4))]
    renumber[dying] = alive + np.arange(len(dying))
    renumber[PIECES] = alive + len(dying)
    return renumber, alive


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("where", ["new", "itself", "buffer"])
@pytest.mark.parametrize("places", [0, 1, 5, 400])
def test_the_reduced_lattice_is_that_of_the_definition(where, threads, places, monkeypatch):
    monkeypatch.setattr(lattices, "_SELECTED", 16)  # some places in each part
    with ThreadPoolExecutor(threads) as pool:
        workers = Workers(threads, pool) if threads > 1 else ONE_THREAD
        for seed in range(30):
            lattice, (renumber, alive) = made(seed, places), renumbered(seed)
            expected = selected(lattice, renumber, alive)
            buffer = {"new": None, "itself": lattice, "buffer": empty_like(lattice)}[where]
            found = select(lattice, renumber, alive, buffer, workers)
            assert as_lists(found) == expected


def test_a_lattice_shrinks_again_and_again_in_the_same_memory():
    buffers, lattice = BufferPool(), made(1, 300)
    with buffers.lend(lattice) as buffer:
        smaller = lattice
        for seed in range(4):
            renumber, alive = renumbered(seed)
            expected = selected(smaller, renumber, alive)
            smaller = select(smaller, renumber, alive, buffer if seed == 0 else smaller)
            assert as_lists(smaller) == expected
            assert np.shares_memory(smaller.piece, buffer.piece)
        memory = buffer.piece.__array_interface__["data"]
    assert as_lists(lattice) == as_lists(made(1, 300))  # as it was
    with buffers.lend(made(1, 200)) as buffer, buffers.lend(lattice) as other:
        assert buffer.piece.__array_interface__["data"] == memory
        assert not np.shares_memory(buffer.piece, other.piece)
        assert len(other.piece) >= len(lattice.piece)
    kept = [buffers.take(lattice) for _ in range(3)]
    assert not any(np.shares_memory(kept[a].piece, kept[b].piece) for a in range(3) for b in range(a))


def test_a_trie_finds_every_piece_and_no_other():
    chooser = random.Random(5)
    pieces = sorted({"".join(chooser.choices("ab\U0010ffff\0", k=chooser.randint(1, 6))) for _ in range(400)})
    trie = build_trie(pieces)

    def look_up(word):
        node = 0
        for character in word:
            node = child(np.int32(node), np.int32(ord(character)), *trie.arrays)
            if not node:
                return -1
        return int(trie.piece[node])

    for number, piece in enumerate(pieces):
        assert look_up(piece) == number
    for _ in range(400):
        word = "".join(chooser.choices("ab\U0010ffff\0c", k=chooser.randint(1, 7)))
        assert look_up(word) == (pieces.index(word) if word in pieces else -1)
