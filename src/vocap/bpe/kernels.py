"""Kernels of training: heaps that order the pairs, one merge after another.

The pairs of a new token are counted by its neighbours, whose numbers are small: so most
are never looked up (`vocap.bpe.places` has the reasons).
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, int64, types
from numpy.typing import NDArray

from vocap.bpe.places import (
    APPLIED,
    BASE,
    BITS,
    BY_TEXT,
    CHOICES,
    CHOSEN,
    FIRST,
    FREE_NODE,
    GIVEN,
    HEAPS,
    NEEDED,
    NEVER,
    NODES,
    NONE,
    PAIR,
    PAIRS,
    POOL,
    REGISTER,
    RESERVED,
    ROWS,
    SECOND,
    SINGLE,
    STATE,
    SYMBOL,
    SYMBOLS,
    TOKENS,
    WAITING,
    WORD,
    add_pair,
    find_pair,
    key_of,
)
from vocap.unigram.kernels import INT32S, INT64S, kernel
from vocap.unigram.word_types import find_word

ENDED, PAUSED, FULL = 0, 1, 2  # results of `advance`
SHARES = 2  # of the recent choices, that a group may have
LOWER = 4  # the factor between two floors of a heap


@kernel(types.void(STATE))
def set_floors(state):
    """A floor above all pairs of a group: the first search of its heap lowers it."""
    floor, pairs = state.heaps.floor, state.pairs
    for group in range(floor.size):
        pair = np.int64(pairs.first[group])
        while pair >= 0:
            floor[group] = max(floor[group], pairs.total[pair] + 1)
            pair = np.int64(pairs.sibling[pair])


_TEXTS = "int64[::1], int32[::1], int64[::1]"  # number, store, bounds
_ORDER = f"int64[::1], int32[::1], uint64[::1], {_TEXTS}"  # weight, node, keys


@kernel(f"int64(int64, int64, {_TEXTS})", inner=True)
def compare_tokens(a, b, number, store, bounds):
    """Below, at or above 0 as token a sorts before, as or after token b."""
    a += number[RESERVED] * (a >= number[BASE])
    b += number[RESERVED] * (b >= number[BASE])
    for at in range(min(bounds[a + 1] - bounds[a], bounds[b + 1] - bounds[b])):
        difference = np.int64(store[bounds[a] + at]) - np.int64(store[bounds[b] + at])
        if difference:
            return difference
    return (bounds[a + 1] - bounds[a]) - (bounds[b + 1] - bounds[b])


@kernel(f"boolean(int64, int64, {_ORDER})", inner=True)
def comes_first(one, other, weight, node, keys, number, store, bounds):
    """Whether node `one` leaves the heap before `other`: by weight, then by its pair.

    First is the pair of the lower symbols, as in `BpeTrainer` of `tokenizers`; by text,
    that of the tokens that sort last, as in its `ParityBpeTrainer`.
    """
    if weight[one] != weight[other]:
        return weight[one] > weight[other]
    key, against = keys[node[one]], keys[node[other]]
    if not number[BY_TEXT]:
        return key < against
    difference = compare_tokens(
        np.int64(key >> FIRST), np.int64(against >> FIRST), number, store, bounds
    )
    if not difference:
        second, other_second = np.int64(key >> SECOND) & BITS, np.int64(against >> SECOND) & BITS
        difference = compare_tokens(second, other_second, number, store, bounds)
    return difference > 0


@kernel(f"int64(int64, int64, int32[::1], int32[::1], {_ORDER})", inner=True)
def meld(one, other, left, right, weight, node, keys, number, store, bounds):
    """The root of two skew heaps as one."""
    if one < 0 or other < 0:
        return max(one, other)
    if comes_first(other, one, weight, node, keys, number, store, bounds):
        one, other = other, one
    root = one
    while True:
        below = np.int64(right[one])
        right[one] = left[one]
        if below < 0:
            left[one] = other
            return root
        if comes_first(other, below, weight, node, keys, number, store, bounds):
            below, other = other, below
        left[one] = below
        one = below


@kernel(types.void(STATE, int64, int64), inner=True)
def push(state, group, pair):
    heaps, number, texts = state.heaps, state.number, state.texts
    root, _, _, _, _, _, weight, nodes, left, right = heaps
    if number[FREE_NODE] >= 0:
        node = number[FREE_NODE]
        number[FREE_NODE] = left[node]
    else:
        node = number[NODES]
        number[NODES] += 1
    weight[node], nodes[node] = state.pairs.total[pair], pair
    left[node] = right[node] = NONE
    root[group] = meld(
        np.int64(root[group]), node, left, right,
        weight, nodes, state.pairs.keys, number, texts.points, texts.bounds,
    )  # fmt: skip


@kernel(int64(STATE, int64), inner=True)
def heaviest(state, group):
    """The heaviest pair of a group, taken from its heap; NONE where none occurs in the
    training text.
    """
    heaps, pairs, texts, number = state.heaps, state.pairs, state.texts, state.number
    root, floors, _, _, _, _, weight, node, left, right = heaps
    count = pairs.total
    while True:
        top = np.int64(root[group])
        if top < 0:
            if floors[group] <= 1:
                return np.int64(NONE)
            ceiling = floors[group]
            floor = floors[group] = max(np.int64(1), ceiling // LOWER)
            sibling, pair = pairs.sibling, np.int64(pairs.first[group])
            while pair >= 0:
                if floor <= count[pair] < ceiling:
                    push(state, group, pair)
                pair = np.int64(sibling[pair])
            continue
        pair, counted = np.int64(node[top]), weight[top]
        root[group] = meld(
            np.int64(left[top]), np.int64(right[top]), left, right,
            weight, node, pairs.keys, number, texts.points, texts.bounds,
        )  # fmt: skip
        left[top] = number[FREE_NODE]
        number[FREE_NODE] = top
        if count[pair] == counted:
            return pair
        if count[pair] >= floors[group]:
            push(state, group, pair)


@kernel(boolean(HEAPS, int64, int64), inner=True)
def is_longer(heaps, one, other):
    """Whether group `one` has the higher length / divisor; every group is longer than
    NONE.
    """
    return (
        other < 0
        or heaps.length[one] * heaps.divisor[other] > heaps.length[other] * heaps.divisor[one]
    )


@kernel(int64(HEAPS), inner=True)
def longest_group(heaps):
    """The group of the highest length / divisor among those with pairs, of equal ones
    the first; NONE for none.

    Groups that have had more than SHARES times their share of the `recent` choices are
    left out while others are left.
    """
    best = free = np.int64(NONE)
    for group in range(heaps.length.size):
        if heaps.spent[group] or not heaps.divisor[group]:
            continue
        times = 0
        for chosen in heaps.recent:
            times += chosen == group
        if is_longer(heaps, group, best):
            best = np.int64(group)
        if times * heaps.length.size <= SHARES * heaps.recent.size and is_longer(
            heaps, group, free
        ):
            free = np.int64(group)
    return free if free >= 0 else best


@kernel(INT32S(int64, INT32S, INT32S), inner=True)
def list_places(pair, head, pool):
    """All places in the lists of a pair, those that have changed too; the lists are
    empty afterwards.
    """
    size, at = 0, np.int64(head[pair])
    while at >= 0:
        size, at = size + pool[at + 1], np.int64(pool[at])
    places, size, at = np.empty(size, np.int32), 0, np.int64(head[pair])
    while at >= 0:
        for place in pool[at + 2 : at + 2 + pool[at + 1]]:
            places[size] = place
            size += 1
        at = np.int64(pool[at])
    head[pair] = NONE
    return places


@kernel(int64(ROWS, int64), inner=True)
def place_before(rows, at):
    """The place of the symbol before; NONE at the beginning of a word."""
    before = np.int64(rows[at - 1, SYMBOL])
    if before >= 0:
        return at - 1
    return at + before if before < NONE else np.int64(NONE)


@kernel(types.void(ROWS, INT64S, int64, int64), inner=True)
def take_out(rows, total, at, weight):
    """The pair at a place is there no longer."""
    pair = np.int64(rows[at, PAIR])
    if pair >= 0:
        if total[pair] >= 0:
            total[pair] -= weight
        rows[at, PAIR] = NONE


@kernel(INT32S(STATE, int64, int64), inner=True)
def merge_in_group(state, pair, row):
    """Merge a pair wherever it stands in the words of its group, from left to right;
    row `row` of `applied`. Returns the places of the new symbols.
    """
    rows, size, counts, _ = state.symbols
    total, key = state.pairs.total, state.pairs.keys[pair]
    a, b = np.int64(key >> FIRST), np.int64(key >> SECOND) & BITS
    new, first = state.applied[row, 2], np.int64(size[a])
    whole, others, found = first + size[b], np.int64(0), 0
    # Its places, from left to right where they may overlap. Their words are read in
    # loops of their own, in which a processor fetches several at once.
    places = list_places(pair, state.pairs.head, state.pairs.pool)
    for place in places:
        if rows[place, PAIR] == pair:
            places[found] = place
            found += 1
    places, found = places[:found], 0
    if a == b:
        places.sort()
    weights = np.empty(places.size, np.int64)
    for number in range(places.size):
        weights[number] = counts[rows[places[number], WORD], 0]
    for number in range(places.size):
        at, weight = np.int64(places[number]), weights[number]
        if rows[at, PAIR] != pair:
            continue
        left = place_before(rows, at)
        if left >= 0:
            take_out(rows, total, left, weight)
        take_out(rows, total, at + first, weight)
        rows[at, SYMBOL], rows[at, PAIR] = new, NONE
        rows[at + first, SYMBOL] = rows[at + whole - 1, SYMBOL] = -whole
        others += counts[rows[at, WORD], 1]
        places[found] = at
        found += 1
    state.heaps.length[np.int64(key & np.uint64(255))] -= others
    return places[:found]


class Beside(NamedTuple):
    """The pairs of a new token with its neighbours, in the order of their first place:
    `code` is twice the other symbol, and one more where that comes second; the `weight`
    and the number of `places` that are not listed yet; and, later, the `pair`, and where
    in the pool the next place goes (`cursor`).
    """

    code: NDArray[np.int64]
    weight: NDArray[np.int64]
    places: NDArray[np.int64]
    pair: NDArray[np.int64]
    cursor: NDArray[np.int64]


_BESIDE = types.NamedUniTuple(INT64S, 5, Beside)


@kernel(int64(SYMBOLS, INT32S, int64, INT32S, int64, _BESIDE), inner=True)
def count_neighbours(symbols, seen, single, places, token, beside):
    """Count the pairs of a token at `places` that are new there; returns how many.

    A place keeps -2 less the number of its pair in `beside`.
    """
    rows, size, counts, _ = symbols
    code, weight, number, _, _ = beside
    found = 0
    for stand in places:
        for at in (place_before(rows, np.int64(stand)), np.int64(stand)):
            if at < 0 or rows[at, PAIR] != NONE:
                continue
            one = np.int64(rows[at, SYMBOL])
            two = np.int64(rows[at + size[one], SYMBOL])
            if one < single or two < single:
                continue
            own = 2 * two + 1 if one == token else 2 * one
            if seen[own] < 0:
                seen[own] = found
                code[found], weight[found], number[found] = own, 0, 0
                found += 1
            slot = np.int64(seen[own])
            weight[slot] += counts[rows[at, WORD], 0]
            number[slot] += 1
            rows[at, PAIR] = -2 - slot
    return found


@kernel(types.void(STATE, int64, boolean, INT32S, int64), inner=True)
def join_neighbours(state, token, is_new, places, group):
    """Hold the pairs of a token that stands at `places`, and put them into the heap of
    their group; those merged before wait to be merged again.

    A token that `is_new` has no pairs yet.
    """
    pairs, number, rows = state.pairs, state.number, state.symbols.rows
    keys, total, head, _, slots, pool, _, seen = pairs
    most = min(2 * places.size, 2 * number[TOKENS])
    beside = Beside(
        np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64),
        np.empty(most, np.int64), np.empty(most, np.int64),
    )  # fmt: skip
    code, weight, listed, found, cursor = beside
    count = count_neighbours(state.symbols, seen, number[SINGLE], places, token, beside)
    for slot in range(count):
        a, b = code[slot] >> 1, token
        if code[slot] & 1:
            a, b = token, a
        pair = np.int64(NONE) if is_new else find_pair(key_of(a, b, group), keys, slots)
        if pair < 0:
            pair = add_pair(a, b, group, is_new, pairs, number)
        if total[pair] >= 0:
            total[pair] += weight[slot]
        begin = number[POOL]
        pool[begin], pool[begin + 1], head[pair] = head[pair], listed[slot], begin
        cursor[slot] = begin + 2
        number[POOL] += 2 + listed[slot]
        seen[code[slot]], found[slot] = NONE, pair
    for stand in places:
        for at in (place_before(rows, np.int64(stand)), np.int64(stand)):
            if at >= 0 and rows[at, PAIR] < NONE:
                own = -2 - np.int64(rows[at, PAIR])
                rows[at, PAIR] = found[own]
                pool[cursor[own]] = at
                cursor[own] += 1
    floor = state.heaps.floor[group]
    for pair in found[:count]:
        if total[pair] >= floor:
            push(state, group, pair)
        elif total[pair] < NEVER:
            state.waiting[number[WAITING]] = -2 - total[pair]
            number[WAITING] += 1


@kernel(int64(STATE, int64, int64), inner=True)
def places_of(state, a, b):
    """The places in the lists of a pair, of all groups."""
    count, pool = np.int64(0), state.pairs.pool
    for group in range(state.heaps.floor.size):
        pair = find_pair(key_of(a, b, group), state.pairs.keys, state.pairs.slots)
        at = np.int64(state.pairs.head[pair]) if pair >= 0 else np.int64(NONE)
        while at >= 0:
            count, at = count + np.int64(pool[at + 1]), np.int64(pool[at])
    return count


@kernel(int64(int64, INT64S, int64), inner=True)
def new_pairs(needed, number, groups):
    """The pairs that a merge in so many places adds at most, its own entry included."""
    return min(2 * needed, 2 * groups * (number[TOKENS] + 1)) + groups + 2


@kernel(boolean(STATE, int64, int64, int64), inner=True)
def has_space(state, needed, a, b):
    """Whether the arrays hold the merge of a pair whose token then stands in at most so
    many places.
    """
    number, bounds, pairs = state.number, state.texts.bounds, state.pairs
    texts, groups = number[RESERVED] + number[TOKENS], state.heaps.floor.size
    most = new_pairs(needed, number, groups)
    a += number[RESERVED] * (a >= number[BASE])
    b += number[RESERVED] * (b >= number[BASE])
    text = bounds[a + 1] - bounds[a] + bounds[b + 1] - bounds[b]
    return (
        number[PAIRS] + most < pairs.keys.size
        and number[POOL] + 2 * (needed + most) < pairs.pool.size
        and number[NODES] + number[PAIRS] + most < state.heaps.node.size
        and number[WAITING] + most < state.waiting.size
        and number[APPLIED] < state.applied.shape[0]
        and texts + 2 < bounds.size
        and texts < state.texts.hashes.size
        and bounds[texts] + text < state.texts.points.size
    )


@kernel(int64(STATE, int64, int64), inner=True)
def token_of(state, a, b):
    """The token of a merge, a new one where none has its text; NONE where no token may
    have it.
    """
    number, store, bounds = state.number, state.texts.points, state.texts.bounds
    a += number[RESERVED] * (a >= number[BASE])
    b += number[RESERVED] * (b >= number[BASE])
    text = np.concatenate((store[bounds[a] : bounds[a + 1]], store[bounds[b] : bounds[b + 1]]))
    known = number[RESERVED] + number[TOKENS]
    found = find_word(text, 0, text.size, known, state.texts)
    if found < number[BASE] + number[RESERVED]:
        return np.int64(NONE)
    if found == known:
        number[TOKENS] += 1
        state.symbols.size[found - number[RESERVED]] = text.size
    return found - number[RESERVED]


@kernel(boolean(STATE, int64, int64, int64), inner=True)
def register(state, a, b, row):
    """Write the merge of a pair into `row` of `applied`; False where no token may have
    its text.
    """
    number, new = state.number, token_of(state, a, b)
    count = np.int64(NEVER) if new < 0 else -2 - row
    pairs = state.pairs
    pairs.total[add_pair(a, b, np.int64(REGISTER), False, pairs, number)] = count
    for group in range(state.heaps.floor.size):
        pair = find_pair(key_of(a, b, group), pairs.keys, pairs.slots)
        if pair >= 0:
            pairs.total[pair] = count
    if new < 0:
        return False
    state.applied[row, 0], state.applied[row, 1], state.applied[row, 2] = a, b, new
    number[APPLIED] += 1
    return True


@kernel(int64(STATE, ROWS, int64, int64))
def advance(state, given, wanted, merges):
    """Apply up to `merges` merges: those that wait, the `given` ones, then chosen ones
    up to `wanted` tokens.

    Returns ENDED, PAUSED, or FULL where the arrays must grow before the next merge.
    """
    number, heaps, pairs = state.number, state.heaps, state.pairs
    for _ in range(merges):
        # The next pair
        least, group = NONE, NONE
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
                group = longest_group(heaps)
                if group < 0:
                    return ENDED
                number[CHOSEN] = heaviest(state, group)
                if number[CHOSEN] < 0:
                    heaps.spent[group] = True
                    continue
                if heaps.recent.size:
                    heaps.recent[number[CHOICES] % heaps.recent.size] = group
                    number[CHOICES] += 1
            key = pairs.keys[number[CHOSEN]]
            a, b = np.int64(key >> FIRST), np.int64(key >> SECOND) & BITS
        number[NEEDED] = places_of(state, a, b)
        if not has_space(state, number[NEEDED], a, b):
            return FULL
        # It is taken out of where it waited
        row, tokens = number[APPLIED], number[TOKENS]
        if least >= 0:
            row = state.waiting[least]
            number[WAITING] -= 1
            state.waiting[least] = state.waiting[number[WAITING]]
        else:
            if number[GIVEN] < given.shape[0]:
                number[GIVEN] += 1
            else:
                number[CHOSEN] = NONE
            if not register(state, a, b, row):
                continue
        # It is merged in every group
        token, is_new = np.int64(state.applied[row, 2]), number[TOKENS] > tokens
        for group in range(heaps.floor.size):
            pair = find_pair(key_of(a, b, group), pairs.keys, pairs.slots)
            if pair >= 0 and pairs.head[pair] >= 0:
                places = merge_in_group(state, pair, row)
                join_neighbours(state, token, is_new, places, group)
    return PAUSED
