"""Kernels of merging: pairs found by hash, their places in lists, and heaps of the heaviest pairs."""

import numpy as np
from numba import boolean, int32, int64, types, uint64

from vocap.bpe.state import (
    APPLIED,
    BASE,
    BY_TEXT,
    CHOSEN,
    FREE_NODE,
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

NEVER = -1  # the count of a pair that is not to be merged; a merged one has -2 less the number of its merge
LOWER = 4  # the factor between two floors of a heap
ENDED, PAUSED, FULL = 0, 1, 2  # results of `advance`
_A, _B, _BITS = np.uint64(36), np.uint64(8), (1 << 28) - 1
REGISTER = 255  # the group of keys that say which pairs were merged, in whichever group


@kernel(uint64(int64, int64, int64))
def key_of(a, b, group):
    """Sorts by both symbols in one group."""
    return np.uint64(a) << _A | np.uint64(b) << _B | np.uint64(group)


@kernel(uint64(uint64, int64))
def slot_of(key, slots):
    code = (key ^ (key >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    code = (code ^ (code >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return (code ^ (code >> np.uint64(32))) & np.uint64(slots - 1)


@kernel(int64(STATE, uint64))
def find_pair(state, key):
    """The number of a pair, NONE where there is none."""
    slots, keys = state.slots, state.keys
    slot = slot_of(key, slots.size)
    while slots[slot]:
        if keys[slots[slot] - 1] == key:
            return np.int64(slots[slot]) - 1
        slot = (slot + np.uint64(1)) & np.uint64(slots.size - 1)
    return np.int64(NONE)


@kernel(int64(STATE, int64, int64, int64))
def add_pair(state, a, b, group):
    """The number of a pair, a new one where there was none; the arrays have space for it."""
    key, slots, keys = key_of(a, b, group), state.slots, state.keys
    slot = slot_of(key, slots.size)
    while slots[slot]:
        if keys[slots[slot] - 1] == key:
            return np.int64(slots[slot]) - 1
        slot = (slot + np.uint64(1)) & np.uint64(slots.size - 1)
    pair = state.number[PAIRS]
    state.number[PAIRS] += 1
    slots[slot] = pair + 1
    keys[pair], state.head[pair], state.raised[pair] = key, NONE, False
    state.count[pair] = 0
    if group != REGISTER:
        merged = find_pair(state, key_of(a, b, REGISTER))
        if merged >= 0:
            state.count[pair] = state.count[merged]
        state.sibling[pair] = state.first[group]
        state.first[group] = pair
    return pair


@kernel(types.void(STATE))
def fill_slots(state):
    """Enter all pairs into empty `slots`."""
    slots = state.slots
    for pair in range(state.number[PAIRS]):
        slot = slot_of(state.keys[pair], slots.size)
        while slots[slot]:
            slot = (slot + np.uint64(1)) & np.uint64(slots.size - 1)
        slots[slot] = pair + 1


@kernel(types.void(STATE, int64, int64))
def add_place(state, pair, at):
    number = state.number
    if number[FREE_PLACE] >= 0:
        place = number[FREE_PLACE]
        number[FREE_PLACE] = state.further[place]
    else:
        place = number[PLACES]
        number[PLACES] += 1
    state.place[place], state.further[place] = at, state.head[pair]
    state.head[pair] = place


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
    for word in range(last - 1, -1, -1):
        if state.number[PAIRS] + starts[word + 1] - starts[word] >= state.keys.size:
            state.number[NEEDED] = starts[word + 1] - starts[word]
            return word + 1
        group = np.int64(state.group[word])
        for at in range(starts[word + 1] - 2, starts[word] - 1, -1):
            a, b = np.int64(state.symbol[at]), np.int64(state.symbol[at + 1])
            if a >= state.number[SINGLE] and b >= state.number[SINGLE]:
                pair = add_pair(state, a, b, group)
                state.count[pair] += state.counts[word, 0]
                add_place(state, pair, at)
    return 0


@kernel(types.void(STATE))
def set_floors(state):
    """A floor above all pairs of a group: the first search of its heap lowers it."""
    for group in range(state.floor.size):
        pair = np.int64(state.first[group])
        while pair >= 0:
            state.floor[group] = max(state.floor[group], state.count[pair] + 1)
            pair = np.int64(state.sibling[pair])


@kernel(int64(STATE, int64, int64))
def compare_texts(state, a, b):
    """Below, at or above 0 as token a sorts before, as or after token b."""
    number, store, bounds = state.number, state.store, state.bounds
    a += number[RESERVED] * (a >= number[BASE])
    b += number[RESERVED] * (b >= number[BASE])
    for at in range(min(bounds[a + 1] - bounds[a], bounds[b + 1] - bounds[b])):
        difference = np.int64(store[bounds[a] + at]) - np.int64(store[bounds[b] + at])
        if difference:
            return difference
    return (bounds[a + 1] - bounds[a]) - (bounds[b + 1] - bounds[b])


@kernel(boolean(STATE, int64, int64))
def comes_first(state, one, other):
    """Whether node `one` leaves the heap before `other`: by weight, then by its pair.

    First is the pair of the lower symbols, as in `BpeTrainer` of `tokenizers`; by text, that of the tokens that
    sort last, as in its `ParityBpeTrainer`.
    """
    if state.weight[one] != state.weight[other]:
        return state.weight[one] > state.weight[other]
    key, against = state.keys[state.node[one]], state.keys[state.node[other]]
    if not state.number[BY_TEXT]:
        return key < against
    difference = compare_texts(state, np.int64(key >> _A), np.int64(against >> _A))
    if not difference:
        difference = compare_texts(state, np.int64(key >> _B) & _BITS, np.int64(against >> _B) & _BITS)
    return difference > 0


@kernel(int64(STATE, int64, int64))
def meld(state, one, other):
    """The root of two skew heaps as one."""
    if one < 0 or other < 0:
        return max(one, other)
    if comes_first(state, other, one):
        one, other = other, one
    root = one
    while True:
        below = np.int64(state.right[one])
        state.right[one] = state.left[one]
        if below < 0:
            state.left[one] = other
            return root
        if comes_first(state, other, below):
            below, other = other, below
        state.left[one] = below
        one = below


@kernel(types.void(STATE, int64, int64))
def push(state, group, pair):
    number = state.number
    if number[FREE_NODE] >= 0:
        node = number[FREE_NODE]
        number[FREE_NODE] = state.left[node]
    else:
        node = number[NODES]
        number[NODES] += 1
    state.weight[node], state.node[node] = state.count[pair], pair
    state.left[node] = state.right[node] = NONE
    state.root[group] = meld(state, np.int64(state.root[group]), node)


@kernel(int64(STATE, int64))
def heaviest(state, group):
    """The heaviest pair of a group, taken from its heap; NONE where none occurs in the training text."""
    while True:
        top = np.int64(state.root[group])
        if top < 0:
            if state.floor[group] <= 1:
                return np.int64(NONE)
            ceiling = state.floor[group]
            state.floor[group] = max(np.int64(1), ceiling // LOWER)
            pair = np.int64(state.first[group])
            while pair >= 0:
                if state.floor[group] <= state.count[pair] < ceiling:
                    push(state, group, pair)
                pair = np.int64(state.sibling[pair])
            continue
        pair = np.int64(state.node[top])
        state.root[group] = meld(state, np.int64(state.left[top]), np.int64(state.right[top]))
        counted = state.weight[top]
        state.left[top] = state.number[FREE_NODE]
        state.number[FREE_NODE] = top
        if state.count[pair] == counted:
            return pair
        if state.count[pair] >= state.floor[group]:
            push(state, group, pair)


@kernel(int64(STATE))
def longest_group(state):
    """The group of the highest length / divisor among those with pairs, of equal ones the first; NONE for none."""
    best = np.int64(NONE)
    for group in range(state.length.size):
        if not state.spent[group] and state.divisor[group] and (
            best < 0 or state.length[group] * state.divisor[best] > state.length[best] * state.divisor[group]
        ):  # fmt: skip
            best = np.int64(group)
    return best


@kernel(types.void(STATE, int64, int64, int64, int64, int32[::1], int64))
def change_pair(state, a, b, group, change, touched, at):
    """Add `change` to the count of a pair of neighbours, and, where it is new (`at` not NONE), its place."""
    if a < state.number[SINGLE] or b < state.number[SINGLE]:
        return
    pair = add_pair(state, a, b, group)
    if at != NONE:
        add_place(state, pair, at)
        if not state.raised[pair]:
            state.raised[pair] = True
            touched[0] += 1
            touched[touched[0]] = pair
    if state.count[pair] >= 0:
        state.count[pair] += change


@kernel(types.void(STATE, int64, int64))
def merge_in_group(state, pair, row):
    """Merge a pair wherever it stands in the words of its group, from left to right; row `row` of `applied`."""
    key, new = state.keys[pair], np.int64(state.applied[row, 2])
    a, b, group = np.int64(key >> _A), np.int64(key >> _B) & _BITS, np.int64(key & np.uint64(255))
    size, at = 0, np.int64(state.head[pair])
    while at >= 0:
        size, at = size + 1, np.int64(state.further[at])
    places, size, at = np.empty(size, np.int32), 0, np.int64(state.head[pair])
    while at >= 0:
        places[size] = state.place[at]
        size, last, at = size + 1, at, np.int64(state.further[at])
        if at < 0:
            state.further[last] = state.number[FREE_PLACE]
            state.number[FREE_PLACE] = state.head[pair]
    state.head[pair] = NONE
    if a == b:
        places.sort()
    touched = np.empty(2 * size + 1, np.int32)
    touched[0] = 0
    for at in places:
        right = np.int64(state.after[at])
        if state.symbol[at] != a or right < 0 or state.symbol[right] != b:
            continue
        weight, further = state.counts[state.word[at], 0], np.int64(state.after[right])
        left = np.int64(state.before[at])
        if left >= 0:
            change_pair(state, np.int64(state.symbol[left]), a, group, -weight, touched, NONE)
            change_pair(state, np.int64(state.symbol[left]), new, group, weight, touched, left)
        state.symbol[at], state.symbol[right], state.after[at] = new, NONE, further
        if further >= 0:
            state.before[further] = at
            change_pair(state, b, np.int64(state.symbol[further]), group, -weight, touched, NONE)
            change_pair(state, new, np.int64(state.symbol[further]), group, weight, touched, np.int64(at))
        state.uses[row, 0] += weight
        state.uses[row, 1] += state.counts[state.word[at], 1]
        state.length[group] -= state.counts[state.word[at], 1]
    for place in range(1, touched[0] + 1):
        changed = np.int64(touched[place])
        state.raised[changed] = False
        if state.count[changed] >= state.floor[group]:
            push(state, group, changed)
        elif state.count[changed] < NEVER:
            state.waiting[state.number[WAITING]] = -2 - state.count[changed]
            state.number[WAITING] += 1


@kernel(int64(STATE, int64, int64))
def places_of(state, a, b):
    """The places in the lists of a pair, of all groups."""
    count = 0
    for group in range(state.floor.size):
        pair = find_pair(state, key_of(a, b, group))
        at = np.int64(state.head[pair]) if pair >= 0 else np.int64(NONE)
        while at >= 0:
            count, at = count + 1, np.int64(state.further[at])
    return count


@kernel(boolean(STATE, int64, int64, int64))
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


@kernel(int64(STATE, int64, int64))
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
            a, b = np.int64(key >> _A), np.int64(key >> _B) & _BITS
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
        state.count[add_pair(state, a, b, np.int64(REGISTER))] = count
        for group in range(groups):
            pair = find_pair(state, key_of(a, b, group))
            if pair >= 0:
                state.count[pair] = count
        if new < 0:
            continue
        state.applied[row, 0], state.applied[row, 1] = a, b
        state.applied[row, 2], state.applied[row, 3] = new, least >= 0
        state.uses[row] = 0
        number[APPLIED] += 1
        for group in range(groups):
            pair = find_pair(state, key_of(a, b, group))
            if pair >= 0 and state.head[pair] >= 0:
                merge_in_group(state, pair, row)
    return PAUSED
