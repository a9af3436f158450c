"""All lattices of all word types, in three arrays, and what is left of them when pieces go.

Every position of the text has its edges (`Lattice::begin_nodes`) in the order in which `PopulateNodes` inserts
them: the pieces that begin there, shortest first, and last the unknown node where the character is no piece.
Positions are stored from the text's end to its beginning: so the backward pass, where the order of edges
decides how sums round, reads a type's edges from first to last; the forward pass, where it does not, reads them
from last to first. Neither needs a loop over positions, whose few and varying edges a processor cannot predict.
"""

from dataclasses import dataclass

import numpy as np

from vocap.errors import VocapError
from vocap.vocabularies.ladder.kernels import index, kernel
from vocap.vocabularies.ladder.seeds import Seeds
from vocap.vocabularies.ladder.suffixes import SeedText

_MAX_EDGES = 2**31 - 1  # 32-bit offsets


FIRST = 128  # marks the first edge of a position in `Lattice.length`


@dataclass(frozen=True)
class Lattice:
    """Edges `first[r]` to `first[r + 1]` leave the position r places before the text's end.

    `first` int32 [P + 1]; edge e is piece `piece[e]` (int32 [E]), of `length[e] & 127` characters (uint8 [E];
    FIRST is set for the first edge of a position). Separators have no edges, every other position has one of
    length 1. With n pieces alive, a number from n on is an unknown node.
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
        first[size - position] = single[position] >= 0
    for seed in range(left.size):
        for rank in range(left[seed], right[seed]):
            position = order[rank]
            if position < size:
                first[size - position] += 1
    for place in range(size):
        first[place + 1] += first[place]
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
        number = single[position]
        if number >= 0:
            at = free[size - 1 - position]
            piece[at] = number
            length[at] = FIRST | 1
            free[size - 1 - position] += 1
            if number < place.size:
                place[number] = position
    for seed in by_length:
        for rank in range(left[seed], right[seed]):
            position = order[rank]
            if position < size:
                at = free[size - 1 - position]
                piece[at] = characters + seed
                length[at] = depth[seed]
                free[size - 1 - position] += 1
                place[characters + seed] = position
    return piece, length, place


@kernel("Tuple((int32[::1], int32[::1], uint8[::1]))(int32[::1], int32[::1], uint8[::1], int32[::1], int32)")
def select_edges(first, piece, length, renumber, alive):
    size = first.size - 1
    new_first = np.empty(size + 1, np.int32)
    new_piece = np.empty(piece.size, np.int32)
    new_length = np.empty(piece.size, np.uint8)
    kept = index(0)
    for place in range(size):
        begin = kept
        new_first[place] = begin
        unknown = np.int32(-1)
        for edge in range(index(first[place]), index(first[place + 1])):
            number = renumber[index(piece[edge])]
            if number >= alive:
                unknown = number
            elif number >= 0:
                new_piece[kept] = number
                new_length[kept] = length[edge] & (FIRST - 1)
                kept += index(1)
        if unknown >= 0:
            new_piece[kept] = unknown
            new_length[kept] = 1
            kept += index(1)
        if kept > begin:
            new_length[begin] |= FIRST
    new_first[size] = kept
    return new_first, new_piece[:kept].copy(), new_length[:kept].copy()
