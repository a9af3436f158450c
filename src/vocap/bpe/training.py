"""The merges of byte-pair encoding, chosen by weighted counts or by the language that
is worst off.

A training for T tokens is the beginning of one for more, so one training gives every
size.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vocap.bpe import kernels
from vocap.bpe.kernels import MAX_GROUPS, MAX_SYMBOLS, NONE, REGISTER, START, TOKEN
from vocap.bpe.state import COUNTERS, PAIR, Heaps, Pairs, State, Symbols
from vocap.bpe.words import AT_ONCE, Alphabet, Words
from vocap.errors import VocapError
from vocap.tables.sampling_probabilities import line_weights
from vocap.unigram.seeds import code_point_counts, ranks, valid_stretches
from vocap.unigram.word_table import TEXTS, WordStore, WordTable
from vocap.unigram.word_types import WordTypes

MERGES = 2000  # between two looks at interruptions and progress
MAX_WEIGHT = 1 << 62
PAIRS_AT_FIRST = 1 << 12  # that there is space for: the arrays grow
PROCESS = 200 * 10**6  # bytes of memory that a process takes before it trains
MAX_PLACES = 1 << 32  # that 32 bits number
SMALLEST = 64  # symbols for each place that lists have at least

NO_MERGES = np.empty((0, 2), np.int32)

Record = TypeVar("Record", Pairs, Heaps, WordStore)


class Groups(NamedTuple):
    """Groups of words and how they choose merges: the `group` int32 [K] of each word,
    the `divisor` int64 [groups] of the tokens of each, how many choices `window` are
    looked back on, and whether ties are broken `by_text`.
    """

    group: NDArray[np.int32]
    divisor: NDArray[np.int64]
    window: int = 0
    by_text: bool = False


@dataclass(frozen=True)
class Execution:
    """How a training runs: in a process of how many MB of `memory`, None for no limit, as far
    as its words and pairs allow; `progress` gets the number of tokens, now and then.
    """

    memory: int | None = None
    progress: Callable[[int], None] = lambda tokens: None

    def most_places(self, symbols: NDArray[np.int32], counts: NDArray[np.int64]) -> int | None:
        """How many places the lists of pairs may hold, beside so many symbols and counts of
        words; None for no limit.
        """
        if self.memory is None:
            return None
        # A place takes 8 bytes; pairs, their heaps and work on them twice as much
        left = self.memory * 10**6 - PROCESS - symbols.nbytes - 3 * counts.nbytes
        return max(left // 24, len(symbols) // SMALLEST)


UNLIMITED = Execution()


def apply(
    alphabet: Alphabet,
    symbols: tuple[np.ndarray, np.ndarray],
    counts: np.ndarray,
    wanted: int = 0,
    given: np.ndarray | None = None,
    reserved: Sequence[str] = (),
    groups: Groups | None = None,
    execution: Execution = UNLIMITED,
) -> np.ndarray:
    """Apply `given` merges (int32 [M, 2] or more columns), then choose others until
    there are `wanted` tokens.

    Returns all merges in their order, int32 [M, 3]: both symbols, the new one.

    `symbols` as of `Alphabet.symbols`, overwritten, at least one of each word; `counts`
    int64 [K, 1 or 2]: of each word its weight, and its occurrences in a second text.
    Chosen is the heaviest pair; of equal ones the first (`BpeTrainer` of `tokenizers`).
    With `groups`, chosen is the heaviest pair of the group whose second text has the most
    tokens over `divisor`; groups of divisor 0 never choose, and none has more than twice
    its share of the last `window` merges; `by_text`: of equal pairs that of the last
    tokens (`ParityBpeTrainer`). `reserved`: names that no merge may give. `execution`
    changes no merge. Raises VocapError for weights whose sums 64 bits do not hold.
    """
    check_weight(float(np.dot(counts[:, 0].astype(np.float64), np.diff(symbols[1]))))
    given = NO_MERGES if given is None else np.ascontiguousarray(given[:, :2], np.int32)
    most = execution.most_places(symbols[0], counts)
    state = begin(alphabet, symbols, counts, wanted + len(given), reserved, groups)
    state = list_pairs(state, given, most)
    state = _advance(state, given, wanted, execution.progress, most)
    return state.applied[: state.counters[0]["applied"]].copy()


def _advance(
    state: State,
    given: np.ndarray,
    wanted: int,
    progress: Callable[[int], None],
    most: int | None = None,
) -> State:
    """The state after all `given` merges and those up to `wanted` tokens; `most` as of
    `list_pairs`.
    """
    listed = NONE  # merges at the last time that lists were made
    while (result := kernels.advance(state, given, wanted, MERGES)) != kernels.ENDED:
        count = state.counters[0]
        used = count["places"] - count["unused"] + count["new_places"]
        is_short = most is not None and used >= len(state.pairs.places)
        if result == kernels.UNLISTED or (
            result == kernels.FULL and is_short and count["applied"] > listed
        ):
            state, listed = list_again(state, given, most), int(count["applied"])
        elif result == kernels.FULL:
            state = grown(state)
        progress(int(state.counters[0]["tokens"]))
    return state


def count_merged_tokens(
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
    symbols = concatenate(alphabet, own)
    state = list_pairs(begin(alphabet, symbols, counts, len(merges)))
    tokens = len(token_names(alphabet, merges))
    for rank in ranks:
        state = _advance(state, np.ascontiguousarray(merges[:rank, :2]), 0, lambda reached: None)
        symbol = state.symbols.symbol
        places = np.flatnonzero(symbol != NONE)
        word, found = np.cumsum(symbol >= START)[places] - 1, np.zeros((len(own), tokens), np.int64)
        np.add.at(found, (owner[word], symbol[places] & TOKEN), counts[word, 0])
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
            f"weighted counts add up to {total:.3g}, beyond 64 bits; give smaller weights, or "
            "less parallel text"
        )


def begin(
    alphabet: Alphabet,
    symbols: tuple[NDArray[np.int32], NDArray[np.int64]],
    counts: NDArray[np.int64],
    tokens: int,
    reserved: Sequence[str] = (),
    groups: Groups | None = None,
) -> State:
    """The state of a training with `tokens` more tokens, before its pairs are counted."""
    text, starts = symbols
    words, base = len(starts) - 1, len(alphabet.names)
    groups = groups or Groups(np.zeros(words, np.int32), np.ones(1, np.int64))
    if base + tokens >= MAX_SYMBOLS or len(groups.divisor) > MAX_GROUPS or len(text) > MAX_PLACES:
        raise VocapError(
            f"{len(text)} symbols of words, {tokens} tokens and {len(groups.divisor)} languages "
            "are too many; train on fewer lines, or for fewer tokens"
        )
    number = {name: symbol for symbol, name in enumerate(alphabet.names)}
    kept = [
        list(map(number.__getitem__, name))
        for name in reserved
        if name and number.keys() >= set(name)
    ]
    state = State(
        symbols=unmarked_symbols(text, counts, groups.group),
        pairs=no_pairs(),
        heaps=empty_heaps(groups),
        texts=no_texts(base + tokens + len(kept) + 2, sum(map(len, kept))),
        applied=np.zeros((tokens + 16, 3), np.int32),
        waiting=np.empty(PAIRS_AT_FIRST, np.int64),
        counters=np.zeros(1, COUNTERS),
    )
    for name in ("free_place", "free_node", "chosen_first"):
        state.counters[name] = NONE
    state.counters["by_text"] = groups.by_text
    # Words, names that no merge may give
    kernels.mark_words(state, starts, base)
    # `kernels.is_longer` compares such products
    check_weight(float(state.heaps.length.max(initial=0)) * groups.divisor.max(initial=0))
    bounds = np.cumsum([0, *map(len, kept)])
    kernels.reserve_texts(state, np.array([*chain(*kept)], np.int32), bounds)
    return state


def list_again(state: State, given: NDArray[np.int32], most: int | None) -> State:
    """The state with lists of the pairs that are heavy now, and without the symbols that
    went into others.
    """
    size = kernels.close_up(state)
    state.symbols.symbol.resize(size, refcheck=False)
    state.symbols.before.resize(size // kernels.BLOCK + 1, refcheck=False)
    # Of the pairs stays the register of those that were merged
    rows, count = state.pairs.rows, state.counters[0]
    rows = rows[: count["pairs"]]
    merged = rows[rows["key"] & np.uint64(REGISTER) == REGISTER]
    rows[: len(merged)] = merged
    count["pairs"], count["places"], count["unused"], count["free_place"] = len(merged), 0, 0, NONE
    state.pairs.first[:] = NONE
    kernels.fill_pair_slots(state)
    return list_pairs(state, given, most)


def list_pairs(
    state: State, given: NDArray[np.int32] = NO_MERGES, most: int | None = None
) -> State:
    """The state with the weights of all pairs, and lists of the heaviest pairs of each group
    and of the next `given` merges; of all pairs without `most`.

    The lists take half of the `most` places, or more for the heaviest pair: pairs that
    merges give need the others.
    """
    state = state._replace(pairs=state.pairs._replace(places=np.empty((0, 2), np.int32)))
    at = 0
    while (at := kernels.count_pairs(state, at)) < len(state.symbols.symbol):
        state = grown(state)
    kernels.set_floors(state)
    state.counters["new_pairs"] = state.counters["new_places"] = 0
    state = grown(state)  # heaps that hold all pairs
    least, rows = state.heaps.floor * 0, state.pairs.rows[: state.counters[0]["pairs"]]
    if most is None:
        least[:] = np.iinfo(np.int64).min
    else:
        least[:] = list(least_weights(rows, len(least), most // 2))
    kernels.choose_listed(state, least, given, (most or 0) // 2)
    listed = int(rows["size"].sum(where=rows["listed"] > 0, dtype=np.int64))
    places = np.empty((max(listed, most or 2 * listed) + 16, 2), np.int32)
    state = state._replace(pairs=state.pairs._replace(places=places))
    kernels.list_places(state)
    return state


def least_weights(rows: NDArray[np.void], groups: int, most: int) -> Iterator[int]:
    """For each group the weight from which on its pairs have lists: so many that these
    take the group's share of `most` places, but at least the heaviest pair.
    """
    group, size = rows["key"] & np.uint64(REGISTER), rows["size"]
    share = most / max(size.sum(dtype=np.int64), 1)
    for number in range(groups):
        own = np.flatnonzero((group == number) & (rows["total"] > 0))
        own = own[np.argsort(-rows["total"][own])]
        above = np.cumsum(size[own], dtype=np.int64)
        kept = int(np.count_nonzero(above <= share * above[-1:]))
        yield int(rows["total"][own[max(kept - 1, 0)]]) if len(own) else 1


def unmarked_symbols(
    symbols: NDArray[np.int32], counts: NDArray[np.int64], group: NDArray[np.int32]
) -> Symbols:
    """The symbols of words, taken over, before their first ones are marked."""
    return Symbols(
        # its own memory: it is made shorter in place
        symbol=np.require(symbols, np.int32, ["C", "O", "W"]),
        before=np.empty(len(symbols) // kernels.BLOCK + 1, np.int32),
        counts=np.ascontiguousarray(counts, np.int64),
        group=np.ascontiguousarray(group, np.int32),
    )


def no_pairs() -> Pairs:
    """Space for pairs, of which there are few."""
    return Pairs(
        rows=np.empty(PAIRS_AT_FIRST, PAIR),
        slots=np.zeros(2 * PAIRS_AT_FIRST, np.int32),
        places=np.empty((0, 2), np.int32),
        first=np.full(MAX_GROUPS + 1, NONE, np.int32),
    )


def empty_heaps(groups: Groups) -> Heaps:
    """A heap for each group, without nodes."""
    count, nodes = len(groups.divisor), 2 * PAIRS_AT_FIRST
    return Heaps(
        root=np.full(count, NONE, np.int32),
        floor=np.ones(count, np.int64),
        length=np.zeros(count, np.int64),
        divisor=np.ascontiguousarray(groups.divisor, np.int64),
        spent=np.zeros(count, bool),
        recent=np.full(groups.window, NONE, np.int32),
        weight=np.empty(nodes, np.int64),
        node=np.empty(nodes, np.int32),
        left=np.empty(nodes, np.int32),
        right=np.empty(nodes, np.int32),
    )


def no_texts(texts: int, reserved: int) -> WordStore:
    """Space for the texts of tokens and of names that no merge may give, these of
    `reserved` symbols.
    """
    return WordStore(
        points=np.empty(16 * texts + reserved, np.int32),
        bounds=np.zeros(texts + 1, np.int64),
        hashes=np.empty(texts, np.uint64),
        slots=np.zeros(1 << (4 * texts).bit_length(), np.int32),
    )


def grown(state: State) -> State:
    """The state with longer arrays where one is short of space for the next merge, which
    adds `new_places` and `new_pairs` at most.
    """
    count = state.counters[0]
    new, known = count["new_pairs"] + MAX_GROUPS + 2, count["pairs"]
    # All pairs may enter a heap at once, where its floor is lowered
    nodes = (count["nodes"], count["nodes"] + known + 2 * new)
    texts = int(count["reserved"] + count["tokens"])
    # A new token joins two texts
    longest = int(np.diff(state.texts.bounds[: texts + 1]).max(initial=0))
    points = state.texts.bounds[texts]
    places = count["places"]
    state = state._replace(
        pairs=with_space(
            state.pairs,
            rows=(known, known + new),
            places=(places, places - count["unused"] + 2 * count["new_places"] + 1),
        ),
        heaps=with_space(state.heaps, weight=nodes, node=nodes, left=nodes, right=nodes),
        texts=with_space(
            state.texts,
            points=(points, points + 2 * longest + 1),
            bounds=(texts + 1, texts + 4),
            hashes=(texts, texts + 4),
        ),
        applied=longer(state.applied, count["applied"], count["applied"] + 2),
        waiting=longer(state.waiting, count["waiting"], count["waiting"] + new),
    )
    size = len(state.pairs.rows)
    if 2 * size > len(state.pairs.slots):
        slots = np.zeros(1 << (2 * size - 1).bit_length(), np.int32)
        state = state._replace(pairs=state.pairs._replace(slots=slots))
        kernels.fill_pair_slots(state)
    return state


def with_space(record: Record, **sizes: tuple[int, int]) -> Record:
    """The record with longer arrays: of each, the rows in use and those that it needs."""
    arrays = {name: longer(getattr(record, name), *size) for name, size in sizes.items()}
    return record._replace(**arrays)


def longer(array: np.ndarray, used: int, size: int) -> np.ndarray:
    """An array of `size` rows or more, which begins as this one; rows not in use take no
    memory.
    """
    if len(array) >= size:
        return array
    found = np.zeros((max(int(size), len(array) * 3 // 2), *array.shape[1:]), array.dtype)
    found[:used] = array[:used]
    return found


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


def piece_candidates(
    parts: Sequence[WordTypes],
    weights: Sequence[float],
    total: int,
    execution: Execution = UNLIMITED,
) -> list[str]:
    """The first `total` tokens of one training on the trained types of several texts,
    in the order of merges.

    The lines of part k have the share `weights[k]` of the text. Types are cut wherever
    two neighbours cannot stand in one piece, so all tokens are valid pieces of
    `settings` of the parts, of two characters or more; only characters that their text
    requires are in them. The first tokens are those of a training for fewer. There are
    fewer than `total` where the text gives no more, and where more than a fiftieth are
    longer than a piece may be. `execution` changes no token.
    """
    lines = [next(iter(part.sentences.values())) for part in parts]
    table = WordTable(0, execution.memory)
    for words, weight in zip(parts, line_weights(weights, lines).tolist(), strict=True):
        place, length, types = valid_stretches(words)
        counts = np.zeros((len(types), TEXTS), np.int64)
        counts[:, 0] = words.frequencies[types] * weight
        table.add_counted(words.text, place, length, counts)
    table.close()
    symbols, bounds, counts = table.store, table.bounds, table.counts[:, :1].copy()
    del table
    points, number = np.flatnonzero(code_point_counts(symbols)), ranks(symbols) - 1
    for first in range(0, len(symbols), AT_ONCE):  # in place: no second copy of the text
        some = symbols[first : first + AT_ONCE]
        some[:] = number[some]
    alphabet = Alphabet(tuple(map(chr, points.tolist())))
    wanted = len(points) + total + total // 50
    merges = apply(alphabet, (symbols, bounds), counts, wanted, execution=execution)
    longest = parts[0].settings.max_sentencepiece_length
    return [name for name in token_names(alphabet, merges) if 1 < len(name) <= longest][:total]
