"""Lattices of given pieces, by a trie; in a file of its own, as the ladder does without
these kernels.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import int32, int64, types
from numpy.typing import NDArray

from vocap.files.large_arrays import is_large, new_array
from vocap.unigram.kernels import INT32S, INT64S, UINT8S, UINT32S, kernel
from vocap.unigram.lattice import EDGE_BYTES, FIRST

BORDER = -1  # between types in a text: no character


class Trie(NamedTuple):
    """Node 0 is the root. The child of a node by a character is in `children` (int32)
    where `keys` (int64) holds node x 2^21 + character: the place that the key's hash
    names, or the next one that no other key holds; -1 marks free places. `piece` int32
    [nodes]: the number of the piece that ends at a node, -1 for none.
    """

    keys: NDArray[np.int64]
    children: NDArray[np.int32]
    piece: NDArray[np.int32]


TRIE = types.NamedTuple([INT64S, INT32S, INT32S], Trie)


def build_trie(pieces: Sequence[str]) -> Trie:
    """The trie of distinct, non-empty pieces, numbered as they come."""
    text = np.frombuffer("".join(pieces).encode("utf-32-le"), np.int32)
    bounds = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)), out=bounds[1:])
    keys, children = _free_slots(len(text))  # no more nodes than characters
    piece = insert(text.copy(), bounds, keys, children)
    used = keys >= 0
    # a smaller table is quicker: it stays in the processor's caches
    compact = _free_slots(len(piece))
    fill_slots(keys[used], children[used], *compact)
    return Trie(*compact, piece)


def _free_slots(entries: int) -> tuple[np.ndarray, np.ndarray]:
    """`keys` and `children` that will be no more than half full."""
    slots = 1 << max(4, (2 * entries - 1).bit_length())
    return np.full(slots, -1, np.int64), np.zeros(slots, np.int32)


@kernel("int64(int64, int64[::1])")
def slot_of(key, keys):
    """The index of `key` in `keys`, or that of the free place for it."""
    mask = np.uint64(keys.size - 1)
    code = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    at = (code ^ (code >> np.uint64(32))) & mask
    while keys[at] != key and keys[at] != -1:
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@kernel("void(int64[::1], int32[::1], int64[::1], int32[::1])")
def fill_slots(entries, values, keys, children):
    for entry in range(entries.size):
        slot = slot_of(entries[entry], keys)
        keys[slot] = entries[entry]
        children[slot] = values[entry]


@kernel(int32(int32, int32, TRIE))
def child(node, character, trie):
    """The node below `node` by `character`, 0 for none."""
    return trie.children[slot_of(np.int64(node) << 21 | np.int64(character), trie.keys)]


@kernel("int32[::1](int32[::1], int64[::1], int64[::1], int32[::1])")
def insert(text, bounds, keys, children):
    """Fill `keys` and `children` with the pieces `text[bounds[n]:bounds[n + 1]]`;
    returns the nodes' pieces.
    """
    piece = np.full(text.size + 1, -1, np.int32)
    nodes = 1
    for number in range(bounds.size - 1):
        node = np.int32(0)
        for at in range(bounds[number], bounds[number + 1]):
            key = np.int64(node) << 21 | np.int64(text[at])
            slot = slot_of(key, keys)
            if keys[slot] == -1:
                keys[slot] = key
                children[slot] = nodes
                nodes += 1
            node = children[slot]
        piece[node] = number
    return piece[:nodes].copy()


@kernel(int64(INT32S, TRIE, INT32S, UINT32S, INT32S, INT32S, UINT8S), allocates=False)
def walk_trie(text, trie, number, first, place, piece, length):
    """Fill `first` and `place` of `find_pieces`, or `piece` and `length` of `fill_lattice`
    if these are given; returns the edges.
    """
    size, fills = text.size, piece.size > 0
    edges = np.int64(0)
    for row in range(size):
        position = size - 1 - row
        if not fills:
            first[row] = edges
        if text[position] == BORDER:
            continue
        begin = edges
        # The pieces that begin here, shortest first, or an unknown node
        single = False
        at = position
        node = child(np.int32(0), text[at], trie)
        while node:
            found = trie.piece[node]
            if found >= 0:
                if fills:
                    piece[edges], length[edges] = number[found], at - position + 1
                else:
                    place[found] = position
                single |= at == position
                edges += 1
            at += 1
            if text[at] == BORDER:
                break
            node = child(node, text[at], trie)
        if not single:
            if fills:
                piece[edges], length[edges] = number[number.size - 1], 1
            edges += 1
        if fills:
            length[begin] |= FIRST
    if not fills:
        first[size] = edges
    return edges


_NO_OFFSETS, _NO_PIECES = np.empty(0, np.uint32), np.empty(0, np.int32)
_NO_LENGTHS = np.empty(0, np.uint8)


def find_pieces(
    text: np.ndarray, trie: Trie, pieces: int, memory: int | None = None
) -> tuple[np.ndarray, int, np.ndarray]:
    """`Lattice.first` of a lattice over `text`, whose borders have no edges, on the disk
    where it is large by `memory` (MB); how many edges it has; the first place of each of
    the `pieces`, int32, -1 where it does not occur.
    """
    first = new_array(len(text) + 1, np.uint32, is_large(4 * len(text), memory))
    place = np.full(pieces, -1, np.int32)
    edges = walk_trie(text, trie, _NO_PIECES, first, place, _NO_PIECES, _NO_LENGTHS)
    return first, edges, place


def fill_lattice(
    text: np.ndarray, trie: Trie, number: np.ndarray, edges: int, memory: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """`Lattice.piece` and `Lattice.length` of so many edges, on the disk where they
    are large by `memory` (MB).

    `number` int32: of each piece, and last that of an unknown node.
    """
    on_disk = is_large(edges * EDGE_BYTES, memory)
    piece, length = (new_array(edges, kind, on_disk) for kind in (np.int32, np.uint8))
    walk_trie(text, trie, number, _NO_OFFSETS, _NO_PIECES, piece, length)
    return piece, length
