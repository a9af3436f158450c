"""The merges of byte-pair encoding, chosen by weighted counts or by the language that is worst off.

A training for T tokens is the beginning of one for more, so one training gives every size.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from vocap.bpe import heaps, kernels, pairs
from vocap.bpe.state import (
    APPLIED,
    BY_TEXT,
    CHOSEN,
    FREE_NODE,
    FREE_PLACE,
    LAST,
    MAX_GROUPS,
    MAX_SYMBOLS,
    NEEDED,
    NODES,
    NONE,
    PAIRS,
    PLACES,
    RESERVED,
    SINGLE,
    TOKENS,
    WAITING,
    State,
)
from vocap.bpe.words import Alphabet, Words
from vocap.errors import VocapError

MERGES = 2000  # between two looks at interruptions and progress
MAX_WEIGHT = 1 << 62


@dataclass(frozen=True)
class Applied:
    """The merges of a training: `rows` int32 [R, 4] and `uses` int64 [R, 2] as `kernels.advance` has them.

    A row is a merge of two symbols into a third; rows whose last number is 1 repeat an earlier merge, where a
    token that two different merges give stands beside another again.
    """

    rows: np.ndarray
    uses: np.ndarray

    @property
    def merges(self) -> np.ndarray:
        """The merges in their order, int32 [M, 3]: both symbols, the new one."""
        return self.rows[self.rows[:, 3] == 0, :3]


def apply(
    alphabet: Alphabet,
    symbols: tuple[np.ndarray, np.ndarray],
    counts: np.ndarray,
    wanted: int = 0,
    given: np.ndarray | None = None,
    reserved: Sequence[str] = (),
    group: np.ndarray | None = None,
    divisor: np.ndarray | None = None,
    by_text: bool = False,
    progress: Callable[[int], None] = lambda tokens: None,
) -> Applied:
    """Apply `given` merges (int32 [M, 2] or more columns), then choose others until there are `wanted` tokens.

    `symbols` as of `Alphabet.symbols`; `counts` int64 [K, 2]: of each word its weight, and its occurrences in a
    second text. Chosen is the heaviest pair; of equal ones the first (`BpeTrainer` of `tokenizers`). With `group`
    int32 [K] and `divisor` int64 [groups], chosen is the heaviest pair of the group whose second text has the most
    tokens over `divisor`; groups of divisor 0 never choose; `by_text`: of equal pairs that of the last tokens
    (`ParityBpeTrainer`). `reserved`: token names that no merge may give. `progress` gets the number of tokens, now
    and then. Raises VocapError for weights whose sums 64 bits do not hold.
    """
    text, starts = symbols
    check_weight(float(np.dot(counts[:, 0].astype(np.float64), np.diff(starts))))
    given = np.empty((0, 2), np.int32) if given is None else np.ascontiguousarray(given[:, :2], np.int32)
    state = _begin(alphabet, text, starts, counts, wanted + len(given), reserved, group, divisor, by_text)
    while (result := kernels.advance(state, given, wanted, MERGES)) != kernels.ENDED:
        if result == kernels.FULL:
            state = _grown(state)
        progress(int(state.number[TOKENS]))
    done = int(state.number[APPLIED])
    return Applied(state.applied[:done].copy(), state.uses[:done].copy())


def check_weight(total: float) -> None:
    """Raise VocapError for a sum of weighted counts that 64 bits do not hold."""
    if total >= MAX_WEIGHT:
        raise VocapError(f"weighted counts add up to {total:.3g}, beyond 64 bits; give smaller weights")


def _begin(alphabet, symbols, starts, counts, tokens, reserved, group, divisor, by_text) -> State:
    """The state before the first merge."""
    words, base = len(starts) - 1, len(alphabet.names)
    group = np.zeros(words, np.int32) if group is None else group
    divisor = np.ones(1, np.int64) if divisor is None else divisor
    groups = len(divisor)
    if base + tokens >= MAX_SYMBOLS or groups > MAX_GROUPS or len(symbols) >= 1 << 31:
        raise VocapError(f"{len(symbols)} symbols of words, {tokens} tokens and {groups} languages are too many")
    number = {name: symbol for symbol, name in enumerate(alphabet.names)}
    kept = [[number[one] for one in name] for name in reserved if name and number.keys() >= set(name)]
    texts = base + tokens + len(kept) + 2
    capacity = 1 << 12
    fields = {
        "symbol": symbols.astype(np.int32),
        "counts": np.ascontiguousarray(counts, np.int64),
        "group": np.ascontiguousarray(group, np.int32),
        "keys": np.empty(capacity, np.uint64),
        "raised": np.zeros(capacity, bool),
        "slots": np.zeros(2 * capacity, np.int32),
        "first": np.full(MAX_GROUPS + 1, NONE, np.int32),
        "root": np.full(groups, NONE, np.int32),
        "floor": np.ones(groups, np.int64),
        "length": np.zeros(groups, np.int64),
        "divisor": np.ascontiguousarray(divisor, np.int64),
        "spent": np.zeros(groups, bool),
        "store": np.empty(16 * texts + sum(map(len, kept)), np.int32),
        "bounds": np.zeros(texts + 1, np.int64),
        "hashes": np.empty(texts, np.uint64),
        "token_slots": np.zeros(1 << (4 * texts).bit_length(), np.int32),
        "applied": np.zeros((tokens + 16, 4), np.int32),
        "uses": np.zeros((tokens + 16, 2), np.int64),
        "count": np.empty(capacity, np.int64),
        "weight": np.empty(2 * capacity, np.int64),
        "waiting": np.empty(1 << 12, np.int64),
        "number": np.zeros(LAST + 1, np.int64),
    }
    lengths = {
        **dict.fromkeys(("after", "before", "word"), len(symbols)),
        **dict.fromkeys(("head", "sibling"), capacity),
        **dict.fromkeys(("place", "further"), len(symbols) + 16),
        **dict.fromkeys(("node", "left", "right"), 2 * capacity),
    }
    fields |= {name: np.empty(length, np.int32) for name, length in lengths.items()}
    state = State(**fields)
    state.number[[FREE_PLACE, FREE_NODE, CHOSEN]] = NONE
    state.number[[SINGLE, BY_TEXT]] = alphabet.single, by_text
    pairs.link_words(state, starts, base)
    bounds = np.cumsum([0, *map(len, kept)])
    pairs.reserve_texts(state, np.array([*chain(*kept)], np.int32), bounds)
    left = words
    while left := pairs.add_words(state, starts, left):
        state = _grown(state)
    heaps.set_floors(state)
    return state


def _grown(state: State) -> State:
    """The state with longer arrays where one is short; `number[NEEDED]` places change next."""
    number = state.number
    needed = 4 * int(number[NEEDED]) + MAX_GROUPS
    wanted = {
        **dict.fromkeys(("keys", "count", "head", "sibling", "raised"), number[PAIRS] + needed + 2),
        **dict.fromkeys(("place", "further"), number[PLACES] + needed + 1),
        **dict.fromkeys(("weight", "node", "left", "right"), number[NODES] + number[PAIRS] + needed + 1),
        **dict.fromkeys(("applied", "uses"), number[APPLIED] + 2),
        "waiting": number[WAITING] + needed + 1,
    }
    texts = int(number[RESERVED] + number[TOKENS])
    wanted |= {"bounds": texts + 4, "hashes": texts + 4}
    longest = int(np.diff(state.bounds[: texts + 1]).max(initial=0))
    wanted["store"] = state.bounds[texts] + 2 * longest + 1
    larger = {}
    for name, size in wanted.items():
        array = getattr(state, name)
        if len(array) < size:
            larger[name] = np.zeros((max(int(size), len(array) * 3 // 2), *array.shape[1:]), array.dtype)
            larger[name][: len(array)] = array
    state = state._replace(**larger)
    if 2 * len(state.keys) > len(state.slots):
        state = state._replace(slots=np.zeros(1 << (2 * len(state.keys) - 1).bit_length(), np.int32))
        pairs.fill_slots(state)
    return state


def train(alphabet: Alphabet, words: Words, wanted: int, reserved: Sequence[str] = (), **options) -> Applied:
    """`apply` for the words of one or several texts."""
    counts = np.zeros((len(words), 2), np.int64)
    counts[:, 0] = words.counts.sum(1)
    return apply(alphabet, alphabet.symbols(words), counts, wanted, reserved=reserved, **options)
