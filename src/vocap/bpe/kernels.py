"""Kernels of merging: a chosen pair wherever it stands, and one merge after another."""

import numpy as np
from numba import boolean, int32, int64, types

from vocap.bpe.heaps import heaviest, longest_group, push
from vocap.bpe.pairs import BITS, FIRST, NEVER, REGISTER, SECOND, add_pair, add_place, find_pair, key_of
from vocap.bpe.state import (
    APPLIED,
    BASE,
    CHOSEN,
    FREE_PLACE,
    GIVEN,
    NEEDED,
    NODES,
    NONE,
    PAIRS,
    PLACES,
    RESERVED,
    SINGLE,
    STATE,
    TOKENS,
    WAITING,
)
from vocap.unigram.kernels import kernel
from vocap.unigram.word_table import find_word

ENDED, PAUSED, FULL = 0, 1, 2  # results of `advance`


@kernel(types.void(STATE, int64, int64), inner=True)
def merge_in_group(state, pair, row):
    """Merge a pair wherever it stands in the words of its group, from left to right; row `row` of `applied`."""
    keys, count, head, sibling, raised, slots = (
        state.keys, state.count, state.head, state.sibling, state.raised, state.slots
    )  # fmt: skip
    first, number, place, further = state.first, state.number, state.place, state.further
    symbol, after, before, word, counts = state.symbol, state.after, state.before, state.word, state.counts
    key, new, single = keys[pair], np.int64(state.applied[row, 2]), number[SINGLE]
    a, b, group = np.int64(key >> FIRST), np.int64(key >> SECOND) & BITS, np.int64(key & np.uint64(255))
    size, at = 0, np.int64(head[pair])
    while at >= 0:
        size, at = size + 1, np.int64(further[at])
    places, size, at = np.empty(size, np.int32), 0, np.int64(head[pair])
    while at >= 0:
        places[size] = place[at]
        size, last, at = size + 1, at, np.int64(further[at])
        if at < 0:
            further[last] = number[FREE_PLACE]
            number[FREE_PLACE] = head[pair]
    head[pair] = NONE
    if a == b:
        places.sort()
    touched, touches, weights, others = np.empty(2 * size + 1, np.int32), 0, 0, 0
    for at in places:
        right = np.int64(after[at])
        if symbol[at] != a or right < 0 or symbol[right] != b:
            continue
        weight, behind, left = counts[word[at], 0], np.int64(after[right]), np.int64(before[at])
        symbol[at], symbol[right], after[at] = new, NONE, behind
        if behind >= 0:
            before[behind] = at
        for side in range(2):  # the pairs with the symbol before, and with the one behind
            if side == 0:
                if left < 0 or symbol[left] < single:
                    continue
                old_a, old_b, new_a, new_b, where = np.int64(symbol[left]), a, np.int64(symbol[left]), new, left
            else:
                if behind < 0 or symbol[behind] < single:
                    continue
                old_a, old_b, new_a, new_b = b, np.int64(symbol[behind]), new, np.int64(symbol[behind])
                where = np.int64(at)
            old = find_pair(key_of(old_a, old_b, group), keys, slots)
            if old >= 0 and count[old] >= 0:
                count[old] -= weight
            added = add_pair(new_a, new_b, group, keys, count, head, sibling, raised, slots, first, number)
            add_place(added, where, place, further, head, number)
            if count[added] >= 0:
                count[added] += weight
            if not raised[added]:
                raised[added] = True
                touched[touches] = added
                touches += 1
        weights += weight
        others += counts[word[at], 1]
    state.uses[row, 0] += weights
    state.uses[row, 1] += others
    state.length[group] -= others
    floor = state.floor[group]
    for at in range(touches):
        changed = np.int64(touched[at])
        raised[changed] = False
        if count[changed] >= floor:
            push(state, group, changed)
        elif count[changed] < NEVER:
            state.waiting[number[WAITING]] = -2 - count[changed]
            number[WAITING] += 1


@kernel(int64(STATE, int64, int64), inner=True)
def places_of(state, a, b):
    """The places in the lists of a pair, of all groups."""
    count = 0
    for group in range(state.floor.size):
        pair = find_pair(key_of(a, b, group), state.keys, state.slots)
        at = np.int64(state.head[pair]) if pair >= 0 else np.int64(NONE)
        while at >= 0:
            count, at = count + 1, np.int64(state.further[at])
    return count


