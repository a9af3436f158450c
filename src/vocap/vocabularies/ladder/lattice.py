"""All lattices of all word types, in three arrays, and what is left of them when pieces go.

Every position of the text has its edges (`Lattice::begin_nodes`) in the order in which `PopulateNodes` inserts
them: the pieces that begin there, shortest first, and last the unknown node where the character is no piece.
"""

from dataclasses import dataclass

import numpy as np

from vocap.errors import VocapError
from vocap.vocabularies.ladder.kernels import kernel
from vocap.vocabularies.ladder.seeds import Seeds
from vocap.vocabularies.ladder.suffixes import SeedText

_MAX_EDGES = 2**31 - 1  # 32-bit offsets


@dataclass(frozen=True)
class Lattice:
    """Edges `first[p]` to `first[p + 1]` leave position p: edge e is piece `piece[e]`, of `length[e]` characters.

    `first` int32 [P + 1], `piece` int32 [E], `length` uint8 [E]. Separators have no edges, every other position
    has one of length 1. With n pieces alive, a number from n on is an unknown node.
    """

    first: np.ndarray
    piece: np.ndarray
    length: np.ndarray


def build_lattice(
    source: SeedText, order: np.ndarray, seeds: Seeds, characters: np.ndarray
) -> tuple[Lattice, np.ndarray]:
    """The lattice of the required `characters` (code points, numbered from 0) and, after them, the seeds.

    It is read off the suffix array: seed (left, right, depth) puts an edge at each position of that interval.
    Also returns a position of each piece, int32. Raises VocapError for more than 2^31 edges.
    """
    count = len(characters)
    number = np.full(int(max(source.text.max(initial=0), characters.max(initial=0))) + 1, -1, np.int32)
    number[characters] = np.arange(count)
    single = number[source.text[: source.size]]
    single[single < 0] = count + len(seeds.left)  # U+2585
    single[source.start + source.length] = -1
    by_length = np.argsort(seeds.depth, kind="stable").astype(np.int32)
    first = count_edges(source.size, single, order, seeds.left, seeds.right)
    if first[-1] > _MAX_EDGES:
        raise VocapError(f"{first[-1]} lattice edges, more than {_MAX_EDGES}; train on fewer lines")
    first = first.astype(np.int32)
    piece, length, place = fill_edges(
        first, single, order, seeds.left, seeds.right, seeds.depth, by_length, np.int32(count)
    )
    return Lattice(first, piece, length), place


def select(lattice: Lattice, renumber: np.ndarray, alive: int) -> Lattice:
    """Keep the edges of pieces whose new number is not negative; numbers from `alive` on become unknown nodes."""
    return Lattice(*select_edges(lattice.first, lattice.piece, lattice.length, renumber, np.int32(alive)))


@kernel("int64[::1](int64, int32[::1], int32[::1], int32[::1], int32[::1])")
def count_edges(size, single, order, left, right):
    first = np.zeros(size + 1, np.int64)
    for position in range(size):
        first[position + 1] = single[position] >= 0
    for seed in range(left.size):
        for rank in range(left[seed], right[seed]):
            position = order[rank]
            if position < size:
                first[position + 1] += 1
    for position in range(size):
        first[position + 1] += first[position]
    return first


@kernel(
    "Tuple((int32[::1], uint8[::1], int32[::1]))"
    "(int32[::1], int32[::1], int32[::1], int32[::1], int32[::1], int32[::1], int32[::1], int32)"
)
def fill_edges(first, single, order, left, right, depth, by_length, characters):
    size = first.size - 1
    piece = np.empty(first[size], np.int32)
    length = np.empty(first[size], np.uint8)
    place = np.zeros(characters + left.size, np.int32)
    free = first[:size].copy()
    for position in range(size):
        if single[position] >= 0:
            piece[free[position]] = single[position]
            length[free[position]] = 1
            free[position] += 1
            if single[position] < place.size:
                place[single[position]] = position
    for at in range(by_length.size):
        seed = by_length[at]
        for rank in range(left[seed], right[seed]):
            position = order[rank]
            if position < size:
                piece[free[position]] = characters + seed
                length[free[position]] = depth[seed]
                free[position] += 1
                place[characters + seed] = position
    return piece, length, place


@kernel("Tuple((int32[::1], int32[::1], uint8[::1]))(int32[::1], int32[::1], uint8[::1], int32[::1], int32)")
def select_edges(first, piece, length, renumber, alive):
    size = first.size - 1
    new_first = np.empty(size + 1, np.int32)
    new_piece = np.empty(piece.size, np.int32)
    new_length = np.empty(piece.size, np.uint8)
    kept = 0
    for position in range(size):
        new_first[position] = kept
        unknown = np.int32(-1)
        for edge in range(first[position], first[position + 1]):
            number = renumber[piece[edge]]
            if number >= alive:
                unknown = number
            elif number >= 0:
                new_piece[kept] = number
                new_length[kept] = length[edge]
                kept += 1
        if unknown >= 0:
            new_piece[kept] = unknown
            new_length[kept] = 1
            kept += 1
    new_first[size] = kept
    return new_first, new_piece[:kept].copy(), new_length[:kept].copy()
