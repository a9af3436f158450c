"""Lattices and best segmentations with given pieces, by a trie.

In lattices pieces are numbered from 1, as an unknown node counts for piece 0 in the engine's E step: 0 is <unk>.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vocap.unigram.kernels import kernel
from vocap.unigram.lattice import FIRST

TRIE = "int64[::1], int32[::1], int32[::1]"  # Trie: keys, children, piece
BORDER = -1  # between types in a text: no character
_ROUNDING = 2.0**-24  # of a float32 sum, relative
_LONG = 20_000  # characters of a word from which the bound on rounding is not claimed


@dataclass(frozen=True)
class Trie:
    """Node 0 is the root. The child of a node by a character is in `children` (int32) where `keys` (int64)
    holds node x 2^21 + character: the place that the key's hash names, or the next one that no other key holds; -1
    marks free places. `piece` int32 [nodes]: the number of the piece that ends at a node, -1 for none."""

    keys: np.ndarray
    children: np.ndarray
    piece: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays that `TRIE` lists."""
        return self.keys, self.children, self.piece


def build_trie(pieces: Sequence[str]) -> Trie:
    """The trie of distinct, non-empty pieces, numbered as they come."""
    text = np.frombuffer("".join(pieces).encode("utf-32-le"), np.int32)
    bounds = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)), out=bounds[1:])
    keys, children = _free_slots(len(text))  # no more nodes than characters
    piece = insert(text.copy(), bounds, keys, children)
    used = keys >= 0
    compact = _free_slots(len(piece))  # a smaller table is quicker: it stays in the processor's caches
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


@kernel(f"int32(int32, int32, {TRIE})")
def child(node, character, keys, children, piece):
    """The node below `node` by `character`, 0 for none."""
    at = slot_of(np.int64(node) << 21 | np.int64(character), keys)
    return children[at]


@kernel("int32[::1](int32[::1], int64[::1], int64[::1], int32[::1])")
def insert(text, bounds, keys, children):
    """Fill `keys` and `children` with the pieces `text[bounds[n]:bounds[n + 1]]`; returns the nodes' pieces."""
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


@kernel(f"Tuple((int32[::1], int32[::1], uint8[::1]))(int32[::1], int32, {TRIE})")
def fill_lattice(text, unknown, keys, children, piece):
    """The arrays of a `Lattice` over `text`, whose borders have no edges; piece n has the number n + 1."""
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
        if edges + FIRST > number.size:
            more = np.empty(2 * number.size + FIRST, np.int32)
            more[:edges] = number[:edges]
            number = more
            longer = np.empty(more.size, np.uint8)
            longer[:edges] = length[:edges]
            length = longer
        single = False
        at = position
        node = child(np.int32(0), text[at], keys, children, piece)
        while node:
            if piece[node] >= 0:
                number[edges] = piece[node] + 1
                length[edges] = at - position + 1
                single |= at == position
                edges += 1
            at += 1
            if text[at] == BORDER:
                break
            node = child(node, text[at], keys, children, piece)
        if not single:
            number[edges] = unknown
            length[edges] = 1
            edges += 1
        length[first[place]] |= FIRST
    first[size] = edges
    return first, number[:edges].copy(), length[:edges].copy()


@kernel("void(float64[::1], float64[::1], int32[::1], int32[::1], int64, float64, int64, int64)")
def relax(best, second, start, token, end, sum_, begin, number):
    """Compare one more path to `end`, by a piece from `begin`; of equal paths the first stays the best."""
    if sum_ > best[end]:
        second[end] = best[end]
        best[end], start[end], token[end] = sum_, begin, number
    elif sum_ > second[end]:
        second[end] = sum_


@kernel(
    f"Tuple((int64[::1], int32[::1], float64[::1], float64[::1]))"
    f"(int32[::1], int64[::1], int64, int64, float32[::1], float64, boolean, {TRIE})"
)
def segment_words(store, bounds, begin, end, score, unknown, exact, keys, children, piece):
    """Best segmentations of the words `begin` to `end` of a word table, as `Model::EncodeOptimized` finds them.

    Sums are in double precision. Returns where the tokens of each word begin (one more than words), the tokens
    (piece numbers, -1 for <unk>, a run of unknown characters being one), the cost of each word (minus its sum),
    and the `reach` of each: in a line that costs less, float32 sums cannot lead to another segmentation.

    `encode` adds up in float32 from the line's beginning. A sum of size s is off by s x 2^-24 for each piece since
    the word began: two paths to a position that differ by more than 2 (n + 1) s x 2^-24, n the word's characters,
    keep their order. Only positions on the best path matter. `exact`: all sums below 2^14 are exact in float32.
    """
    count = end - begin
    longest = 0
    for word in range(begin, end):
        longest = max(longest, bounds[word + 1] - bounds[word])
    best = np.empty(longest + 1, np.float64)
    second = np.empty(longest + 1, np.float64)
    start = np.empty(longest + 1, np.int32)
    token = np.empty(longest + 1, np.int32)
    first = np.zeros(count + 1, np.int64)
    tokens = np.empty(bounds[end] - bounds[begin], np.int32)
    cost = np.empty(count, np.float64)
    reach = np.empty(count, np.float64)
    used = 0
    for word in range(begin, end):
        offset = bounds[word]
        n = bounds[word + 1] - offset
        best[0] = 0
        best[1 : n + 1] = -np.inf
        second[: n + 1] = -np.inf
        for i in range(n):
            single = False
            at = i
            node = child(np.int32(0), store[offset + i], keys, children, piece)
            while node:
                at += 1
                number = piece[node]
                if number >= 0:
                    relax(best, second, start, token, at, best[i] + score[number], i, number)
                    single |= at == i + 1
                if at == n:
                    break
                node = child(node, store[offset + at], keys, children, piece)
            if not single:
                relax(best, second, start, token, i + 1, best[i] + unknown, i, -1)
        cost[word - begin] = -best[n]
        gap = np.inf
        at = n
        last = used
        while at > 0:
            gap = min(gap, best[at] - second[at])
            if token[at] >= 0 or used == last or tokens[used - 1] >= 0:
                tokens[used] = token[at]
                used += 1
            at = start[at]
        first[word - begin + 1] = used
        if exact:
            reach[word - begin] = 2.0**14
        elif n >= _LONG:
            reach[word - begin] = 0
        else:
            reach[word - begin] = gap / (2 * (n + 1) * _ROUNDING) * 0.99 - 1
    return first, tokens[:used].copy(), cost, reach


@kernel("int64[::1](int32[::1], int64[::1], float64[::1], float64[::1], int64[:, ::1])")
def count_lines(words, ends, cost, reach, counts):
    """Count, in the last column of `counts`, the words of every line whose cost is below the `reach` of each.

    `words` and `ends` as `WordTable.number` gives them. Returns the numbers of the other lines.
    """
    others = np.empty(ends.size, np.int64)
    left = 0
    column = counts.shape[1] - 1
    begin = 0
    for line in range(ends.size):
        total, least = 0.0, np.inf
        for at in range(begin, ends[line]):
            total += cost[words[at]]
            least = min(least, reach[words[at]])
        if total < least:
            for at in range(begin, ends[line]):
                counts[words[at], column] += 1
        elif ends[line] > begin:
            others[left] = line
            left += 1
        begin = ends[line]
    return others[:left].copy()
