"""The arrays of a training in progress, as one value that kernels take."""

from typing import NamedTuple

import numpy as np
from numba import boolean, int32, int64, types, uint64

NONE = -1
# Entries of `number`: tokens of all kinds, symbols, texts that no merge may give, the first symbol that merges,
# pairs, places, nodes and the first unused of the latter two, merges applied, the next of the given ones, pairs
# that wait to be merged again, the pair chosen last, the tie rule, and the places that the next merge needs.
(
    TOKENS,
    BASE,
    RESERVED,
    SINGLE,
    PAIRS,
    PLACES,
    FREE_PLACE,
    NODES,
    FREE_NODE,
    APPLIED,
    GIVEN,
    WAITING,
    CHOSEN,
    BY_TEXT,
    NEEDED,
    LAST,
) = range(16)
MAX_SYMBOLS, MAX_GROUPS = 1 << 28, 255  # that a key holds; the last group is for merges of any


class State(NamedTuple):
    """S symbols linked inside W words, the pairs of neighbours, the heaps that order them, and the merges so far.

    Pair p has the key `keys[p]` and the weight `count[p]`; below 0 it is NEVER to be merged, or -2 less the number
    of its merge. `head[p]` begins the list (`place`, `further`) of its places; one that another merge has changed
    is passed over. `sibling[p]` is the next pair of the group, whose first is `first`. The heap of a group, a skew
    heap of nodes, holds the pairs of at least `floor`: most pairs of a large text never come near their turn.
    """

    symbol: np.ndarray  # int32 [S]; NONE where it went into the one before
    after: np.ndarray
    before: np.ndarray
    word: np.ndarray
    counts: np.ndarray  # int64 [W, 2]
    group: np.ndarray  # int32 [W]
    keys: np.ndarray  # uint64
    count: np.ndarray
    head: np.ndarray
    sibling: np.ndarray
    raised: np.ndarray
    slots: np.ndarray
    place: np.ndarray
    further: np.ndarray
    first: np.ndarray  # [groups + 1]
    root: np.ndarray  # [groups]
    floor: np.ndarray
    length: np.ndarray
    divisor: np.ndarray
    spent: np.ndarray
    weight: np.ndarray  # of a node
    node: np.ndarray
    left: np.ndarray
    right: np.ndarray
    store: np.ndarray  # texts of tokens, as symbols
    bounds: np.ndarray
    hashes: np.ndarray
    token_slots: np.ndarray
    applied: np.ndarray  # int32 [R, 4]: both symbols, the new one, 1 where the pair was merged before
    uses: np.ndarray  # int64 [R, 2]: applications, by each column of `counts`
    waiting: np.ndarray  # int64: merges to be applied again
    number: np.ndarray  # int64 [LAST + 1]


_KINDS = {
    "counts": int64[:, ::1],
    "keys": uint64[::1],
    "raised": boolean[::1],
    "spent": boolean[::1],
    "hashes": uint64[::1],
    "applied": int32[:, ::1],
    "uses": int64[:, ::1],
    **dict.fromkeys(("count", "floor", "length", "divisor", "weight", "bounds", "waiting", "number"), int64[::1]),
}
STATE = types.NamedTuple([_KINDS.get(name, int32[::1]) for name in State._fields], State)
