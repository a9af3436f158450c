"""Kernels of pairs: found by hash, with the list of their places."""

import numpy as np
from numba import int32, int64, types, uint64

from vocap.bpe.state import BASE, FREE_PLACE, NEEDED, NONE, PAIRS, PLACES, RESERVED, SINGLE, STATE, TOKENS
from vocap.unigram.kernels import kernel
from vocap.unigram.word_table import find_word

NEVER = -1  # the count of a pair that is not to be merged; a merged one has -2 less the number of its merge
FIRST, SECOND, BITS = (
    np.uint64(36),
    np.uint64(8),
    (1 << 28) - 1,
)  # of a key: both symbols' places, their mask
REGISTER = 255  # the group of keys that say which pairs were merged, in whichever group


@kernel(uint64(int64, int64, int64), inner=True)
def key_of(a, b, group):
    """Sorts by both symbols in one group."""
    return np.uint64(a) << FIRST | np.uint64(b) << SECOND | np.uint64(group)


@kernel("uint64(uint64, uint64[::1], int32[::1])", inner=True)
def slot_of(key, keys, slots):
    """The slot of a key, or the empty one that it would take."""
    code = (key ^ (key >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    code = (code ^ (code >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    slot = (code ^ (code >> np.uint64(32))) & np.uint64(slots.size - 1)
    while slots[slot] and keys[slots[slot] - 1] != key:
        slot = (slot + np.uint64(1)) & np.uint64(slots.size - 1)
    return slot


_PAIRS = "uint64[::1], int64[::1], int32[::1], int32[::1], boolean[::1], int32[::1], int32[::1], int64[::1]"
_PLACES = "int32[::1], int32[::1], int32[::1], int64[::1]"


# Functions that run for every neighbour take the arrays that they need: each field that is read of a `State` costs
# two operations on the counter of its references.
@kernel("int64(uint64, uint64[::1], int32[::1])")
def find_pair(key, keys, slots):
    """The number of a pair, NONE where there is none."""
    return np.int64(slots[slot_of(key, keys, slots)]) - 1


@kernel(f"int64(int64, int64, int64, {_PAIRS})", inner=True)
def add_pair(a, b, group, keys, count, head, sibling, raised, slots, first, number):
    """The number of a pair, a new one where there was none; the arrays have space for it."""
    key = key_of(a, b, group)
    slot = slot_of(key, keys, slots)
    if slots[slot]:
        return np.int64(slots[slot]) - 1
    pair = number[PAIRS]
    number[PAIRS] += 1
    slots[slot] = pair + 1
    keys[pair], head[pair], raised[pair], count[pair] = key, NONE, False, 0
    if group != REGISTER:
        merged = find_pair(key_of(a, b, REGISTER), keys, slots)
        if merged >= 0:
            count[pair] = count[merged]
        sibling[pair] = first[group]
        first[group] = pair
    return pair


@kernel(f"void(int64, int64, {_PLACES})", inner=True)
def add_place(pair, at, place, further, head, number):
    if number[FREE_PLACE] >= 0:
        new = number[FREE_PLACE]
        number[FREE_PLACE] = further[new]
    else:
        new = number[PLACES]
        number[PLACES] += 1
    place[new], further[new] = at, head[pair]
    head[pair] = new


@kernel(types.void(STATE))
def fill_slots(state):
    """Enter all pairs into empty `slots`."""
    keys, slots = state.keys, state.slots
    for pair in range(state.number[PAIRS]):
        slots[slot_of(keys[pair], keys, slots)] = pair + 1


@kernel(types.void(STATE, int64[::1], int64))
def link_words(state, starts, base):
    """Link the symbols of each word, count the tokens of each group, and number the texts of symbols."""
    text = np.empty(1, np.int32)
    for symbol in range(base):
        text[0] = symbol
        find_word(text, 0, 1, symbol, state.store, state.bounds, state.hashes, state.token_slots)
    state.number[BASE] = state.number[TOKENS] = base
    for word in range(starts.size - 1):
        begin, end = starts[word], starts[word + 1]
        for at in range(begin, end):
            state.after[at] = at + 1 if at + 1 < end else NONE
            state.before[at] = at - 1 if at > begin else NONE
            state.word[at] = word
        state.length[state.group[word]] += state.counts[word, 1] * (end - begin)


@kernel(types.void(STATE, int32[::1], int64[::1]))
def reserve_texts(state, texts, bounds):
    """Number texts that no token may have, each a sequence of symbols, after those of the symbols."""
    number = state.number
    for other in range(bounds.size - 1):
        known = number[BASE] + number[RESERVED]
        found = find_word(
            texts, bounds[other], bounds[other + 1], known,
            state.store, state.bounds, state.hashes, state.token_slots,
        )  # fmt: skip
        number[RESERVED] += found == known


@kernel(int64(STATE, int64[::1], int64))
def add_words(state, starts, last):
    """Add the pairs of the words from the one before `last` down to 0; where it stopped, as the arrays were full.

    From behind, so that a list begins with its first place.
    """
    keys, count, head, sibling, raised, slots = (
        state.keys, state.count, state.head, state.sibling, state.raised, state.slots
    )  # fmt: skip
    first, number, place, further = state.first, state.number, state.place, state.further
    symbol, groups, counts, single = state.symbol, state.group, state.counts, state.number[SINGLE]
    for word in range(last - 1, -1, -1):
        if number[PAIRS] + starts[word + 1] - starts[word] >= keys.size:
            number[NEEDED] = starts[word + 1] - starts[word]
            return word + 1
        for at in range(starts[word + 1] - 2, starts[word] - 1, -1):
            a, b = np.int64(symbol[at]), np.int64(symbol[at + 1])
            if a >= single and b >= single:
                pair = add_pair(
                    a, b, np.int64(groups[word]), keys, count, head, sibling, raised, slots, first, number
                )
                count[pair] += counts[word, 0]
                add_place(pair, at, place, further, head, number)
    return 0
