"""Lattices of fewer pieces against the definition, edge by edge."""

import random

import numpy as np
import pytest

from vocap.unigram.given_pieces import build_trie, child
from vocap.unigram.lattice import FIRST, Lattice, select

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


@pytest.mark.parametrize("where", ["new", "itself", "view"])
@pytest.mark.parametrize("places", [0, 1, 5, 400])
def test_lattices_that_shrink_again_and_again_are_those_of_the_definition(where, places):
    for seed in range(30):
        lattice = made(seed, places)
        if where == "view":  # of arrays that are another object's, as those read from a file
            lattice = Lattice(lattice.first, lattice.piece[:], lattice.length[:])
        for step in range(3):
            renumber, alive = renumbered(seed + step)
            expected = selected(lattice, renumber, alive)
            lattice = select(lattice, renumber, alive, None if where == "new" else lattice)
            assert as_lists(lattice) == expected


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
