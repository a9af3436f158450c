"""The languages of a common descent: their states, EM, losses and models, with pieces
in a common numbering.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import numpy as np

from vocap.files.large_arrays import mapped
from vocap.tables.curve import Point
from vocap.tables.ladder import Ladder
from vocap.tables.piece_index import build, text_pieces
from vocap.tokenizer_files.model_file import read_pieces
from vocap.unigram import descent
from vocap.unigram.alp import average_log_probability
from vocap.unigram.em import THRESHOLD, approximate_counts, run_m_step
from vocap.unigram.given_pieces import BORDER, Trie, build_trie, fill_lattice, find_pieces
from vocap.unigram.ladder import final_model, finalise, token_counts
from vocap.unigram.lattice import Lattice, turns_of
from vocap.unigram.segmentation import CANDIDATE, DROP
from vocap.unigram.text_settings import TextSettings
from vocap.unigram.word_types import WordTypes

Item = TypeVar("Item")
Result = TypeVar("Result")

TEXTS = "train", "heldout"
TOKEN_PRICE = 32.0  # nats a token beside minus its log probability, while pieces are chosen


@dataclass(frozen=True)
class LanguageState:
    """A state of the descent in one language.

    `corpus` and `state`: those of the ladder. `numbers` int32 [P]: the common number of
    each piece of `corpus`. `counts` int64 [texts, types]: occurrences of the word types
    as `encode` sees them, in the training text and, where there is one, the held-out
    text; `lines` int64 [texts].
    """

    corpus: descent.DescentText
    state: descent.PieceState
    numbers: np.ndarray
    counts: np.ndarray
    lines: np.ndarray

    @property
    def alive(self) -> np.ndarray:
        """The common numbers of the n pieces of the state, int32 [n]."""
        return self.numbers[self.state.ids]


def texts_in(words: WordTypes) -> tuple[np.ndarray, np.ndarray]:
    """`counts` and `lines` of a `LanguageState`."""
    names = [name for name in TEXTS if words.sentences.get(name)]
    counts = np.stack([words.counts[name] for name in names])
    return counts, np.array([words.sentences[name] for name in names], np.int64)


def only(language: LanguageState, kept: np.ndarray) -> LanguageState:
    """The language without the pieces that `kept` (bool, by common number) lacks."""
    chosen = np.flatnonzero(kept[language.alive])
    if len(chosen) == len(language.state.ids):
        return language
    state = language.state
    state = descent.prune_pieces(
        language.corpus, state, chosen, state.scores[chosen], state.lattice
    )
    return replace(language, state=state)


def estimate(language: LanguageState, rounds: int, dropping: bool = True) -> LanguageState:
    """The language after so many rounds of EM.

    Pieces that are expected less than 0.5 times in it are dropped
    (`Trainer::RunMStep`), or else count as 0.5.
    """
    corpus, state = language.corpus, language.state
    for _ in range(rounds):
        if dropping:
            state = descent.run_em(corpus, state, approximate_counts)
        else:
            expected = np.maximum(descent.run_e_step(corpus, state, approximate_counts), THRESHOLD)
            state = replace(state, scores=run_m_step(expected)[1])
    return replace(language, state=state)


def losses_in_language(language: LanguageState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pieces in use, int32 common numbers; the loss of likelihood without each,
    float64, nats a line; scores.
    """
    verdict, loss, total = descent.piece_losses(language.corpus, language.state)
    used = verdict != DROP
    nats = np.where(
        verdict == CANDIDATE, np.maximum(loss, 0) * (float(total) / int(language.lines[0])), 0.0
    )
    return language.alive[used], nats[used], language.state.scores[used]


@dataclass(frozen=True)
class Offer:
    """P pieces for every language, numbered from 0: `scores` float32 [P], first log
    probabilities; `length` int32 [P] in characters; `alphabetical` int32 [P], their
    ranks by text.
    """

    pieces: Sequence[str]
    scores: np.ndarray
    trie: Trie
    length: np.ndarray
    alphabetical: np.ndarray


def make_offer(pieces: Sequence[str], scores: np.ndarray) -> Offer:
    """The offer of distinct pieces with these scores."""
    alphabetical = np.empty(len(pieces), np.int32)
    alphabetical[sorted(range(len(pieces)), key=pieces.__getitem__)] = np.arange(
        len(pieces), dtype=np.int32
    )
    length = np.fromiter(map(len, pieces), np.int32, len(pieces))
    return Offer(pieces, scores, build_trie(pieces), length, alphabetical)


def with_pieces(words: WordTypes, offer: Offer, memory: int | None = None) -> LanguageState:
    """A language with the pieces on offer that occur in its text, in new lattices, in
    files as by `fill_lattice`.

    Their common numbers are those of the offer. A token costs `TOKEN_PRICE` more until
    `offer_again`.
    """
    types = words.text, words.start, words.length, words.frequencies
    corpus, state, numbers = _offered(*types, offer, memory, TOKEN_PRICE)
    return LanguageState(corpus, state, numbers, *texts_in(words))


