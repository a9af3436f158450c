"""The lattices of all word types in three arrays, and their reduction to fewer pieces.

Every position of the text has its edges (`Lattice::begin_nodes`) in the order in which
`PopulateNodes` inserts them: the pieces that begin there, shortest first, and last the
unknown node where the character is no piece. Positions are stored from the text's end
to its beginning: so the backward pass, where the order of edges decides how sums round,
reads a type's edges from first to last; the forward pass, where it does not, reads them
from last to first. Neither needs a loop over positions, whose few and varying edges a
processor cannot predict.
"""

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import int32, int64, types, uintp
from numpy.typing import NDArray

from vocap.files.large_arrays import is_large, is_on_disk, new_array, shortened
from vocap.unigram.kernels import (
    INT32S,
    INT64S,
    ONE_THREAD,
    UINT8S,
    UINT32S,
    Workers,
    index,
    kernel,
)
from vocap.unigram.seeds import Seeds, Suffixes
from vocap.unigram.word_types import WordTypes

TURN = 2**32  # offsets of edges have 32 bits
EDGE_BYTES = 5  # of `piece` and `length`
_DEEPEST = 256  # intervals open at a time, one of each depth at most
_WINDOW = 1 << 30  # bytes of edges on the disk that are filled at a time

BOTH = 1 << 30  # added to the number of a character that is a piece and an unknown node
_NONE = np.empty(0, np.int32)
FIRST = 128  # marks the first edge of a position in `Lattice.length`


class Lattice(NamedTuple):
    """Edges `edge_at(r)` to `edge_at(r + 1)` leave the position r places before the text's
    end.

    `first` uint32 [P + 1]: of these numbers the last 32 bits; at each of the `turns`, int64,
    rising, they begin again at 0. Edge e is piece `piece[e]` (int32 [E]), of `length[e] & 127`
    characters (uint8 [E]; FIRST is set for the first edge of a position). Separators
    have no edges, every other position has one of length 1. With n pieces alive, a
    number from n on is an unknown node. Type t has `size[t]` characters, from position
    `start[t]` of the text on (int32 [types] both; `start` rises).
    """

    first: NDArray[np.uint32]
    piece: NDArray[np.int32]
    length: NDArray[np.uint8]
    start: NDArray[np.int32]
    size: NDArray[np.int32]
    turns: NDArray[np.int64] = np.empty(0, np.int64)


LATTICE = types.NamedTuple([UINT32S, INT32S, UINT8S, INT32S, INT32S, INT64S], Lattice)


class Intervals(NamedTuple):
    """The seeds in the suffix array `order`: seed s has `depth[s]` characters, with which
    the suffixes from rank `left[s]` to `right[s]` begin; `opening`: an interval before
    those inside it. All int32.
    """

    order: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    depth: NDArray[np.int32]
    opening: NDArray[np.int32]


_INTERVALS = types.NamedUniTuple(INT32S, 5, Intervals)


