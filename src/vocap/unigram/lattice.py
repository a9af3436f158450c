"""The lattices of all word types in three arrays, and their reduction to fewer pieces.

Every position of the text has its edges (`Lattice::begin_nodes`) in the order in which
`PopulateNodes` inserts them: the pieces that begin there, shortest first, and last the
unknown node where the character is no piece. Positions are stored from the text's end
to its beginning: so the backward pass, where the order of edges decides how sums round,
reads a type's edges from first to last; the forward pass, where it does not, reads them
from last to first. Neither needs a loop over positions, whose few and varying edges a
processor cannot predict.
"""

from dataclasses import dataclass

import numpy as np

from vocap.errors import VocapError
from vocap.unigram.kernels import ONE_THREAD, Workers, index, kernel
from vocap.unigram.seeds import Seeds
from vocap.unigram.word_types import WordTypes

_MAX_EDGES = 2**31 - 1  # 32-bit offsets
_DEEPEST = 256  # intervals open at a time, one of each depth at most

FIRST = 128  # marks the first edge of a position in `Lattice.length`


@dataclass(frozen=True)
class Lattice:
    """Edges `first[r]` to `first[r + 1]` leave the position r places before the text's end.

    `first` int32 [P + 1]; edge e is piece `piece[e]` (int32 [E]), of `length[e] & 127`
    characters (uint8 [E]; FIRST is set for the first edge of a position). Separators
    have no edges, every other position has one of length 1. With n pieces alive, a
    number from n on is an unknown node.
    """

    first: np.ndarray
    piece: np.ndarray
    length: np.ndarray


def build_lattice(
    words: WordTypes,
    order: np.ndarray,
    bounds: np.ndarray,
    seeds: Seeds,
    characters: np.ndarray,
    workers: Workers = ONE_THREAD,
) -> tuple[Lattice, np.ndarray]:
    """The lattice of the required `characters` (code points, numbered from 0) and,
    after them, the seeds.

    It is read off the suffix array `order` of the seed text, between one of the
    `bounds` of its `independent_ranges` and the next at a time: seed (left, right,
    depth) puts an edge at each position of that interval, second copies left out. Also
    returns a position of each piece, int32. Raises VocapError for more than 2^31 edges.
    """
    count, size = len(characters), len(words.text)
    number = np.full(
        int(max(words.text.max(initial=0), characters.max(initial=0))) + 1, -1, np.int32
    )
    number[characters] = np.arange(count)
    unknown = count + len(seeds.left)  # U+2585
    number[number < 0] = unknown
    # with those of second copies
    edges = int((seeds.right - seeds.left).sum(dtype=np.int64)) + size
    if edges > _MAX_EDGES:
        raise VocapError(f"{edges} lattice edges, more than {_MAX_EDGES}; train on fewer lines")
    # an interval before those inside it
    opening = np.lexsort((seeds.depth, seeds.left)).astype(np.int32)
    intervals = order, seeds.left, seeds.right, opening
    opened = np.searchsorted(seeds.left[opening], bounds)  # by each bound
    ranges = [(*bounds[at : at + 2], opened[at]) for at in range(len(bounds) - 1)]
    first = characters_as_edges(size, words.start, words.length)
    workers.map(len(ranges), lambda block: count_seeds(first, *intervals, *ranges[block]))
    np.cumsum(first, dtype=np.int32, out=first)
    piece, length = np.empty(first[size], np.int32), np.empty(first[size], np.uint8)
    place = np.zeros(unknown, np.int32)
    arrays = first, piece, length, place

    def fill(block: int) -> None:
        if block == len(ranges):
            fill_characters(
                *arrays, number, np.int32(unknown), words.text, words.start, words.length
            )
        else:
            fill_seeds(*arrays, *intervals, seeds.depth, np.int32(count), *ranges[block])

    workers.map(len(ranges) + 1, fill)
    return Lattice(first, piece, length), place