def offer_again(language: LanguageState, offer: Offer, memory: int | None = None) -> LanguageState:
    """The language with the pieces on offer that occur in its text, as `with_pieces`,
    without a token price.
    """
    corpus, lattice = language.corpus, language.state.lattice
    corpus, state, numbers = _offered(
        corpus.text, lattice.start, lattice.size, corpus.frequency, offer, memory
    )
    return replace(language, corpus=corpus, state=state, numbers=numbers)


def _offered(
    text: np.ndarray,
    start: np.ndarray,
    length: np.ndarray,
    frequency: np.ndarray,
    offer: Offer,
    memory: int | None,
    token_price: float = 0.0,
) -> tuple[descent.DescentText, descent.PieceState, np.ndarray]:
    """The corpus and the first state of the types
    `text[start[t]:start[t] + length[t]]`, and the pieces' numbers.

    Single characters come first, as the required ones of a `Corpus`: types hold no
    others that are pieces.
    """
    bordered = text.copy()
    bordered[start + length] = bordered[start - 1] = (
        BORDER  # one character or two lie between types
    )
    first, edges, place = find_pieces(bordered, offer.trie, len(offer.pieces), memory)
    pieces = np.flatnonzero(place >= 0)
    pieces = pieces[np.argsort(offer.length[pieces] > 1, kind="stable")]
    local = np.full(len(offer.pieces) + 1, len(pieces), np.int32)
    local[pieces] = np.arange(len(pieces), dtype=np.int32)
    piece, sizes = fill_lattice(bordered, offer.trie, local, edges, memory)
    lattice = Lattice(first, piece, sizes, start, length, turns_of(first))
    corpus = descent.DescentText(
        text,
        frequency,
        place[pieces],
        offer.length[pieces],
        offer.alphabetical[pieces],
        int(np.count_nonzero(offer.length[pieces] == 1)),
        token_price=token_price,
    )
    ids = np.arange(len(pieces), dtype=np.int32)
    state = descent.PieceState(ids, offer.scores[pieces], ids, lattice)
    return corpus, state, pieces.astype(np.int32)


@dataclass(frozen=True)
class LanguageUnigram:
    """A language's model on the common pieces: `numbers` int32 of those that it holds,
    best first.

    `size`: ids of the model, the meta pieces included; `model`: the SentencePiece file;
    `alp`: nats a line, of the training text and of the held-out text, if there is one;
    `tokens_per_sentence`, `lines`: of the training text.
    """

    numbers: np.ndarray
    size: int
    model: bytes
    alp: list[float]
    tokens_per_sentence: float
    lines: int

    @property
    def ladder(self) -> Ladder:
        """The model as a ladder of one size."""
        index = build([self.size], [text_pieces(read_pieces(self.model))])
        return Ladder([self.point], index, None, self.lines, {self.size: self.model})

    @property
    def point(self) -> Point:
        """The model as the row of a curve."""
        heldout = self.alp[1] if len(self.alp) > 1 else None
        return Point(self.size, self.size, self.alp[0], heldout, self.tokens_per_sentence)


def make_model(
    language: LanguageState, coverage: float, forced: np.ndarray, settings: TextSettings
) -> LanguageUnigram:
    """The unigram model of the language; the `forced` common numbers are pieces of it
    too, at the lowest score.

    ALP counts characters without a piece as <unk>, and no line with a user-defined
    symbol.
    """
    corpus, state = language.corpus, language.state
    extra = np.flatnonzero(np.isin(language.numbers, np.setdiff1d(forced, language.alive))).astype(
        np.int32
    )
    scores = np.concatenate([state.scores, np.full(len(extra), state.scores.min(), np.float32)])
    with_forced = replace(state, ids=np.concatenate([state.ids, extra]), scores=scores)
    final = finalise(corpus, with_forced, len(corpus.piece_place))
    (counts,) = token_counts(corpus, state, [final], language.counts)
    lines = language.lines.tolist()
    return LanguageUnigram(
        language.numbers[final.ids],
        len(final.ids) + len(settings.metas),
        final_model(corpus, final, coverage, settings),
        [
            average_log_probability(counted, size)
            for counted, size in zip(counts, lines, strict=True)
        ],
        int(counts[0].sum()) / lines[0],
        lines[0],
    )