def build_lattice(
    words: WordTypes,
    suffixes: Suffixes,
    seeds: Seeds,
    characters: np.ndarray,
    workers: Workers = ONE_THREAD,
    memory: int | None = None,
) -> tuple[Lattice, np.ndarray]:
    """The lattice of the required `characters` (code points, numbered from 0) and,
    after them, the seeds.

    It is read off the sorted `suffixes` of the seed text, a part at a time: seed (left,
    right, depth) puts an edge at each position of that interval, second copies left
    out. Also returns a position of each piece, int32. Large arrays lie on the disk by
    `memory` (MB), as of `is_large`.
    """
    count, size = len(characters), len(words.text)
    number = np.full(
        int(max(words.text.max(initial=0), characters.max(initial=0))) + 1, -1, np.int32
    )
    number[characters] = np.arange(count)
    unknown = count + len(seeds.left)  # U+2585
    number[number < 0] = unknown
    opening = np.lexsort((seeds.depth, seeds.left)).astype(np.int32)
    intervals = Intervals(suffixes.order, seeds.left, seeds.right, seeds.depth, opening)
    first = new_array(size + 1, np.uint32, is_large(4 * size, memory))
    characters_as_edges(first, words.start, words.length)
    begins = seeds.left[opening]
    workers.map(
        suffixes.bounds,
        lambda begin, stop: count_seeds(
            first, intervals, begin, stop, np.searchsorted(begins, begin)
        ),
    )
    np.cumsum(first, dtype=np.uint32, out=first)
    turns = turns_of(first)
    edges = len(turns) * TURN + int(first[size])
    on_disk = is_large(edges * EDGE_BYTES, memory)
    piece, length = (new_array(edges, kind, on_disk) for kind in (np.int32, np.uint8))
    lattice = Lattice(first, piece, length, words.start, words.length, turns)
    place = np.zeros(unknown, np.int32)
    fill_characters(lattice, place, number, words.text)
    # suffixes come in any order of their places: a page would be written again and again
    windows = 1 + edges * EDGE_BYTES // _WINDOW if on_disk else 1
    for window in pairwise(np.linspace(0, size, windows + 1, dtype=np.int64).tolist()):
        fill = partial(fill_seeds, lattice, place, intervals, count, window, begins)
        workers.map(suffixes.bounds, fill)
    return lattice, place


def select_pieces(
    lattice: Lattice,
    renumber: NDArray[np.int32],
    alive: int,
    buffer: Lattice | None = None,
    unknown: NDArray[np.int32] = _NONE,
) -> Lattice:
    """Keep the edges of pieces whose new number is not negative; numbers from `alive`
    on become unknown nodes.

    In the arrays of `buffer`, which may be those of `lattice`, or in new ones, on the disk
    if those of `lattice` are. A character that gets the number BOTH + n keeps its edge, as
    piece n, and gets an unknown node `unknown[n]` too (int32; not in the arrays of
    `lattice`).
    """
    most = len(lattice.piece) + (len(lattice.first) if len(unknown) else 0)
    on_disk = is_on_disk(lattice.piece)
    new = buffer or lattice._replace(
        first=new_array(len(lattice.first), np.uint32, on_disk),
        piece=new_array(most, np.int32, on_disk),
        length=new_array(most, np.uint8, on_disk),
    )
    kept = select_edges(lattice, renumber, alive, unknown, new)
    return new._replace(
        piece=shortened(new.piece, kept),
        length=shortened(new.length, kept),
        turns=turns_of(new.first) if kept >= TURN else lattice.turns[:0],
    )


@kernel("int64[::1](uint32[::1])")
def turns_of(first):
    """`Lattice.turns`: where numbers that rise are less than the ones before in 32 bits."""
    turns = np.empty(1 << 8, np.int64)
    found = 0
    for row in range(1, first.size):
        if first[row] < first[row - 1]:
            turns[found] = row
            found += 1
    return turns[:found].copy()


@kernel(uintp(LATTICE, int64), inner=True, allocates=False)
def edge_at(lattice, row):
    """The number of the first edge of a position, counted from the text's end."""
    edge = index(lattice.first[row])
    for turn in lattice.turns:
        if row >= turn:
            edge += index(1) << index(32)
    return edge


@kernel("void(uint32[::1], int32[::1], int32[::1])")
def characters_as_edges(first, start, length):
    """Count in `first`, of zeros, one edge for each character of the types, at the place
    after its own.
    """
    size = first.size - 1
    for t in range(start.size):
        first[size - start[t] - length[t] + 1 : size - start[t] + 1] = 1


@kernel(types.void(UINT32S, _INTERVALS, int64, int64, int64))
def count_seeds(first, intervals, begin, stop, following):
    """Add the seeds with which each suffix from rank `begin` to `stop` begins: those
    whose intervals are open.

    `following`: the seed that opens next.
    """
    order, left, right, _, opening = intervals
    size = first.size - 1
    depth = 0
    ends = np.empty(_DEEPEST, np.int32)
    for rank in range(begin, stop):
        while depth and ends[depth - 1] == rank:
            depth -= 1
        while following < opening.size and left[opening[following]] == rank:
            ends[depth] = right[opening[following]]
            depth += 1
            following += 1
        if depth and order[rank] < size:
            first[size - order[rank]] += depth


