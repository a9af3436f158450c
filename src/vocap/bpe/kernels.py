"""Kernels of training: pairs of neighbours with their places, heaps that order them,
one merge after another.

The arrays of a training in progress are one value that kernels take (`State`).
Functions that run for every neighbour take the part of it that they need and unpack it
once, or take arrays: in kernels that allocate, each field that is read costs two
operations on the counter of its references.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, from_dtype, int32, int64, types, uint64
from numpy.typing import NDArray

from vocap.unigram.kernels import BOOLEANS, INT32S, INT64S, kernel
from vocap.unigram.word_table import STORE, WordStore, find_word

NONE = -1
# the count of a pair that is not to be merged; a merged one has -2 less the number of
# its merge
NEVER = -1
ENDED, PAUSED, FULL = 0, 1, 2  # results of `advance`
SHARES = 2  # of the recent choices, that a group may have
LOWER = 4  # the factor between two floors of a heap
# Entries of `number`: tokens of all kinds, symbols, texts that no merge may give, pairs,
# places, nodes and the first unused of the latter two, merges applied, the next of the
# given ones, pairs that wait to be merged again, the pair chosen last, the tie rule, the
# places that the next merge needs, and the choices of a group.
TOKENS, BASE, RESERVED, PAIRS, PLACES, FREE_PLACE, NODES, FREE_NODE = range(8)
APPLIED, GIVEN, WAITING, CHOSEN, BY_TEXT, NEEDED, CHOICES, LAST = range(8, 16)
MAX_SYMBOLS, MAX_GROUPS = 1 << 28, 255  # that a key holds; the last group is for merges of any


class Symbols(NamedTuple):
    """S symbols of W words: `symbol` int32 [S] (NONE where it went into the one before)
    and its `word`; of a word its `counts` int64 [W, 2] and its `group` int32 [W].

    A token stands at the place of its first symbol, so neighbours are found by passing
    over NONE: links would take as much memory again, and lie apart from the symbols.
    """

    symbol: NDArray[np.int32]
    word: NDArray[np.int32]
    counts: NDArray[np.int64]
    group: NDArray[np.int32]


class Pairs(NamedTuple):
    """Pairs of neighbours.

    Pair p is `rows[p]` (`PAIR`). `slots` finds pairs by their keys. `places` int32 [N, 2]:
    a place, and the next row of its list. `first` [groups + 1]: a pair of each group.
    """

    rows: NDArray[np.void]
    slots: NDArray[np.int32]
    places: NDArray[np.int32]
    first: NDArray[np.int32]


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


_SYMBOLS = types.NamedTuple([INT32S, INT32S, int64[:, ::1], INT32S], Symbols)
# A pair, half a line of the cache: what one merge of it reads and writes stands
# together. `total`: its weight, or NEVER to be merged, or -2 less the number of its
# merge. `head` begins the list of its `size` places; one that another merge has changed
# is passed over. `sibling`: the next pair of its group. `raised`: whether it is among
# those whose counts a merge has changed.
PAIR = np.dtype(
    [
        ("key", np.uint64),
        ("total", np.int64),
        ("head", np.int32),
        ("size", np.int32),
        ("sibling", np.int32),
        ("raised", np.int32),
    ]
)
ROWS = from_dtype(PAIR)[::1]
_PAIRS = types.NamedTuple([ROWS, INT32S, int32[:, ::1], INT32S], Pairs)
_HEAPS = types.NamedTuple([INT32S, *[INT64S] * 3, BOOLEANS, INT32S, INT64S, *[INT32S] * 3], Heaps)
STATE = types.NamedTuple([_SYMBOLS, _PAIRS, _HEAPS, STORE, int32[:, ::1], INT64S, INT64S], State)


# of a key: both symbols' places, their mask
FIRST, SECOND, BITS = np.uint64(36), np.uint64(8), (1 << 28) - 1
REGISTER = 255  # the group of keys that say which pairs were merged, in whichever group


@kernel(uint64(int64, int64, int64), inner=True)
def key_of(a, b, group):
    """Sorts by both symbols in one group."""
    return np.uint64(a) << FIRST | np.uint64(b) << SECOND | np.uint64(group)


@kernel(uint64(uint64, ROWS, INT32S), inner=True, allocates=False)
def pair_slot(key, rows, slots):
    """The slot of a key, or the empty one that it would take."""
    code = (key ^ (key >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    code = (code ^ (code >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    slot = (code ^ (code >> np.uint64(32))) & np.uint64(slots.size - 1)
    while slots[slot] and rows[slots[slot] - 1].key != key:
        slot = (slot + np.uint64(1)) & np.uint64(slots.size - 1)
    return slot


@kernel(int64(uint64, ROWS, INT32S), inner=True, allocates=False)
def find_pair(key, rows, slots):
    """The number of a pair, NONE where there is none."""
    return np.int64(slots[pair_slot(key, rows, slots)]) - 1


@kernel(int64(int64, int64, int64, _PAIRS, INT64S), inner=True, allocates=False)
def add_pair(a, b, group, pairs, number):
    """The number of a pair, a new one where there was none; the arrays have space for
    it.
    """
    rows, slots, _, first = pairs
    key = key_of(a, b, group)
    slot = pair_slot(key, rows, slots)
    if slots[slot]:
        return np.int64(slots[slot]) - 1
    pair = number[PAIRS]
    number[PAIRS] += 1
    slots[slot] = pair + 1
    row = rows[pair]
    row.key, row.head, row.size, row.raised, row.total = key, NONE, 0, 0, 0
    if group != REGISTER:
        merged = find_pair(key_of(a, b, REGISTER), rows, slots)
        if merged >= 0:
            row.total = rows[merged].total
        row.sibling = first[group]
        first[group] = pair
    return pair


@kernel(types.void(int64, int64, _PAIRS, INT64S), inner=True, allocates=False)
def add_place(pair, at, pairs, number):
    places, row = pairs.places, pairs.rows[pair]
    if number[FREE_PLACE] >= 0:
        new = number[FREE_PLACE]
        number[FREE_PLACE] = places[new, 1]
    else:
        new = number[PLACES]
        number[PLACES] += 1
    places[new, 0], places[new, 1] = at, row.head
    row.head = new
    row.size += 1


@kernel(types.void(STATE))
def fill_pair_slots(state):
    """Enter all pairs into empty `slots`."""
    rows, slots = state.pairs.rows, state.pairs.slots
    for pair in range(state.number[PAIRS]):
        slots[pair_slot(rows[pair].key, rows, slots)] = pair + 1


@kernel(types.void(STATE, INT64S, int64))
def number_words(state, starts, base):
    """Number the word of each symbol, count the tokens of each group, and number the
    texts of symbols.
    """
    symbols, text = state.symbols, np.empty(1, np.int32)
    for symbol in range(base):
        text[0] = symbol
        find_word(text, 0, 1, symbol, state.texts)
    state.number[BASE] = state.number[TOKENS] = base
    for word in range(starts.size - 1):
        begin, end = starts[word], starts[word + 1]
        symbols.word[begin:end] = word
        state.heaps.length[symbols.group[word]] += symbols.counts[word, 1] * (end - begin)


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


@kernel(int64(STATE, INT64S, int64))
def add_pairs(state, starts, last):
    """Add the pairs of the words from the one before `last` down to 0; where it
    stopped, as the arrays were full.

    From behind, so that a list begins with its first place. `places` gets each place and
    its pair, for `order_places`.
    """
    pairs, number = state.pairs, state.number
    places = pairs.places
    symbol, groups, counts = state.symbols.symbol, state.symbols.group, state.symbols.counts
    for word in range(last - 1, -1, -1):
        if number[PAIRS] + starts[word + 1] - starts[word] >= pairs.rows.size:
            number[NEEDED] = starts[word + 1] - starts[word]
            return word + 1
        for at in range(starts[word + 1] - 2, starts[word] - 1, -1):
            a, b = np.int64(symbol[at]), np.int64(symbol[at + 1])
            pair = add_pair(a, b, np.int64(groups[word]), pairs, number)
            pairs.rows[pair].total += counts[word, 0]
            pairs.rows[pair].size += 1
            places[number[PLACES], 0], places[number[PLACES], 1] = at, pair
            number[PLACES] += 1
    return 0


@kernel(types.void(STATE, int32[:, ::1]))
def order_places(state, places):
    """Put the places that `add_pairs` found into `places`, those of a pair together: a
    list is read several times as fast.
    """
    rows, found = state.pairs.rows, state.pairs.places
    end = 0
    for pair in range(state.number[PAIRS]):
        row = rows[pair]
        end += row.size
        row.head, row.size = end, 0
    for at in range(state.number[PLACES]):
        row = rows[found[at, 1]]
        following = row.head if row.size else NONE
        row.head -= 1
        row.size += 1
        places[row.head, 0], places[row.head, 1] = found[at, 0], following


@kernel(types.void(STATE))
def set_floors(state):
    """A floor above all pairs of a group: the first search of its heap lowers it."""
    floor, pairs = state.heaps.floor, state.pairs
    for group in range(floor.size):
        pair = np.int64(pairs.first[group])
        while pair >= 0:
            floor[group] = max(floor[group], pairs.rows[pair].total + 1)
            pair = np.int64(pairs.rows[pair].sibling)


_TEXTS = INT64S, INT32S, INT64S  # number, store, bounds
_ORDER = INT64S, INT32S, ROWS, *_TEXTS  # weight, node, rows


@kernel(int64(int64, int64, *_TEXTS), inner=True, allocates=False)
def compare_tokens(a, b, number, store, bounds):
    """Below, at or above 0 as token a sorts before, as or after token b."""
    a += number[RESERVED] * (a >= number[BASE])
    b += number[RESERVED] * (b >= number[BASE])
    for at in range(min(bounds[a + 1] - bounds[a], bounds[b + 1] - bounds[b])):
        difference = np.int64(store[bounds[a] + at]) - np.int64(store[bounds[b] + at])
        if difference:
            return difference
    return (bounds[a + 1] - bounds[a]) - (bounds[b + 1] - bounds[b])


@kernel(boolean(int64, int64, *_ORDER), inner=True, allocates=False)
def comes_first(one, other, weight, node, rows, number, store, bounds):
    """Whether node `one` leaves the heap before `other`: by weight, then by its pair.

    First is the pair of the lower symbols, as in `BpeTrainer` of `tokenizers`; by text,
    that of the tokens that sort last, as in its `ParityBpeTrainer`.
    """
    if weight[one] != weight[other]:
        return weight[one] > weight[other]
    key, against = rows[node[one]].key, rows[node[other]].key
    if not number[BY_TEXT]:
        return key < against
    difference = compare_tokens(
        np.int64(key >> FIRST), np.int64(against >> FIRST), number, store, bounds
    )
    if not difference:
        second, other_second = np.int64(key >> SECOND) & BITS, np.int64(against >> SECOND) & BITS
        difference = compare_tokens(second, other_second, number, store, bounds)
    return difference > 0


@kernel(int64(int64, int64, INT32S, INT32S, *_ORDER), inner=True, allocates=False)
def meld(one, other, left, right, weight, node, rows, number, store, bounds):
    """The root of two skew heaps as one."""
    if one < 0 or other < 0:
        return max(one, other)
    if comes_first(other, one, weight, node, rows, number, store, bounds):
        one, other = other, one
    root = one
    while True:
        below = np.int64(right[one])
        right[one] = left[one]
        if below < 0:
            left[one] = other
            return root
        if comes_first(other, below, weight, node, rows, number, store, bounds):
            below, other = other, below
        left[one] = below
        one = below


@kernel(types.void(STATE, int64, int64), inner=True, allocates=False)
def push(state, group, pair):
    heaps, number, texts = state.heaps, state.number, state.texts
    root, _, _, _, _, _, weight, nodes, left, right = heaps
    if number[FREE_NODE] >= 0:
        node = number[FREE_NODE]
        number[FREE_NODE] = left[node]
    else:
        node = number[NODES]
        number[NODES] += 1
    weight[node], nodes[node] = state.pairs.rows[pair].total, pair
    left[node] = right[node] = NONE
    root[group] = meld(
        np.int64(root[group]), node, left, right,
        weight, nodes, state.pairs.rows, number, texts.points, texts.bounds,
    )  # fmt: skip


@kernel(int64(STATE, int64), inner=True, allocates=False)
def heaviest(state, group):
    """The heaviest pair of a group, taken from its heap; NONE where none occurs in the
    training text.
    """
    heaps, pairs, texts, number = state.heaps, state.pairs, state.texts, state.number
    root, floors, _, _, _, _, weight, node, left, right = heaps
    rows = pairs.rows
    while True:
        top = np.int64(root[group])
        if top < 0:
            if floors[group] <= 1:
                return np.int64(NONE)
            ceiling = floors[group]
            floor = floors[group] = max(np.int64(1), ceiling // LOWER)
            pair = np.int64(pairs.first[group])
            while pair >= 0:
                if floor <= rows[pair].total < ceiling:
                    push(state, group, pair)
                pair = np.int64(rows[pair].sibling)
            continue
        pair, counted = np.int64(node[top]), weight[top]
        root[group] = meld(
            np.int64(left[top]), np.int64(right[top]), left, right,
            weight, node, pairs.rows, number, texts.points, texts.bounds,
        )  # fmt: skip
        left[top] = number[FREE_NODE]
        number[FREE_NODE] = top
        if rows[pair].total == counted:
            return pair
        if rows[pair].total >= floors[group]:
            push(state, group, pair)


@kernel(boolean(_HEAPS, int64, int64), inner=True)
def is_longer(heaps, one, other):
    """Whether group `one` has the higher length / divisor; every group is longer than
    NONE.
    """
    return (
        other < 0
        or heaps.length[one] * heaps.divisor[other] > heaps.length[other] * heaps.divisor[one]
    )


@kernel(int64(_HEAPS), inner=True)
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


@kernel(INT32S(int64, _PAIRS, INT64S), inner=True)
def take_places(pair, pairs, number):
    """The places of a pair; its list is empty afterwards."""
    row = pairs.rows[pair]
    found, at = np.empty(row.size, np.int32), np.int64(row.head)
    last = at
    for place in range(found.size):
        found[place], last, at = pairs.places[at, 0], at, np.int64(pairs.places[at, 1])
    if found.size:
        pairs.places[last, 1] = number[FREE_PLACE]
        number[FREE_PLACE] = row.head
    row.head, row.size = NONE, 0
    return found


class Replacement(NamedTuple):
    """The pair of symbols a and b that stands at place `at` becomes `new_a`, `new_b`."""

    a: np.int64
    b: np.int64
    new_a: np.int64
    new_b: np.int64
    at: np.int64


_REPLACEMENT = types.NamedUniTuple(int64, 5, Replacement)


@kernel(
    int64(_REPLACEMENT, int64, int64, INT32S, int64, _PAIRS, INT64S), inner=True, allocates=False
)
def replace_pair(change, group, weight, touched, touches, pairs, number):
    """One neighbour of a merged pair: the pair that it stood in becomes another.

    Returns how many pairs have been `touched`, each once.
    """
    rows, slots = pairs.rows, pairs.slots
    old = find_pair(key_of(change.a, change.b, group), rows, slots)
    if old >= 0 and rows[old].total >= 0:
        rows[old].total -= weight
    added = find_pair(key_of(change.new_a, change.new_b, group), rows, slots)
    if added < 0:
        added = add_pair(change.new_a, change.new_b, group, pairs, number)
    add_place(added, change.at, pairs, number)
    row = rows[added]
    if row.total >= 0:
        row.total += weight
    if not row.raised:
        row.raised = 1
        touched[touches] = added
        touches += 1
    return touches


@kernel(types.void(STATE, int64, INT32S), inner=True, allocates=False)
def push_touched(state, group, touched):
    """Put pairs whose counts have changed into the heap; those merged before wait to be
    merged again.
    """
    pairs, number, floor = state.pairs, state.number, state.heaps.floor[group]
    for changed in touched:
        pair = np.int64(changed)
        row = pairs.rows[pair]
        row.raised = 0
        if row.total >= floor:
            push(state, group, pair)
        elif row.total < NEVER:
            state.waiting[number[WAITING]] = -2 - row.total
            number[WAITING] += 1


@kernel(int64(int64, INT32S, INT32S), inner=True, allocates=False)
def place_behind(at, symbol, word):
    """The place of the token behind that at `at`; NONE where its word ends."""
    other = at + 1
    while other < symbol.size and symbol[other] == NONE:
        other += 1
    return other if other < symbol.size and word[other] == word[at] else np.int64(NONE)


@kernel(int64(int64, INT32S, INT32S), inner=True, allocates=False)
def place_before(at, symbol, word):
    """The place of the token before that at `at`; NONE where its word begins."""
    other = at - 1
    while other >= 0 and symbol[other] == NONE:
        other -= 1
    return other if other >= 0 and word[other] == word[at] else np.int64(NONE)


@kernel(types.void(STATE, int64, int64), inner=True)
def merge_in_group(state, pair, row):
    """Merge a pair wherever it stands in the words of its group, from left to right;
    row `row` of `applied`.
    """
    pairs, number = state.pairs, state.number
    symbol, word, counts, _ = state.symbols
    key, new = pairs.rows[pair].key, np.int64(state.applied[row, 2])
    a, b = np.int64(key >> FIRST), np.int64(key >> SECOND) & BITS
    group = np.int64(key & np.uint64(255))
    # Its places, from left to right where they may overlap
    places = take_places(pair, pairs, number)
    if a == b:
        places.sort()
    touched, touches, others = np.empty(2 * places.size + 1, np.int32), 0, 0
    # In loops of their own, a processor reads several of these at once
    kept = 0
    for place in places:
        places[kept] = place
        kept += symbol[place] == a
    weights = np.empty(kept, np.int64)
    for place in range(kept):
        weights[place] = counts[word[places[place]], 0]
    for place in range(kept):
        at = np.int64(places[place])
        if symbol[at] != a:
            continue
        right = place_behind(at, symbol, word)
        if right < 0 or symbol[right] != b:
            continue
        weight, behind = weights[place], place_behind(right, symbol, word)
        before = place_before(at, symbol, word)
        # The left symbol becomes the new one, the right one goes into it
        symbol[at], symbol[right] = new, NONE
        # The pairs with the symbol before, and with the one behind
        if before >= 0:
            one = np.int64(symbol[before])
            change = Replacement(one, a, one, new, before)
            touches = replace_pair(change, group, weight, touched, touches, pairs, number)
        if behind >= 0:
            one = np.int64(symbol[behind])
            change = Replacement(b, one, new, one, at)
            touches = replace_pair(change, group, weight, touched, touches, pairs, number)
        others += counts[word[at], 1]
    state.heaps.length[group] -= others
    push_touched(state, group, touched[:touches])


@kernel(int64(STATE, int64, int64), inner=True, allocates=False)
def places_of(state, a, b):
    """The places in the lists of a pair, of all groups."""
    count = np.int64(0)
    for group in range(state.heaps.floor.size):
        pair = find_pair(key_of(a, b, group), state.pairs.rows, state.pairs.slots)
        if pair >= 0:
            count += np.int64(state.pairs.rows[pair].size)
    return count


@kernel(boolean(STATE, int64, int64, int64), inner=True, allocates=False)
def has_space(state, needed, a, b):
    """Whether the arrays hold the merge of a pair that stands in so many places."""
    number, bounds, pairs = state.number, state.texts.bounds, state.pairs
    texts, groups = number[RESERVED] + number[TOKENS], state.heaps.floor.size
    a += number[RESERVED] * (a >= number[BASE])
    b += number[RESERVED] * (b >= number[BASE])
    text = bounds[a + 1] - bounds[a] + bounds[b + 1] - bounds[b]
    return (
        number[PAIRS] + 2 * needed + groups + 1 < pairs.rows.size
        and number[PLACES] + 2 * needed < pairs.places.shape[0]
        and number[NODES] + number[PAIRS] + 4 * needed < state.heaps.node.size
        and number[WAITING] + 2 * needed < state.waiting.size
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
    number[TOKENS] += found == known
    return found - number[RESERVED]


@kernel(boolean(STATE, int64, int64, int64), inner=True, allocates=False)
def register(state, a, b, row):
    """Write the merge of a pair into `row` of `applied`; False where no token may have
    its text.
    """
    number, new = state.number, token_of(state, a, b)
    count = np.int64(NEVER) if new < 0 else -2 - row
    pairs = state.pairs
    pairs.rows[add_pair(a, b, np.int64(REGISTER), pairs, number)].total = count
    for group in range(state.heaps.floor.size):
        pair = find_pair(key_of(a, b, group), pairs.rows, pairs.slots)
        if pair >= 0:
            pairs.rows[pair].total = count
    if new < 0:
        return False
    state.applied[row, 0], state.applied[row, 1], state.applied[row, 2] = a, b, new
    number[APPLIED] += 1
    return True


@kernel(int64(STATE, int32[:, ::1], int64, int64), allocates=False)
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
            key = pairs.rows[number[CHOSEN]].key
            a, b = np.int64(key >> FIRST), np.int64(key >> SECOND) & BITS
        number[NEEDED] = places_of(state, a, b)
        if not has_space(state, number[NEEDED], a, b):
            return FULL
        # It is taken out of where it waited
        row = number[APPLIED]
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
        for group in range(heaps.floor.size):
            pair = find_pair(key_of(a, b, group), pairs.rows, pairs.slots)
            if pair >= 0 and pairs.rows[pair].head >= 0:
                merge_in_group(state, pair, row)
    return PAUSED
