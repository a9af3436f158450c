"""Lattices of given pieces, by a trie; in a file of its own, as the ladder does without
these kernels.

Pieces are numbered from 1, as an unknown node counts for piece 0 in the engine's E
step: 0 is <unk>.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import int32, types
from numpy.typing import NDArray

from vocap.unigram.kernels import INT32S, INT64S, UINT8S, kernel
from vocap.unigram.lattice import FIRST

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


@kernel(types.Tuple((INT32S, INT32S, UINT8S))(INT32S, int32, TRIE))
def fill_lattice(text, unknown, trie):
    """The arrays of a `Lattice` over `text`, whose borders have no edges; piece n has
    the number n + 1.
    """
    size = text.size
    first = np.empty(size + 1, np.int32)
    number = np.empty(4 * size, np.int32)
    length = np.empty(4 * size, np.uint8)
    edges = 0
    for place in range(size):
        first[place] = edges
        position = size - 1 - place
        if text[position] == BORDER:
            continue
        # Room for the longest pieces
        if edges + FIRST > number.size:
            more = np.empty(2 * number.size + FIRST, np.int32)
            for edge in range(edges):
                more[edge] = number[edge]
            number = more
            longer = np.empty(more.size, np.uint8)
            for edge in range(edges):
                longer[edge] = length[edge]
            length = longer
        # The pieces that begin here, shortest first, or an unknown node
        single = False
        at = position
        node = child(np.int32(0), text[at], trie)
        while node:
            if trie.piece[node] >= 0:
                number[edges] = trie.piece[node] + 1
                length[edges] = at - position + 1
                single |= at == position
                edges += 1
            at += 1
            if text[at] == BORDER:
                break
            node = child(node, text[at], trie)
        if not single:
            number[edges] = unknown
            length[edges] = 1
            edges += 1
        length[first[place]] |= FIRST
    first[size] = edges
    return first, number[:edges].copy(), length[:edges].copy()