@kernel(boolean(STATE, int64, int64, int64), inner=True)
def has_space(state, needed, a, b):
    """Whether the arrays hold the merge of a pair that stands in so many places."""
    number, bounds = state.number, state.bounds
    texts, groups = number[RESERVED] + number[TOKENS], state.floor.size
    a += number[RESERVED] * (a >= number[BASE])
    b += number[RESERVED] * (b >= number[BASE])
    text = bounds[a + 1] - bounds[a] + bounds[b + 1] - bounds[b]
    return (
        number[PAIRS] + 2 * needed + groups + 1 < state.keys.size
        and number[PLACES] + 2 * needed < state.place.size
        and number[NODES] + number[PAIRS] + 4 * needed < state.node.size
        and number[WAITING] + 2 * needed < state.waiting.size
        and number[APPLIED] < state.applied.shape[0]
        and texts + 2 < state.bounds.size
        and texts < state.hashes.size
        and bounds[texts] + text < state.store.size
    )


@kernel(int64(STATE, int64, int64), inner=True)
def token_of(state, a, b):
    """The token of a merge, a new one where none has its text; NONE where no token may have it."""
    number, store, bounds = state.number, state.store, state.bounds
    a += number[RESERVED] * (a >= number[BASE])
    b += number[RESERVED] * (b >= number[BASE])
    text = np.concatenate((store[bounds[a] : bounds[a + 1]], store[bounds[b] : bounds[b + 1]]))
    known = number[RESERVED] + number[TOKENS]
    found = find_word(text, 0, text.size, known, store, bounds, state.hashes, state.token_slots)
    if found < number[BASE] + number[RESERVED]:
        return np.int64(NONE)
    number[TOKENS] += found == known
    return found - number[RESERVED]


@kernel(int64(STATE, int32[:, ::1], int64, int64))
def advance(state, given, wanted, merges):
    """Apply up to `merges` merges: those that wait, the `given` ones, then chosen ones up to `wanted` tokens.

    Returns ENDED, PAUSED, or FULL where the arrays must grow before the next merge.
    """
    number, groups = state.number, state.floor.size
    for _ in range(merges):
        least, group = np.int64(NONE), np.int64(NONE)
        if number[WAITING]:
            least = 0
            for at in range(1, number[WAITING]):
                if state.waiting[at] < state.waiting[least]:
                    least = at
            a = np.int64(state.applied[state.waiting[least], 0])
            b = np.int64(state.applied[state.waiting[least], 1])
        elif number[GIVEN] < given.shape[0]:
            a, b = np.int64(given[number[GIVEN], 0]), np.int64(given[number[GIVEN], 1])
        elif number[TOKENS] >= wanted:
            return ENDED
        else:
            if number[CHOSEN] < 0:
                group = longest_group(state)
                if group < 0:
                    return ENDED
                number[CHOSEN] = heaviest(state, group)
                if number[CHOSEN] < 0:
                    state.spent[group] = True
                    continue
            key = state.keys[number[CHOSEN]]
            a, b = np.int64(key >> FIRST), np.int64(key >> SECOND) & BITS
        number[NEEDED] = places_of(state, a, b)
        if not has_space(state, number[NEEDED], a, b):
            return FULL
        if least >= 0:
            first = state.waiting[least]
            number[WAITING] -= 1
            state.waiting[least] = state.waiting[number[WAITING]]
        elif number[GIVEN] < given.shape[0]:
            number[GIVEN] += 1
        else:
            number[CHOSEN] = NONE
        row, new = number[APPLIED], token_of(state, a, b)
        count = np.int64(NEVER) if new < 0 else -2 - row
        if least >= 0:
            count = -2 - first
        registered = add_pair(
            a, b, np.int64(REGISTER), state.keys, state.count, state.head, state.sibling, state.raised,
            state.slots, state.first, number,
        )  # fmt: skip
        state.count[registered] = count
        for group in range(groups):
            pair = find_pair(key_of(a, b, group), state.keys, state.slots)
            if pair >= 0:
                state.count[pair] = count
        if new < 0:
            continue
        state.applied[row, 0], state.applied[row, 1] = a, b
        state.applied[row, 2], state.applied[row, 3] = new, least >= 0
        state.uses[row] = 0
        number[APPLIED] += 1
        for group in range(groups):
            pair = find_pair(key_of(a, b, group), state.keys, state.slots)
            if pair >= 0 and state.head[pair] >= 0:
                merge_in_group(state, pair, row)
    return PAUSED