@kernel(types.void(LATTICE, INT32S, INT32S, INT32S))
def fill_characters(lattice, place, number, text):
    """The first edge of each position, of its character alone."""
    first, piece, length, start, size, _ = lattice
    end = first.size - 2
    for t in range(start.size):
        for position in range(start[t], start[t] + size[t]):
            single = number[text[position]]
            at = edge_at(lattice, end - position)
            piece[at] = single
            length[at] = FIRST | 1
            if single < place.size:
                place[single] = position


@kernel(
    types.void(LATTICE, INT32S, _INTERVALS, int64, types.UniTuple(int64, 2), INT32S, int64, int64)
)
def fill_seeds(lattice, place, intervals, characters, window, begins, begin, stop):
    """The other edges of the positions from the first to the second of `window`, of the
    suffixes from rank `begin` to `stop`, as `count_seeds` counts them.

    `begins`: `left` of the seeds in the order of `opening`.
    """
    first, piece, length = lattice.first, lattice.piece, lattice.length
    order, left, right, depths, opening = intervals
    size = first.size - 1
    low, high = window
    following = np.searchsorted(begins, begin)
    depth = 0
    stack = np.empty(_DEEPEST, np.int32)
    for rank in range(begin, stop):
        while depth and right[stack[depth - 1]] == rank:
            depth -= 1
        while following < opening.size and left[opening[following]] == rank:
            stack[depth] = opening[following]
            depth += 1
            following += 1
        position = order[rank]
        if depth and low <= position < high:
            at = edge_at(lattice, size - 1 - position) + index(1)
            for level in range(depth):
                seed = stack[level]
                piece[at + level] = characters + seed
                length[at + level] = depths[seed]
                place[characters + seed] = position


@kernel(int64(LATTICE, INT32S, int32, INT32S, LATTICE))
def select_edges(lattice, renumber, alive, unknown_of, new):
    """Fill the edges of `new`, which may be those of `lattice`; returns how many are kept.

    Each edge is read before its place is written to.
    """
    first, piece, length, start, size, _ = lattice
    new_first, new_piece, new_length = new.first, new.piece, new.length
    end = first.size - 1
    begin = kept = place = index(0)
    for t in range(start.size - 1, -1, -1):
        # A loop over edges, without branches where they are unknown nodes
        edge = edge_at(lattice, end - start[t] - size[t])
        stop = edge_at(lattice, end - start[t])
        while place < index(end - start[t] - size[t]):  # separators
            new_first[place] = kept
            place += index(1)
        mark = np.uint8(0)
        unknown = np.int32(-1)
        while edge < stop:
            bits, number = length[edge], renumber[index(piece[edge])]
            edge += index(1)
            is_first = index(bits >> 7)
            if unknown >= 0 and is_first:
                new_piece[kept], new_length[kept] = unknown, mark | 1
                unknown = np.int32(-1)
                kept += index(1)
                mark = np.uint8(0)
            place += is_first
            begin = kept if is_first else begin
            new_first[place - index(1)] = begin
            mark |= bits & FIRST
            if number >= alive:
                if number < BOTH:
                    unknown, number = number, np.int32(-1)
                else:
                    number -= BOTH
                    unknown = unknown_of[number]
            new_piece[kept], new_length[kept] = number, bits & (FIRST - 1) | mark
            stays = number >= 0
            kept += index(stays)
            mark = np.uint8(0) if stays else mark
        if unknown >= 0:
            new_piece[kept], new_length[kept] = unknown, mark | 1
            kept += index(1)
    while place < index(first.size):
        new_first[place] = kept
        place += index(1)
    return np.int64(kept)