class LanguageStore:
    """Languages by code, in the order in which they were put.

    `budget` bytes of arrays stay in memory; those of each language beyond them lie in
    files of `folder`, which exists, and are mapped.
    """

    def __init__(self, folder: Path, budget: int):
        self._folder, self._free = folder, budget
        self._held: dict[str, LanguageState | dict[str, Path]] = {}
        self._bytes: dict[str, int] = {}  # in memory; recorded, as a step shortens arrays in place

    def put(self, code: str, language: LanguageState) -> None:
        """Keep a language; it takes the place of an earlier state of its own."""
        arrays = _flatten(language)
        size = sum(array.nbytes for array in arrays.values() if isinstance(array, np.ndarray))
        self._free += self._bytes.pop(code, 0)
        if size <= self._free:
            self._free -= size
            self._bytes[code], self._held[code] = size, language
        else:
            paths = self._held[code] = {}
            for name, value in arrays.items():
                paths[name] = self._folder / f"{code}{name}.npy"
                # beside it, as the value may be a part of this file
                written = self._folder / f"{code}.new.npy"
                np.save(written, value)
                written.replace(paths[name])

    def get(self, code: str) -> LanguageState:
        held = self._held[code]
        if isinstance(held, LanguageState):
            return held
        return _restore(LanguageState, {name: mapped(path) for name, path in held.items()})

    def step(
        self, function: Callable[[str, LanguageState], tuple[LanguageState, Any]], threads: int = 1
    ) -> Iterator[tuple[str, Any]]:
        """Take every language one step further: `function` gives its new state and a result.

        Yields code and result in the order of the languages, whatever the number of
        `threads`.
        """
        codes = {code: code for code in self._held}
        for code, (language, result) in in_order(
            codes, lambda code: function(code, self.get(code)), threads
        ):
            self.put(code, language)
            yield code, result


def in_order(
    items: Mapping[str, Item], function: Callable[[Item], Result], threads: int
) -> Iterator[tuple[str, Result]]:
    """Key and `function(value)` in the order of the items, so many at a time."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[str, Future[Result]]] = deque()
        for key, value in items.items():
            waiting.append((key, pool.submit(function, value)))
            if len(waiting) > threads:
                key, future = waiting.popleft()
                yield key, future.result()
        for key, future in waiting:
            yield key, future.result()


def _kinds(kind: Any) -> dict[str, Any]:
    """The types of the fields of a dataclass or NamedTuple; none for another type."""
    return get_type_hints(kind) if is_dataclass(kind) or hasattr(kind, "_fields") else {}


def _flatten(value: Any, name: str = "") -> dict[str, Any]:
    """The arrays and numbers in nested records, by their path."""
    found: dict[str, Any] = {}
    for field in _kinds(type(value)):
        found |= _flatten(getattr(value, field), f"{name}.{field}")
    return found or {name: value}


def _restore(kind: Any, held: Mapping[str, np.ndarray], name: str = "") -> Any:
    """The inverse of `_flatten`, for a record of this kind."""
    kinds = _kinds(kind)
    if kinds:
        return kind(*(_restore(own, held, f"{name}.{field}") for field, own in kinds.items()))
    return held[name] if held[name].ndim else held[name].item()


@dataclass(frozen=True)
class Round:
    """All languages after a round of EM, added up: arrays of [pieces].

    `used` bool; `loss` float64, weighted nats a line; `scores` float32, the best log
    probability in any language.
    """

    used: np.ndarray
    loss: np.ndarray
    scores: np.ndarray

    @property
    def size(self) -> int:
        return int(np.count_nonzero(self.used))

    def best(self, required: np.ndarray, size: int) -> np.ndarray:
        """The required pieces, and of the others in use those with the largest losses,
        `size` in all: bool.
        """
        kept = required.copy()
        others = np.flatnonzero(self.used & ~kept)
        order = others[np.argsort(-self.loss[others], kind="stable")]
        kept[order[: max(0, size - int(np.count_nonzero(kept)))]] = True
        return kept


def play_round(
    languages: LanguageStore,
    weights: Mapping[str, float],
    required: np.ndarray,
    step: Callable[[LanguageState], LanguageState],
    threads: int,
) -> Round:
    """`step` takes every language to its next state, whose losses are added up in the
    order of the languages.
    """

    def advance(
        code: str, language: LanguageState
    ) -> tuple[LanguageState, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        language = step(language)
        return language, losses_in_language(language)

    used, loss = required.copy(), np.zeros(len(required))
    best = np.full(len(required), -np.inf, np.float32)
    for code, (numbers, nats, scores) in languages.step(advance, threads):
        used[numbers] = True
        loss[numbers] += weights[code] * nats  # the numbers of one language are distinct
        np.maximum.at(best, numbers, scores)
    # characters that EM has dropped everywhere
    best[used & np.isneginf(best)] = best[np.isfinite(best)].min()
    return Round(used, loss, best)


def prune(language: LanguageState, kept: np.ndarray, dropping: bool) -> LanguageState:
    """The language without the pieces that `kept` lacks, after rounds of EM."""
    return estimate(only(language, kept), descent.SUB_ITERATIONS, dropping)
