"""The words, pairs and heaps of a training.

The arrays of a training in progress are one value that kernels take (`State`).
Functions that run for every neighbour take the part of it that they need and unpack it
once, or take arrays: each field that is read costs two operations on the counter of its
references.

A merge costs what it reads from memory. So a place has its symbol, pair and word side by
side.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, int32, int64, types, uint64
from numpy.typing import NDArray

from vocap.unigram.kernels import BOOLEANS, INT32S, INT64S, UINT64S, kernel
from vocap.unigram.word_types import STORE, WordStore, find_word

NONE = -1
# the count of a pair that is not to be merged; a merged one has -2 less the number of
# its merge
NEVER = -1
# Entries of `number`: tokens of all kinds, symbols, texts that no merge may give, the
# first symbol that merges, pairs, nodes and the first unused of these, used elements of
# the pool, merges applied, the next of the given ones, pairs that wait to be merged
# again, the pair chosen last, the tie rule, the places that the next merge needs, and the
# choices of a group.
TOKENS, BASE, RESERVED, SINGLE, PAIRS, NODES, FREE_NODE, POOL = range(8)
APPLIED, GIVEN, WAITING, CHOSEN, BY_TEXT, NEEDED, CHOICES = range(8, 15)
LAST = CHOICES
MAX_SYMBOLS, MAX_GROUPS = 1 << 28, 255  # that a key holds; the last group is for merges of any
SYMBOL, PAIR, WORD = range(3)  # columns of `Symbols.rows`


class Symbols(NamedTuple):
    """The symbols of W words at P places: `rows` int32 [P, 3] has for each place its
    symbol, the pair with the next symbol (NONE where there is none) and its word.

    A place follows another for each symbol before any merge; NONE stands before, between
    and behind words. A symbol of n places stands at its first; at its last one stands
    -n, at those between any number below NONE. `size` int32: the places of each symbol.
    Of a word its `counts` int64 [W, 2] and its `group` int32 [W].
    """

    rows: NDArray[np.int32]
    size: NDArray[np.int32]
    counts: NDArray[np.int64]
    group: NDArray[np.int32]


class Pairs(NamedTuple):
    """Pairs of neighbours.

    Pair p has the key `keys[p]` and the weight `total[p]`; below 0 it is NEVER to be
    merged, or -2 less the number of its merge. `head[p]` begins its lists of places in
    the `pool`: where the next list begins, the number of places, and these; some of
    which have changed. `sibling[p]` is the next pair of the group, whose first is
    `first` [groups + 1]. `slots` finds pairs by their keys. `seen`: NONE for each
    symbol, once as the first of a pair and once as the second.
    """

    keys: NDArray[np.uint64]
    total: NDArray[np.int64]
    head: NDArray[np.int32]
    sibling: NDArray[np.int32]
    slots: NDArray[np.int32]
    pool: NDArray[np.int32]
    first: NDArray[np.int32]
    seen: NDArray[np.int32]


class Heaps(NamedTuple):
    """The heaps that order the pairs of each group.

    The heap of a group, a skew heap of nodes from `root` on, holds the pairs of at
    least `floor`: most pairs of a large text never come near their turn. `length`
    counts the tokens of a group's second text, `divisor` what they are compared by;
    `spent`: it has no pair left; `recent`: the groups of the last choices. A node has
    the `weight` of pair `node` and two subtrees, `left` and `right`.
    """

    root: NDArray[np.int32]
    floor: NDArray[np.int64]
    length: NDArray[np.int64]
    divisor: NDArray[np.int64]
    spent: NDArray[np.bool_]
    recent: NDArray[np.int32]
    weight: NDArray[np.int64]
    node: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]


class State(NamedTuple):
    """A training in progress: words, pairs, heaps, the texts of tokens as symbols, and
    the merges so far.

    `applied` int32 [M, 3]: both symbols, the new one; `waiting` int64: merges to be
    applied again; `number` int64 [LAST + 1].
    """

    symbols: Symbols
    pairs: Pairs
    heaps: Heaps
    texts: WordStore
    applied: NDArray[np.int32]
    waiting: NDArray[np.int64]
    number: NDArray[np.int64]


ROWS = int32[:, ::1]
SYMBOLS = types.NamedTuple([ROWS, INT32S, int64[:, ::1], INT32S], Symbols)
PAIR_ARRAYS = types.NamedTuple([UINT64S, INT64S, *[INT32S] * 6], Pairs)
HEAPS = types.NamedTuple([INT32S, *[INT64S] * 3, BOOLEANS, INT32S, INT64S, *[INT32S] * 3], Heaps)
STATE = types.NamedTuple([SYMBOLS, PAIR_ARRAYS, HEAPS, STORE, ROWS, INT64S, INT64S], State)


# of a key: both symbols' places, their mask
FIRST, SECOND, BITS = np.uint64(36), np.uint64(8), (1 << 28) - 1
REGISTER = 255  # the group of keys that say which pairs were merged, in whichever group


@kernel(uint64(int64, int64, int64), inner=True)
def key_of(a, b, group):
    """Sorts by both symbols in one group."""
    return np.uint64(a) << FIRST | np.uint64(b) << SECOND | np.uint64(group)


@kernel("uint64(uint64, uint64[::1], int32[::1])", inner=True)
def pair_slot(key, keys, slots):
    """The slot of a key, or the empty one that it would take."""
    code = (key ^ (key >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    code = (code ^ (code >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    slot = (code ^ (code >> np.uint64(32))) & np.uint64(slots.size - 1)
    while slots[slot] and keys[slots[slot] - 1] != key:
        slot = (slot + np.uint64(1)) & np.uint64(slots.size - 1)
    return slot


@kernel("int64(uint64, uint64[::1], int32[::1])", inner=True)
def find_pair(key, keys, slots):
    """The number of a pair, NONE where there is none."""
    return np.int64(slots[pair_slot(key, keys, slots)]) - 1


@kernel(int64(int64, int64, int64, boolean, PAIR_ARRAYS, INT64S), inner=True)
def add_pair(a, b, group, is_new, pairs, number):
    """The number of a pair, a new one where there was none; the arrays have space for
    it. `is_new`: one of its tokens is, so that it was never merged.
    """
    keys, total, head, sibling, slots, _, first, _ = pairs
    key = key_of(a, b, group)
    slot = pair_slot(key, keys, slots)
    if slots[slot]:
        return np.int64(slots[slot]) - 1
    pair = number[PAIRS]
    number[PAIRS] += 1
    slots[slot] = pair + 1
    keys[pair], head[pair], total[pair] = key, NONE, 0
    if group != REGISTER:
        merged = np.int64(NONE) if is_new else find_pair(key_of(a, b, REGISTER), keys, slots)
        if merged >= 0:
            total[pair] = total[merged]
        sibling[pair] = first[group]
        first[group] = pair
    return pair


@kernel(types.void(PAIR_ARRAYS, int64))
def fill_pair_slots(pairs, known):
    """Enter all pairs into empty `slots`."""
    keys, slots = pairs.keys, pairs.slots
    for pair in range(known):
        slots[pair_slot(keys[pair], keys, slots)] = pair + 1


@kernel(types.void(STATE, INT32S, INT64S, int64))
def link_words(state, text, starts, base):
    """Write the symbols of each word into rows, count the tokens of each group, and
    number the texts of symbols.
    """
    symbols, one = state.symbols, np.empty(1, np.int32)
    for symbol in range(base):
        one[0] = symbol
        find_word(one, 0, 1, symbol, state.texts)
        symbols.size[symbol] = 1
    state.number[BASE] = state.number[TOKENS] = base
    rows, place = symbols.rows, 1
    for word in range(starts.size - 1):
        for at in range(starts[word], starts[word + 1]):
            rows[place, SYMBOL], rows[place, WORD] = text[at], word
            place += 1
        place += 1
        length = starts[word + 1] - starts[word]
        state.heaps.length[symbols.group[word]] += symbols.counts[word, 1] * length


@kernel(types.void(STATE, INT32S, INT64S))
def reserve_texts(state, texts, bounds):
    """Number texts that no token may have, each a sequence of symbols, after those of
    the symbols.
    """
    number = state.number
    for other in range(bounds.size - 1):
        known = number[BASE] + number[RESERVED]
        found = find_word(texts, bounds[other], bounds[other + 1], known, state.texts)
        number[RESERVED] += found == known


@kernel(int64(STATE, int64))
def hold_pairs(state, first):
    """Count the pairs from place `first` on; the place where it stopped, as the arrays
    were full.

    `head` of a pair is NONE less the number of its places.
    """
    rows, _, counts, groups = state.symbols
    pairs, number, single = state.pairs, state.number, state.number[SINGLE]
    for at in range(first, rows.shape[0] - 1):
        a, b = np.int64(rows[at, SYMBOL]), np.int64(rows[at + 1, SYMBOL])
        if a < single or b < single:
            continue
        if number[PAIRS] + 1 >= pairs.keys.size:
            return at
        word = rows[at, WORD]
        pair = add_pair(a, b, np.int64(groups[word]), True, pairs, number)
        rows[at, PAIR] = pair
        pairs.total[pair] += counts[word, 0]
        pairs.head[pair] -= 1
        number[NEEDED] += 1
    return rows.shape[0]


@kernel(types.void(STATE))
def fill_places(state):
    """List the places of the pairs that `hold_pairs` has counted."""
    rows, head, pool = state.symbols.rows, state.pairs.head, state.pairs.pool
    for number in range(state.number[PAIRS]):
        places, head[number] = NONE - head[number], state.number[POOL]
        pool[head[number]], pool[head[number] + 1] = NONE, 0
        state.number[POOL] += 2 + places
    for at in range(rows.shape[0]):
        pair = np.int64(rows[at, PAIR])
        if pair >= 0:
            begin = np.int64(head[pair])
            pool[begin + 2 + pool[begin + 1]] = at
            pool[begin + 1] += 1


@kernel(int64(STATE, INT32S))
def copy_places(state, pool):
    """Copy the places that have not changed to `pool`; returns how much of it they
    take.
    """
    rows, head, old = state.symbols.rows, state.pairs.head, state.pairs.pool
    used = np.int64(0)
    for pair in range(state.number[PAIRS]):
        begin, at = used, np.int64(head[pair])
        used += 2
        while at >= 0:
            for place in old[at + 2 : at + 2 + old[at + 1]]:
                if rows[place, PAIR] == pair:
                    pool[used] = place
                    used += 1
            at = np.int64(old[at])
        pool[begin], pool[begin + 1] = NONE, used - begin - 2
        head[pair] = begin
        if used == begin + 2:
            head[pair], used = NONE, begin
    return used
