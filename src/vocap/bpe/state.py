"""The state of a training in progress: words, pairs, heaps and counters, as records that
kernels take.
"""

from typing import NamedTuple

import numpy as np
from numba import from_dtype, int32, int64, types
from numpy.typing import NDArray

from vocap.unigram.kernels import BOOLEANS, INT32S, INT64S
from vocap.unigram.word_table import STORE, WordStore


class Symbols(NamedTuple):
    """S symbols of W words: `symbol` int32 [S] (NONE where it went into the one before),
    the first of a word with the mark START, and how many words begin `before` each BLOCK of
    symbols, int32; of a word its `counts` int64 [W, 1 or 2] and its `group` int32 [W].

    A token stands at the place of its first symbol, so neighbours are found by passing
    over NONE: links would take as much memory again, and lie apart from the symbols.
    """

    symbol: NDArray[np.int32]
    before: NDArray[np.int32]
    counts: NDArray[np.int64]
    group: NDArray[np.int32]


class Pairs(NamedTuple):
    """Pairs of neighbours.

    Pair p is `rows[p]` (`PAIR`). `slots` finds pairs by their keys. `places` int32 [N, 2]:
    32 bits of a place, and the next row of its list. `first` [groups + 1]: a pair of each
    group.
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
    applied again; `counters`: one row of `COUNTERS`.
    """

    symbols: Symbols
    pairs: Pairs
    heaps: Heaps
    texts: WordStore
    applied: NDArray[np.int32]
    waiting: NDArray[np.int64]
    counters: NDArray[np.void]


SYMBOLS = types.NamedTuple([INT32S, INT32S, int64[:, ::1], INT32S], Symbols)
# A pair, half a line of the cache: what one merge of it reads and writes stands
# together. `total`: its weight, or NEVER to be merged, or -2 less the number of its
# merge. `head` begins the list of its `size` places; one that another merge has changed
# is passed over. `sibling`: the next pair of its group. `raised`: whether it is among
# those whose counts a merge has changed. `listed`: whether it has a list, which then holds
# all places where it stands.
PAIR = np.dtype(
    [
        ("key", np.uint64),
        ("total", np.int64),
        ("head", np.int32),
        ("size", np.int32),
        ("sibling", np.int32),
        ("raised", np.int16),
        ("listed", np.int16),
    ]
)
ROWS = from_dtype(PAIR)[::1]
PAIRS = types.NamedTuple([ROWS, INT32S, int32[:, ::1], INT32S], Pairs)
HEAPS = types.NamedTuple([INT32S, *[INT64S] * 3, BOOLEANS, INT32S, INT64S, *[INT32S] * 3], Heaps)
_COUNTED = [
    "tokens",  # of all kinds
    "base",  # tokens that are symbols
    "reserved",  # texts that no merge may give
    "pairs",
    "places",
    "free_place",  # the first one that is unused, NONE
    "unused",  # of the places
    "nodes",
    "free_node",  # the first one that is unused, NONE
    "applied",  # merges
    "given",  # merges of the given ones that have been applied
    "waiting",  # merges to be applied again
    "chosen_first",  # symbol of the pair that was chosen and is not merged yet, NONE
    "chosen_second",
    "by_text",  # the tie rule
    "new_places",  # that the next merge may add
    "new_pairs",  # that the next merge may add
    "choices",  # of a group
]
COUNTERS = np.dtype([(name, np.int64) for name in _COUNTED])
COUNTS = from_dtype(COUNTERS)
STATE = types.NamedTuple([SYMBOLS, PAIRS, HEAPS, STORE, int32[:, ::1], INT64S, COUNTS[::1]], State)
