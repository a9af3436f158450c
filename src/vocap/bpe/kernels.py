"""Kernels of training: pairs of neighbours with their places, heaps that order them,
one merge after another.

The arrays of a training in progress are one value that kernels take (`State`).
Functions that run for every neighbour take the part of it that they need and unpack it
once, or take arrays: in kernels that allocate, each field that is read costs two
operations on the counter of its references. One file, since numba caches a kernel by its own
file: it would not notice that one of another file, which it calls, is another one now.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, int32, int64, types, uint64

from vocap.bpe.state import COUNTS, HEAPS, PAIRS, ROWS, STATE
from vocap.unigram.kernels import INT32S, INT64S, UINT32S, kernel
from vocap.unigram.word_table import find_word

NONE = -1
# the count of a pair that is not to be merged; a merged one has -2 less the number of
# its merge
NEVER = -1
ENDED, PAUSED, FULL, UNLISTED = range(4)  # results of `advance`
SHARES = 2  # of the recent choices, that a group may have
LOWER = 4  # the factor between two floors of a heap
MAX_SYMBOLS, MAX_GROUPS = 1 << 28, 255  # that a key holds; the last group is for merges of any
# Marks the first symbol of a word: NONE, which never is one, is below it
START = 1 << 30
TOKEN = START - 1  # the token of a symbol, marked or not; of NONE a number that none has
BLOCK = 32  # symbols, of which `Symbols.before` has an entry

# of a key: both symbols' places, their mask
FIRST, SECOND, BITS = np.uint64(36), np.uint64(8), (1 << 28) - 1
REGISTER = 255  # the group of keys that say which pairs were merged, in whichever group


@kernel(uint64(int64, int64, int64), inner=True)
def key_of(a, b, group):
    """Sorts by both symbols in one group."""
    return np.uint64(a) << FIRST | np.uint64(b) << SECOND | np.uint64(group)


@kernel(types.UniTuple(int64, 2)(uint64), inner=True, allocates=False)
def symbols_of(key):
    return np.int64(key >> FIRST), np.int64(key >> SECOND) & BITS


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


@kernel(int64(int64, int64, int64, PAIRS, COUNTS), inner=True, allocates=False)
def add_pair(a, b, group, pairs, count):
    """The number of a pair, a new one where there was none; the arrays have space for
    it.
    """
    rows, slots, first = pairs.rows, pairs.slots, pairs.first
    key = key_of(a, b, group)
    slot = pair_slot(key, rows, slots)
    if slots[slot]:
        return np.int64(slots[slot]) - 1
    pair = count.pairs
    count.pairs += 1
    slots[slot] = pair + 1
    row = rows[pair]
    row.key, row.head, row.size, row.raised, row.total = key, NONE, 0, 0, 0
    row.listed = 1  # it stands nowhere yet
    if group != REGISTER:
        merged = find_pair(key_of(a, b, REGISTER), rows, slots)
        if merged >= 0:
            row.total = rows[merged].total
        row.sibling = first[group]
        first[group] = pair
    return pair


@kernel(types.void(int64, int64, PAIRS, COUNTS), inner=True, allocates=False)
def add_place(pair, at, pairs, count):
    places, row = pairs.places, pairs.rows[pair]
    if count.free_place >= 0:
        new = count.free_place
        count.free_place = places[new, 1]
        count.unused -= 1
    else:
        new = count.places
        count.places += 1
    places[new, 0], places[new, 1] = at, row.head
    row.head = new
    row.size += 1


@kernel(types.void(STATE))
def fill_pair_slots(state):
    """Enter all pairs into `slots`."""
    rows, slots = state.pairs.rows, state.pairs.slots
    slots[:] = 0
    for pair in range(state.counters[0].pairs):
        slots[pair_slot(rows[pair].key, rows, slots)] = pair + 1


@kernel(types.void(INT32S, INT32S), inner=True, allocates=False)
def count_words_before(symbol, before):
    words = 0
    for at in range(symbol.size):
        if at % BLOCK == 0:
            before[at // BLOCK] = words
        words += symbol[at] >= START


@kernel(int64(int64, INT32S, INT32S), inner=True, allocates=False)
def word_at(at, symbol, before):
    """The number of the word that a place is in."""
    words = np.int64(before[at // BLOCK])
    for other in range(at - at % BLOCK, at + 1):
        words += symbol[other] >= START
    return words - 1


@kernel(types.void(STATE, INT64S, int64))
def mark_words(state, starts, base):
    """Mark where words begin, count the tokens of each group, and number the texts of
    symbols.
    """
    symbols, text = state.symbols, np.empty(1, np.int32)
    for symbol in range(base):
        text[0] = symbol
        find_word(text, 0, 1, symbol, state.texts)
    state.counters[0].base = base
    state.counters[0].tokens = base
    for word in range(starts.size - 1):
        symbols.symbol[starts[word]] |= START
        if symbols.counts.shape[1] > 1:
            tokens = symbols.counts[word, 1] * (starts[word + 1] - starts[word])
            state.heaps.length[symbols.group[word]] += tokens
    count_words_before(symbols.symbol, symbols.before)


@kernel(types.void(STATE, INT32S, INT64S))
def reserve_texts(state, texts, bounds):
    """Number texts that no token may have, each a sequence of symbols, after those of
    the symbols.
    """
    count = state.counters[0]
    for other in range(bounds.size - 1):
        known = count.base + count.reserved
        found = find_word(texts, bounds[other], bounds[other + 1], known, state.texts)
        count.reserved += found == known


@kernel(int64(STATE))
def close_up(state):
    """Take NONE out of the symbols; returns how many are left."""
    symbol, size = state.symbols.symbol, 0
    for at in range(symbol.size):
        if symbol[at] != NONE:
            symbol[size] = symbol[at]
            size += 1
    count_words_before(symbol[:size], state.symbols.before)
    return size


@kernel(int64(STATE, int64), allocates=False)
def count_pairs(state, begin):
    """Add the pairs of all neighbours from place `begin` on, their weights and numbers of
    places; where it stopped, as the arrays were full. No symbol is NONE.
    """
    pairs, rows, count = state.pairs, state.pairs.rows, state.counters[0]
    symbol, before, counts, groups = state.symbols
    word = word_at(begin, symbol, before) if begin < symbol.size else np.int64(NONE)
    for at in range(begin, symbol.size - 1):
        word += at > begin and symbol[at] >= START
        if symbol[at + 1] >= START:
            continue
        if count.pairs + 1 >= rows.size:
            count.new_pairs, count.new_places = 1, 0
            return at
        a, b = np.int64(symbol[at] & TOKEN), np.int64(symbol[at + 1])
        row = rows[add_pair(a, b, np.int64(groups[word]), pairs, count)]
        if not row.size:
            row.listed = row.total < NEVER  # it waits to be merged
        row.size += 1
        if row.total >= 0:
            row.total += counts[word, 0]
    return symbol.size


@kernel(int64(STATE, int64, int64), inner=True, allocates=False)
def list_pair(state, a, b):
    """Say of a pair in all groups that it has a list; returns for how many more places."""
    rows, more = state.pairs.rows, 0
    for group in range(state.heaps.floor.size):
        pair = find_pair(key_of(a, b, group), rows, state.pairs.slots)
        if pair >= 0 and not rows[pair].listed:
            rows[pair].listed = 1
            more += rows[pair].size
    return more


@kernel(types.void(STATE, INT64S, int32[:, ::1], int64), allocates=False)
def choose_listed(state, least, given, most):
    """Choose the pairs that have lists: those of the `least` weight of a group or more, and
    the next ones of the `given` merges, as far as these have fewer than `most` places.
    """
    rows, count = state.pairs.rows, state.counters[0]
    for pair in range(count.pairs):
        row = rows[pair]
        if not row.listed and row.total >= least[np.int64(row.key & np.uint64(255))]:
            a, b = symbols_of(row.key)
            list_pair(state, a, b)
    places, merge = 0, count.given
    while merge < given.shape[0] and places <= most:
        places += list_pair(state, np.int64(given[merge, 0]), np.int64(given[merge, 1]))
        merge += 1


@kernel(types.void(STATE), allocates=False)
def list_places(state):
    """Fill the lists of pairs, the places of each together. No symbol is NONE."""
    rows, slots, places = state.pairs.rows, state.pairs.slots, state.pairs.places
    symbol, counts, groups = state.symbols.symbol, state.symbols.counts, state.symbols.group
    end = 0  # a list whose places lie together is read several times as fast
    for pair in range(state.counters[0].pairs):
        row = rows[pair]
        end += row.size * row.listed
        row.head, row.size = end if row.listed else NONE, 0
    state.counters[0].places = end
    word = counts.shape[0] - 1
    for at in range(symbol.size - 2, -1, -1):
        if symbol[at + 1] >= START:
            word -= 1
            continue
        a, b = np.int64(symbol[at] & TOKEN), np.int64(symbol[at + 1])
        row = rows[find_pair(key_of(a, b, np.int64(groups[word])), rows, slots)]
        if row.listed:
            following = row.head if row.size else NONE
            row.head -= 1
            row.size += 1
            places[row.head, 0], places[row.head, 1] = at, following


@kernel(types.void(STATE))
def set_floors(state):
    """Empty heaps, with floors above all pairs, which the first search of a heap lowers."""
    floor, pairs, count = state.heaps.floor, state.pairs, state.counters[0]
    count.nodes, count.free_node = 0, NONE
    state.heaps.root[:] = NONE
    floor[:] = 1
    for group in range(floor.size):
        pair = np.int64(pairs.first[group])
        while pair >= 0:
            floor[group] = max(floor[group], pairs.rows[pair].total + 1)
            pair = np.int64(pairs.rows[pair].sibling)


@kernel(types.UniTuple(int64, 2)(STATE, int64), inner=True, allocates=False, inlined=True)
def text_bounds(state, token):
    """Where the text of a token begins and ends: those of symbols come first, then
    reserved ones, then those of merges.
    """
    bounds, count = state.texts.bounds, state.counters[0]
    token += count.reserved * (token >= count.base)
    return bounds[token], bounds[token + 1]


@kernel(int64(STATE, int64, int64), inner=True, allocates=False, inlined=True)
def compare_tokens(state, a, b):
    """Below, at or above 0 as token a sorts before, as or after token b."""
    store = state.texts.points
    (begin, end), (other, other_end) = text_bounds(state, a), text_bounds(state, b)
    for at in range(min(end - begin, other_end - other)):
        difference = np.int64(store[begin + at]) - np.int64(store[other + at])
        if difference:
            return difference
    return (end - begin) - (other_end - other)


@kernel(boolean(STATE, int64, int64), inner=True, allocates=False, inlined=True)
def comes_first(state, one, other):
    """Whether node `one` leaves the heap before `other`: by weight, then by its pair.

    First is the pair of the lower symbols, as in `BpeTrainer` of `tokenizers`; by text,
    that of the tokens that sort last, as in its `ParityBpeTrainer`.
    """
    weight, node, rows = state.heaps.weight, state.heaps.node, state.pairs.rows
    if weight[one] != weight[other]:
        return weight[one] > weight[other]
    key, against = rows[node[one]].key, rows[node[other]].key
    if not state.counters[0].by_text:
        return key < against
    (a, b), (other_a, other_b) = symbols_of(key), symbols_of(against)
    return (compare_tokens(state, a, other_a) or compare_tokens(state, b, other_b)) > 0


@kernel(int64(STATE, int64, int64), inner=True, allocates=False, inlined=True)
def meld(state, one, other):
    """The root of two skew heaps as one."""
    left, right = state.heaps.left, state.heaps.right
    if one < 0 or other < 0:
        return max(one, other)
    if comes_first(state, other, one):
        one, other = other, one
    root = one
    while True:
        below = np.int64(right[one])
        right[one] = left[one]
        if below < 0:
            left[one] = other
            return root
        if comes_first(state, other, below):
            below, other = other, below
        left[one] = below
        one = below


@kernel(types.void(STATE, int64, int64), inner=True, allocates=False)
def push(state, group, pair):
    heaps, count = state.heaps, state.counters[0]
    if count.free_node >= 0:
        node = count.free_node
        count.free_node = heaps.left[node]
    else:
        node = count.nodes
        count.nodes += 1
    heaps.weight[node], heaps.node[node] = state.pairs.rows[pair].total, pair
    heaps.left[node] = heaps.right[node] = NONE
    heaps.root[group] = meld(state, np.int64(heaps.root[group]), node)


@kernel(int64(STATE, int64), inner=True, allocates=False)
def heaviest(state, group):
    """The heaviest pair of a group, taken from its heap; NONE where none occurs in the
    training text.
    """
    heaps, pairs, count = state.heaps, state.pairs, state.counters[0]
    floors, rows = heaps.floor, pairs.rows
    while True:
        top = np.int64(heaps.root[group])
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
        pair, counted = np.int64(heaps.node[top]), heaps.weight[top]
        heaps.root[group] = meld(state, np.int64(heaps.left[top]), np.int64(heaps.right[top]))
        heaps.left[top] = count.free_node
        count.free_node = top
        if rows[pair].total == counted:
            return pair
        if rows[pair].total >= floors[group]:
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


@kernel(UINT32S(int64, PAIRS, COUNTS), inner=True)
def take_places(pair, pairs, count):
    """The places of a pair; its list is empty afterwards."""
    row = pairs.rows[pair]
    found, at = np.empty(row.size, np.uint32), np.int64(row.head)
    last = at
    for place in range(found.size):
        found[place], last, at = np.uint32(pairs.places[at, 0]), at, np.int64(pairs.places[at, 1])
    if found.size:
        pairs.places[last, 1] = count.free_place
        count.free_place = row.head
        count.unused += found.size
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
    int64(_REPLACEMENT, int64, int64, INT32S, int64, PAIRS, COUNTS), inner=True, allocates=False
)
def replace_pair(change, group, weight, touched, touches, pairs, count):
    """One neighbour of a merged pair: the pair that it stood in becomes another.

    Returns how many pairs have been `touched`, each once.
    """
    rows, slots = pairs.rows, pairs.slots
    old = find_pair(key_of(change.a, change.b, group), rows, slots)
    if old >= 0 and rows[old].total >= 0:
        rows[old].total -= weight
    added = find_pair(key_of(change.new_a, change.new_b, group), rows, slots)
    if added < 0:
        added = add_pair(change.new_a, change.new_b, group, pairs, count)
    row = rows[added]
    if row.listed:
        add_place(added, change.at, pairs, count)
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
    pairs, count, floor = state.pairs, state.counters[0], state.heaps.floor[group]
    for changed in touched:
        pair = np.int64(changed)
        row = pairs.rows[pair]
        row.raised = 0
        if row.total >= floor:
            push(state, group, pair)
        elif row.total < NEVER:
            state.waiting[count.waiting] = -2 - row.total
            count.waiting += 1


@kernel(int64(int64, INT32S), inner=True, allocates=False)
def place_behind(at, symbol):
    """The place of the token behind that at `at`; NONE where its word ends."""
    other = at + 1
    while other < symbol.size and symbol[other] == NONE:
        other += 1
    return other if other < symbol.size and symbol[other] < START else np.int64(NONE)


@kernel(int64(int64, INT32S), inner=True, allocates=False)
def place_before(at, symbol):
    """The place of the token before that at `at`; NONE where its word begins."""
    if symbol[at] >= START:
        return np.int64(NONE)
    other = at - 1
    while symbol[other] == NONE:
        other -= 1
    return other


@kernel(types.void(STATE, int64, int64), inner=True)
def merge_in_group(state, pair, row):
    """Merge a pair wherever it stands in the words of its group, from left to right;
    row `row` of `applied`.
    """
    pairs, count = state.pairs, state.counters[0]
    symbol, before, counts, _ = state.symbols
    key, new = pairs.rows[pair].key, np.int64(state.applied[row, 2])
    a, b = symbols_of(key)
    group = np.int64(key & np.uint64(255))
    # Its places, from left to right where they may overlap
    places = take_places(pair, pairs, count)
    if a == b:
        places.sort()
    touched, touches, others = np.empty(2 * places.size + 1, np.int32), 0, 0
    # In loops of their own, a processor reads several of these at once
    kept = 0
    for place in places:
        places[kept] = place
        kept += symbol[place] & TOKEN == a
    words = np.empty(kept, np.int32)
    for place in range(kept):
        words[place] = word_at(np.int64(places[place]), symbol, before)
    weights = np.empty(kept, np.int64)
    for place in range(kept):
        weights[place] = counts[words[place], 0]
    for place in range(kept):
        at = np.int64(places[place])
        if symbol[at] & TOKEN != a:
            continue
        right = place_behind(at, symbol)
        if right < 0 or symbol[right] != b:
            continue
        weight, behind, left = weights[place], place_behind(right, symbol), place_before(at, symbol)
        # The left symbol becomes the new one, the right one goes into it
        symbol[at], symbol[right] = new | (symbol[at] & START), NONE
        # The pairs with the symbol before, and with the one behind
        if left >= 0:
            one = np.int64(symbol[left] & TOKEN)
            change = Replacement(one, a, one, new, left)
            touches = replace_pair(change, group, weight, touched, touches, pairs, count)
        if behind >= 0:
            one = np.int64(symbol[behind])
            change = Replacement(b, one, new, one, at)
            touches = replace_pair(change, group, weight, touched, touches, pairs, count)
        if counts.shape[1] > 1:
            others += counts[words[place], 1]
    state.heaps.length[group] -= others
    push_touched(state, group, touched[:touches])


@kernel(int64(STATE, int64, int64), inner=True, allocates=False)
def places_of(state, a, b):
    """The places in the lists of a pair, of all groups; NONE where it has no list in one."""
    rows, count = state.pairs.rows, np.int64(0)
    for group in range(state.heaps.floor.size):
        pair = find_pair(key_of(a, b, group), rows, state.pairs.slots)
        if pair >= 0:
            if not rows[pair].listed:
                return np.int64(NONE)
            count += np.int64(rows[pair].size)
    return count


@kernel(boolean(STATE, int64, int64, int64), inner=True, allocates=False)
def has_space(state, places, a, b):
    """Whether the arrays hold the merge of a pair that stands in so many places; counts the
    places and pairs that it may add: two for each place, and the new token is in each pair.
    """
    count, bounds, pairs = state.counters[0], state.texts.bounds, state.pairs
    texts, groups = count.reserved + count.tokens, state.heaps.floor.size
    (begin, end), (other, other_end) = text_bounds(state, a), text_bounds(state, b)
    text = end - begin + other_end - other
    added = count.new_places = 2 * places
    new = count.new_pairs = min(added, 2 * (count.tokens + 1) * groups)
    return (
        count.pairs + new + groups + 1 < pairs.rows.size
        and count.places - count.unused + added < pairs.places.shape[0]
        and count.nodes + count.pairs + 2 * new < state.heaps.node.size
        and count.waiting + new < state.waiting.size
        and count.applied < state.applied.shape[0]
        and texts + 2 < bounds.size
        and texts < state.texts.hashes.size
        and bounds[texts] + text < state.texts.points.size
    )


@kernel(int64(STATE, int64, int64), inner=True)
def token_of(state, a, b):
    """The token of a merge, a new one where none has its text; NONE where no token may
    have it.
    """
    count, store = state.counters[0], state.texts.points
    (begin, end), (other, other_end) = text_bounds(state, a), text_bounds(state, b)
    text = np.concatenate((store[begin:end], store[other:other_end]))
    known = count.reserved + count.tokens
    found = find_word(text, 0, text.size, known, state.texts)
    if found < count.base + count.reserved:
        return np.int64(NONE)
    count.tokens += found == known
    return found - count.reserved


@kernel(boolean(STATE, int64, int64, int64), inner=True, allocates=False)
def register(state, a, b, row):
    """Write the merge of a pair into `row` of `applied`; False where no token may have
    its text.
    """
    count, new = state.counters[0], token_of(state, a, b)
    total = np.int64(NEVER) if new < 0 else -2 - row
    pairs = state.pairs
    pairs.rows[add_pair(a, b, np.int64(REGISTER), pairs, count)].total = total
    for group in range(state.heaps.floor.size):
        pair = find_pair(key_of(a, b, group), pairs.rows, pairs.slots)
        if pair >= 0:
            pairs.rows[pair].total = total
    if new < 0:
        return False
    state.applied[row, 0], state.applied[row, 1], state.applied[row, 2] = a, b, new
    count.applied += 1
    return True


@kernel(types.UniTuple(int64, 3)(STATE, int32[:, ::1], int64), inner=True, allocates=False)
def next_pair(state, given, wanted):
    """Both symbols of the next merge, NONE after the last one, and its place in `waiting`,
    NONE for a pair that is given or chosen.
    """
    count, heaps, waiting = state.counters[0], state.heaps, state.waiting
    if count.waiting:
        least = 0
        for at in range(1, count.waiting):
            if waiting[at] < waiting[least]:
                least = at
        row = state.applied[waiting[least]]
        return np.int64(row[0]), np.int64(row[1]), least
    if count.given < given.shape[0]:
        row = given[count.given]
        return np.int64(row[0]), np.int64(row[1]), NONE
    while count.tokens < wanted:
        if count.chosen_first >= 0:
            return count.chosen_first, count.chosen_second, NONE
        group = longest_group(heaps)
        if group < 0:
            break
        pair = heaviest(state, group)
        if pair < 0:
            heaps.spent[group] = True
            continue
        count.chosen_first, count.chosen_second = symbols_of(state.pairs.rows[pair].key)
        if heaps.recent.size:
            heaps.recent[count.choices % heaps.recent.size] = group
            count.choices += 1
    return NONE, NONE, NONE


@kernel(int64(STATE, int32[:, ::1], int64), inner=True, allocates=False)
def take_pair(state, given, place):
    """Take the pair of `next_pair` out of where it waited; returns the row of its merge in
    `applied`.
    """
    count, waiting = state.counters[0], state.waiting
    if place >= 0:
        row = waiting[place]
        count.waiting -= 1
        waiting[place] = waiting[count.waiting]
        return row
    if count.given < given.shape[0]:
        count.given += 1
    else:
        count.chosen_first = NONE
    return count.applied


@kernel(int64(STATE, int32[:, ::1], int64, int64), allocates=False)
def advance(state, given, wanted, merges):
    """Apply up to `merges` merges: those that wait, the `given` ones, then chosen ones
    up to `wanted` tokens.

    Returns ENDED, PAUSED, FULL where the arrays must grow before the next merge, or
    UNLISTED where its pair has no list.
    """
    pairs = state.pairs
    for _ in range(merges):
        a, b, place = next_pair(state, given, wanted)
        if a < 0:
            return ENDED
        places = places_of(state, a, b)
        if places < 0:
            return UNLISTED
        if not has_space(state, places, a, b):
            return FULL
        row = take_pair(state, given, place)
        if place < 0 and not register(state, a, b, row):
            continue
        for group in range(state.heaps.floor.size):
            pair = find_pair(key_of(a, b, group), pairs.rows, pairs.slots)
            if pair >= 0 and pairs.rows[pair].size:
                merge_in_group(state, pair, row)
    return PAUSED
