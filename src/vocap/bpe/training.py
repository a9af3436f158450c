"""The merges of byte-pair encoding, chosen by weighted counts or by the language that
is worst off.

A training for T tokens is the beginning of one for more, so one training gives every
size.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import numpy as np

from vocap.bpe import kernels
from vocap.bpe.kernels import MAX_GROUPS, MAX_SYMBOLS, NONE, State
from vocap.bpe.words import Alphabet, Words
from vocap.errors import VocapError
from vocap.tables.sampling_probabilities import line_weights
from vocap.unigram.seeds import valid_stretches
from vocap.unigram.word_types import TEXTS, WordTable, WordTypes

MERGES = 2000  # between two looks at interruptions and progress
MAX_WEIGHT = 1 << 62


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
    window: int = 0,
    progress: Callable[[int], None] = lambda tokens: None,
) -> np.ndarray:
    """Apply `given` merges (int32 [M, 2] or more columns), then choose others until
    there are `wanted` tokens.

    Returns all merges in their order, int32 [M, 3]: both symbols, the new one.

    `symbols` as of `Alphabet.symbols`; `counts` int64 [K, 2]: of each word its weight,
    and its occurrences in a second text. Chosen is the heaviest pair; of equal ones the
    first (`BpeTrainer` of `tokenizers`). With `group` int32 [K] and `divisor` int64
    [groups], chosen is the heaviest pair of the group whose second text has the most
    tokens over `divisor`; groups of divisor 0 never choose, and none has more than
    twice its share of the last `window` merges; `by_text`: of equal pairs that of the
    last tokens (`ParityBpeTrainer`). `reserved`: names that no merge may give.
    `progress` gets the number of tokens, now and then. Raises VocapError for weights
    whose sums 64 bits do not hold.
    """
    text, starts = symbols
    check_weight(float(np.dot(counts[:, 0].astype(np.float64), np.diff(starts))))
    given = (
        np.empty((0, 2), np.int32)
        if given is None
        else np.ascontiguousarray(given[:, :2], np.int32)
    )
    state = _begin(
        alphabet,
        text,
        starts,
        counts,
        wanted + len(given),
        reserved,
        group,
        divisor,
        by_text,
        window,
    )
    state = _advance(state, given, wanted, progress)
    return state.applied[: state.number[kernels.APPLIED]].copy()


def _advance(
    state: State, given: np.ndarray, wanted: int, progress: Callable[[int], None]
) -> State:
    """The state after all `given` merges and those up to `wanted` tokens."""
    while (result := kernels.advance(state, given, wanted, MERGES)) != kernels.ENDED:
        if result == kernels.FULL:
            state = _grown(state)
        progress(int(state.number[kernels.TOKENS]))
    return state


def count_tokens(
    alphabet: Alphabet, words: Sequence[Words], text: int, merges: np.ndarray, ranks: Sequence[int]
) -> Iterator[np.ndarray]:
    """Occurrences of every token in the text of that number of each of `words`, int64
    [words, V].

    Once for each r of the ascending `ranks`, by the first r of `merges` (int32 [M, 3]).
    A text is encoded by the merges of lowest rank first, so its tokens are those after
    the last merge.
    """
    own = [part.of(text) for part in words]
    counts = np.concatenate([part.counts for part in own])
    owner = np.repeat(np.arange(len(own)), list(map(len, own)))
    symbols, starts = concatenate(alphabet, own)
    state = _begin(alphabet, symbols, starts, counts.repeat(2, axis=1), len(merges))
    tokens = len(token_names(alphabet, merges))
    for rank in ranks:
        state = _advance(state, np.ascontiguousarray(merges[:rank, :2]), 0, lambda reached: None)
        places = np.flatnonzero(state.symbol != NONE)
        word, found = state.word[places], np.zeros((len(own), tokens), np.int64)
        np.add.at(found, (owner[word], state.symbol[places]), counts[word, 0])
        yield found


def concatenate(alphabet: Alphabet, words: Sequence[Words]) -> tuple[np.ndarray, np.ndarray]:
    """`alphabet.symbols` of the words of several texts, one text after another."""
    parts = [alphabet.symbols(part) for part in words]
    sizes = np.concatenate([np.diff(starts) for _, starts in parts])
    return np.concatenate([symbols for symbols, _ in parts]), np.concatenate(
        [[0], np.cumsum(sizes)]
    )


def check_weight(total: float) -> None:
    """Raise VocapError for a sum of weighted counts that 64 bits do not hold."""
    if total >= MAX_WEIGHT:
        raise VocapError(
            f"weighted counts add up to {total:.3g}, beyond 64 bits; give smaller weights"
        )


def _begin(
    alphabet: Alphabet,
    symbols: np.ndarray,
    starts: np.ndarray,
    counts: np.ndarray,
    tokens: int,
    reserved: Sequence[str] = (),
    group: np.ndarray | None = None,
    divisor: np.ndarray | None = None,
    by_text: bool = False,
    window: int = 0,
) -> State:
    """The state before the first merge."""
    words, base = len(starts) - 1, len(alphabet.names)
    group = np.zeros(words, np.int32) if group is None else group
    divisor = np.ones(1, np.int64) if divisor is None else divisor
    if base + tokens >= MAX_SYMBOLS or len(divisor) > MAX_GROUPS or len(symbols) >= 1 << 31:
        raise VocapError(
            f"{len(symbols)} symbols of words, {tokens} tokens and {len(divisor)} languages are "
            "too many"
        )
    number = {name: symbol for symbol, name in enumerate(alphabet.names)}
    kept = [
        list(map(number.__getitem__, name))
        for name in reserved
        if name and number.keys() >= set(name)
    ]
    state = State(
        counts=np.ascontiguousarray(counts, np.int64),
        group=np.ascontiguousarray(group, np.int32),
        **_symbol_arrays(symbols),
        **_pair_arrays(),
        **_group_arrays(divisor, window),
        **_token_arrays(base + tokens + len(kept) + 2, tokens, sum(map(len, kept))),
        number=np.zeros(kernels.LAST + 1, np.int64),
    )
    state.number[[kernels.FREE_PLACE, kernels.FREE_NODE, kernels.CHOSEN]] = NONE
    state.number[[kernels.SINGLE, kernels.BY_TEXT]] = alphabet.single, by_text
    # Words, names that no merge may give, pairs
    kernels.link_words(state, starts, base)
    bounds = np.cumsum([0, *map(len, kept)])
    kernels.reserve_texts(state, np.array([*chain(*kept)], np.int32), bounds)
    left = words
    while left := kernels.add_words(state, starts, left):
        state = _grown(state)
    kernels.set_floors(state)
    return state


def _symbol_arrays(symbols: np.ndarray) -> dict[str, np.ndarray]:
    """The symbols, and places of pairs."""
    return {
        "symbol": symbols.astype(np.int32),
        **_empty(("after", "before", "word"), len(symbols)),
        **_empty(("place", "further"), len(symbols) + 16),
    }


def _empty(names: Sequence[str], length: int) -> dict[str, np.ndarray]:
    return {name: np.empty(length, np.int32) for name in names}


def _pair_arrays(capacity: int = 1 << 12) -> dict[str, np.ndarray]:
    """Pairs and the nodes of heaps: short arrays, which grow."""
    return {
        "keys": np.empty(capacity, np.uint64),
        "raised": np.zeros(capacity, bool),
        "slots": np.zeros(2 * capacity, np.int32),
        "total": np.empty(capacity, np.int64),
        "weight": np.empty(2 * capacity, np.int64),
        "waiting": np.empty(capacity, np.int64),
        **_empty(("head", "sibling"), capacity),
        **_empty(("node", "left", "right"), 2 * capacity),
    }


def _group_arrays(divisor: np.ndarray, window: int) -> dict[str, np.ndarray]:
    """Groups of words, each with a heap, and their last `window` choices."""
    groups = len(divisor)
    return {
        "first": np.full(MAX_GROUPS + 1, NONE, np.int32),
        "root": np.full(groups, NONE, np.int32),
        "floor": np.ones(groups, np.int64),
        "length": np.zeros(groups, np.int64),
        "divisor": np.ascontiguousarray(divisor, np.int64),
        "spent": np.zeros(groups, bool),
        "recent": np.full(window, NONE, np.int32),
    }


def _token_arrays(texts: int, tokens: int, reserved: int) -> dict[str, np.ndarray]:
    """The texts of tokens and of names that no merge may give, of `reserved` symbols; the
    merges.
    """
    return {
        "store": np.empty(16 * texts + reserved, np.int32),
        "bounds": np.zeros(texts + 1, np.int64),
        "hashes": np.empty(texts, np.uint64),
        "token_slots": np.zeros(1 << (4 * texts).bit_length(), np.int32),
        "applied": np.zeros((tokens + 16, 3), np.int32),
    }


def _grown(state: State) -> State:
    """The state with longer arrays where one is short; `number[kernels.NEEDED]` places
    change next.
    """
    number = state.number
    needed = 4 * int(number[kernels.NEEDED]) + MAX_GROUPS
    pairs, places = number[kernels.PAIRS] + needed + 2, number[kernels.PLACES] + needed + 1
    wanted = {
        **dict.fromkeys(("keys", "total", "head", "sibling", "raised"), pairs),
        **dict.fromkeys(("place", "further"), places),
        **dict.fromkeys(("weight", "node", "left", "right"), number[kernels.NODES] + pairs),
        "applied": number[kernels.APPLIED] + 2,
        "waiting": number[kernels.WAITING] + needed + 1,
    }
    texts = int(number[kernels.RESERVED] + number[kernels.TOKENS])
    wanted |= {"bounds": texts + 4, "hashes": texts + 4}
    longest = int(np.diff(state.bounds[: texts + 1]).max(initial=0))
    wanted["store"] = state.bounds[texts] + 2 * longest + 1
    larger = {}
    for name, size in wanted.items():
        array = getattr(state, name)
        if len(array) < size:
            larger[name] = np.zeros(
                (max(int(size), len(array) * 3 // 2), *array.shape[1:]), array.dtype
            )
            larger[name][: len(array)] = array
    state = state._replace(**larger)
    if 2 * len(state.keys) > len(state.slots):
        state = state._replace(
            slots=np.zeros(1 << (2 * len(state.keys) - 1).bit_length(), np.int32)
        )
        kernels.fill_slots(state)
    return state


def token_names(alphabet: Alphabet, merges: np.ndarray) -> list[str]:
    """The tokens by number: the symbols, and those that `merges` (int32 [M, 3])
    give.
    """
    names = list(alphabet.names)
    for a, b, new in merges.tolist():
        if new == len(names):
            names.append(names[a] + names[b])
    return names


def merges_for(merges: np.ndarray, tokens: int, base: int) -> np.ndarray:
    """The first merges, those that a training for `tokens` tokens ends with; `base` is
    the number of symbols.
    """
    before = np.maximum.accumulate(np.concatenate([[base - 1], merges[:, 2]]))[:-1] + 1
    return merges[before < tokens]


def train(
    alphabet: Alphabet, words: Words, wanted: int, reserved: Sequence[str] = (), **options
) -> np.ndarray:
    """`apply` for the words of one or several texts."""
    counts = np.zeros((len(words), 2), np.int64)
    counts[:, 0] = words.counts.sum(1)
    return apply(alphabet, alphabet.symbols(words), counts, wanted, reserved=reserved, **options)


def piece_candidates(parts: Sequence[WordTypes], weights: Sequence[float], total: int) -> list[str]:
    """The first `total` tokens of one training on the trained types of several texts,
    in the order of merges.

    The lines of part k have the share `weights[k]` of the text. Types are cut wherever
    two neighbours cannot stand in one piece, so all tokens are valid pieces of
    `settings` of the parts, of two characters or more; only characters that their text
    requires are in them. The first tokens are those of a training for fewer. There are
    fewer than `total` where the text gives no more, and where more than a fiftieth are
    longer than a piece may be.
    """
    lines = [next(iter(part.sentences.values())) for part in parts]
    table = WordTable(0)
    for words, weight in zip(parts, line_weights(weights, lines).tolist(), strict=True):
        place, length, types = valid_stretches(words, any_length=True)
        counts = np.zeros((len(types), TEXTS), np.int64)
        counts[:, 0] = words.frequencies[types] * weight
        table.add_counted(words.text, place, length, counts)
    bounds = table.bounds[: table.known + 1]
    points, symbols = np.unique(table.store[: bounds[-1]], return_inverse=True)
    alphabet = Alphabet("characters", tuple(map(chr, points.tolist())), 0)
    longest = parts[0].settings.max_sentencepiece_length
    wanted = len(points) + total + total // 50
    merges = apply(alphabet, (symbols, bounds), table.counts[: table.known], wanted)
    names = token_names(alphabet, merges)[len(points) :]
    return [name for name in names if len(name) <= longest][:total]