def select(
    lattice: Lattice, renumber: np.ndarray, alive: int, buffer: Lattice | None = None
) -> Lattice:
    """Keep the edges of pieces whose new number is not negative; numbers from `alive`
    on become unknown nodes.

    In the arrays of `buffer`, which may be those of `lattice`, or in new ones.
    """
    buffer = buffer or Lattice(*map(np.empty_like, (lattice.first, lattice.piece, lattice.length)))
    old, new = ((edges.first, edges.piece, edges.length) for edges in (lattice, buffer))
    kept = select_edges(*old, renumber, np.int32(alive), *new)
    return Lattice(buffer.first, *(_shortened(array, kept) for array in new[1:]))


def _shortened(array: np.ndarray, size: int) -> np.ndarray:
    """The first `size` elements of an array. The remaining memory is freed, unless it
    is another array's.
    """
    if not array.flags.owndata:
        return array[:size]
    array.resize(size, refcheck=False)
    return array


@kernel("int32[::1](int64, int32[::1], int32[::1])")
def characters_as_edges(size, start, length):
    """One edge for each character of the types, counted at the place after its own,
    int32 [size + 1].
    """
    first = np.zeros(size + 1, np.int32)
    for t in range(start.size):
        first[size - start[t] - length[t] + 1 : size - start[t] + 1] = 1
    return first


# order; left, right and order of opening of the seeds
_INTERVALS = "int32[::1], int32[::1], int32[::1], int32[::1]"
_EDGES = "int32[::1], int32[::1], uint8[::1], int32[::1]"  # a lattice, and where its pieces stand


@kernel(f"void(int32[::1], {_INTERVALS}, int64, int64, int64)")
def count_seeds(first, order, left, right, opening, begin, stop, following):
    """Add the seeds with which each suffix from rank `begin` to `stop` begins: those
    whose intervals are open.

    `following`: the seed that opens next.
    """
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


@kernel(f"void({_EDGES}, int32[::1], int32, int32[::1], int32[::1], int32[::1])")
def fill_characters(first, piece, length, place, number, unknown, text, start, size_of):
    """The first edge of each position, of its character alone."""
    size = first.size - 1
    for t in range(start.size):
        for position in range(start[t], start[t] + size_of[t]):
            single = number[text[position]]
            at = first[size - 1 - position]
            piece[at] = single
            length[at] = FIRST | 1
            if single < unknown:
                place[single] = position


@kernel(f"void({_EDGES}, {_INTERVALS}, int32[::1], int32, int64, int64, int64)")
def fill_seeds(
    first,
    piece,
    length,
    place,
    order,
    left,
    right,
    opening,
    depths,
    characters,
    begin,
    stop,
    following,
):
    """The other edges, of the suffixes from rank `begin` to `stop`, as `count_seeds`
    counts them.
    """
    size = first.size - 1
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
        if depth and position < size:
            at = first[size - 1 - position] + 1
            for level in range(depth):
                seed = stack[level]
                piece[at + level] = characters + seed
                length[at + level] = depths[seed]
                place[characters + seed] = position


_ARRAYS = "int32[::1], int32[::1], uint8[::1]"  # of a lattice


@kernel(f"int64({_ARRAYS}, int32[::1], int32, {_ARRAYS})")
def select_edges(first, piece, length, renumber, alive, new_first, new_piece, new_length):
    """Fill the last three, which may be the first three; returns how many edges are kept.

    Each edge is read before its place is written to.
    """
    edge = begin = kept = index(0)
    for place in range(first.size - 1):
        begin = kept
        end = index(first[place + 1])
        new_first[place] = begin
        unknown = np.int32(-1)
        while edge < end:
            number = renumber[index(piece[edge])]
            bits = length[edge] & (FIRST - 1)
            edge += index(1)
            if number >= alive:
                unknown = number
            elif number >= 0:
                new_piece[kept] = number
                new_length[kept] = bits
                kept += index(1)
        if unknown >= 0:
            new_piece[kept] = unknown
            new_length[kept] = 1
            kept += index(1)
        if kept > begin:
            new_length[begin] |= FIRST
    new_first[first.size - 1] = kept
    return np.int64(kept)
