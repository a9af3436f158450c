"""The common descent of rule `pieces`: states of the languages, and its trunk, the part that does not depend on T.

The rule maximises Equation 2, sum_i q_i^beta ALP_i(V), over one set V of T - 5 pieces that all languages share.
Every language keeps its own word types, lattices and unigram probabilities, as in the ladder; only the pruning is
common: the value of a piece is the sum, over languages, of weight x loss of likelihood without it in nats a line
(`Trainer::PruneSentencePieces`).

    trunk:  every language alone, by the ladder's own rule, down to a list that the whole union can hold; then
            rounds of EM twice in every language, and pruning of the union to three quarters. Beside it a pool:
            rungs of the texts of all languages together, as JOINT descends; and whole words
    branch: (`vocap.allocation.branch`) the lowest rung of the trunk, and of the pool, with T - 5 pieces, and as
            many words, offered to every language whose text holds them; EM; rounds that prune a tenth, and end at
            exactly T - 5 pieces
"""

import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from vocap.errors import VocapError
from vocap.files.atomic import replacing
from vocap.progress import Steps
from vocap.tables.sampling_probabilities import line_weights
from vocap.unigram import descent
from vocap.unigram.em import THRESHOLD, expected_counts, maximise
from vocap.unigram.kernels import kernel
from vocap.unigram.pruning import CANDIDATE, DROP, pruned_size
from vocap.unigram.seeds import valid_stretches
from vocap.unigram.word_table import WordTable, find_word
from vocap.unigram.word_types import WordTypes, join_word_types, most_frequent_types

TEXTS = "train", "heldout"
SEEDS = 4_000_000  # pieces of all languages together that enter the common descent, at most
TRUNK_RATE = 0.75  # shrinking_factor of SentencePiece's trainer
POOL_RATE = 0.5  # of the pool, which gives candidates alone
POOL_CHARACTERS = 50_000_000  # of distinct words of all languages in the pool, at most
WORDS = 1_000_000  # of a trunk, at most
OCCURRENCES = 2  # of a word in one language, as of a seed

Texts = Mapping[str, Callable[[], WordTypes]]
expect = partial(expected_counts, arithmetic="fast")


@dataclass(frozen=True)
class Language:
    """A state of the descent in one language.

    `corpus` and `state`: those of the ladder. `numbers` int32 [P]: the common number of each piece of `corpus`.
    `counts` int64 [texts, types]: occurrences of the word types as `encode` sees them, in the training text and,
    where there is one, the held-out text; `lines` int64 [texts].
    """

    corpus: descent.Corpus
    state: descent.State
    numbers: np.ndarray
    counts: np.ndarray
    lines: np.ndarray

    @property
    def alive(self) -> np.ndarray:
        """The common numbers of the n pieces of the state, int32 [n]."""
        return self.numbers[self.state.ids]


def texts_in(words: WordTypes) -> tuple[np.ndarray, np.ndarray]:
    """`counts` and `lines` of a `Language`."""
    names = [name for name in TEXTS if words.sentences.get(name)]
    counts = np.stack([words.counts[name] for name in names])
    return counts, np.array([words.sentences[name] for name in names], np.int64)


def only(language: Language, kept: np.ndarray) -> Language:
    """The language without the pieces that `kept` (bool, by common number) lacks."""
    chosen = np.flatnonzero(kept[language.alive])
    if len(chosen) == len(language.state.ids):
        return language
    state = language.state
    state = descent.reduce(language.corpus, state, chosen, state.scores[chosen], state.lattice)
    return replace(language, state=state)


def estimate(language: Language, rounds: int, dropping: bool = True) -> Language:
    """The language after so many rounds of EM.

    Pieces that are expected less than 0.5 times in it are dropped (`Trainer::RunMStep`), or else count as 0.5.
    """
    corpus, state = language.corpus, language.state
    for _ in range(rounds):
        if dropping:
            state = descent.expectation_maximisation(corpus, state, expect)
        else:
            expected = np.maximum(descent.expected(corpus, state, expect), THRESHOLD)
            state = replace(state, scores=maximise(expected)[1])
    return replace(language, state=state)


def losses(language: Language) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pieces in use, int32 common numbers; the loss of likelihood without each, float64, nats a line;
    scores.
    """
    verdict, loss, total = descent.losses(language.corpus, language.state)
    used = verdict != DROP
    nats = np.where(verdict == CANDIDATE, np.maximum(loss, 0) * (float(total) / int(language.lines[0])), 0.0)
    return language.alive[used], nats[used], language.state.scores[used]


class LanguageStore:
    """Languages by code, in the order in which they were put.

    `budget` bytes of arrays stay in memory; each language beyond them lies in a file of `folder`, which exists.
    """

    def __init__(self, folder: Path, budget: int):
        self._folder, self._free = folder, budget
        self._held: dict[str, Language | Path] = {}
        self._bytes: dict[str, int] = {}  # in memory; recorded, as a step shortens arrays in place

    def put(self, code: str, language: Language) -> None:
        """Keep a language; it takes the place of an earlier state of its own."""
        arrays = _flatten(language)
        size = sum(array.nbytes for array in arrays.values() if isinstance(array, np.ndarray))
        self._free += self._bytes.pop(code, 0)
        if size <= self._free:
            self._free -= size
            self._bytes[code], self._held[code] = size, language
        else:
            self._held[code] = self._folder / f"{code}.npz"
            np.savez(self._held[code], **arrays)

    def get(self, code: str) -> Language:
        held = self._held[code]
        if isinstance(held, Language):
            return held
        with np.load(held, allow_pickle=False) as arrays:
            return _restore(Language, arrays)

    def step(
        self, function: Callable[[str, Language], tuple[Language, Any]], threads: int = 1
    ) -> Iterator[tuple[str, Any]]:
        """Take every language one step further: `function` gives its new state and a result.

        Yields code and result in the order of the languages, whatever the number of `threads`.
        """
        codes = {code: code for code in self._held}
        for code, (language, result) in in_order(codes, lambda code: function(code, self.get(code)), threads):
            self.put(code, language)
            yield code, result


def in_order(items: Mapping[str, object], function: Callable, threads: int) -> Iterator[tuple[str, object]]:
    """Key and `function(value)` in the order of the items, so many at a time."""
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque()
        for key, value in items.items():
            waiting.append((key, pool.submit(function, value)))
            if len(waiting) > threads:
                key, future = waiting.popleft()
                yield key, future.result()
        for key, future in waiting:
            yield key, future.result()


def _flatten(value: Any, name: str = "") -> dict[str, Any]:
    """The arrays and numbers in nested dataclasses, by their path."""
    if not is_dataclass(value):
        return {name: value}
    parts = (_flatten(getattr(value, field.name), f"{name}.{field.name}") for field in fields(value))
    return {path: part for own in parts for path, part in own.items()}


def _restore(kind: type, held: Mapping[str, np.ndarray], name: str = "") -> Any:
    """The inverse of `_flatten`, for a dataclass of this kind."""
    if is_dataclass(kind):
        return kind(*(_restore(field.type, held, f"{name}.{field.name}") for field in fields(kind)))
    return held[name] if kind is np.ndarray else held[name].item()


class PieceTable:
    """Distinct pieces, maybe millions, numbered as they are added: piece k is `store[bounds[k]:bounds[k + 1]]`."""

    def __init__(self):
        self._table = WordTable(texts=0)

    def __len__(self) -> int:
        return self._table.known

    def add(self, text: np.ndarray, place: np.ndarray, length: np.ndarray) -> np.ndarray:
        """The numbers of the pieces `text[place[i]:place[i] + length[i]]`, int32 [i]; new pieces get new ones."""
        table = self._table
        table.reserve(len(place), int(length.sum(dtype=np.int64)))
        numbers = np.empty(len(place), np.int32)
        table.known = number_pieces(text, place, length, numbers, table.known, *table.arrays())
        return numbers

    def strings(self, numbers: np.ndarray) -> list[str]:
        """The pieces of these numbers."""
        store, bounds = self._table.store, self._table.bounds
        begins, ends = bounds[numbers].tolist(), bounds[numbers + 1].tolist()
        return [store[begin:end].tobytes().decode("utf-32-le") for begin, end in zip(begins, ends, strict=True)]


@kernel(
    "int64(int32[::1], int32[::1], int32[::1], int32[::1], int64, int32[::1], int64[::1], uint64[::1], int32[::1])"
)
def number_pieces(text, place, length, numbers, known, store, bounds, hashes, slots):
    """Fill `numbers`; returns how many pieces are known now."""
    for piece in range(place.size):
        number = find_word(text, place[piece], place[piece] + length[piece], known, store, bounds, hashes, slots)
        numbers[piece] = number
        known = max(known, number + 1)
    return known


def prune_alone(words: WordTypes, most: int) -> tuple[WordTypes, descent.Corpus, descent.State]:
    """The ladder's descent in one language, down to `most` pieces at most (and its required characters)."""
    corpus, state = descent.seed(words)
    while True:
        for _ in range(descent.SUB_ITERATIONS):
            state = descent.expectation_maximisation(corpus, state, expect)
        size = len(state.ids)
        if size <= most:
            return words, *descent.compact(corpus, state)
        ranking = descent.prune_order(corpus, state)
        chosen = np.sort(ranking[: max(most, pruned_size(size))])
        state = descent.reduce(corpus, state, chosen, state.scores[chosen], state.lattice)


@dataclass(frozen=True)
class Rungs:
    """Nested lists of pieces: rung r holds the first `len(scores[r])` of `pieces`, float32 log probabilities."""

    pieces: list[str]
    scores: list[np.ndarray]

    def lowest_with(self, size: int) -> tuple[list[str], np.ndarray]:
        """The pieces and scores of the lowest rung that has `size` pieces, or of the first rung."""
        enough = [scores for scores in self.scores if len(scores) >= size]
        scores = enough[-1] if enough else self.scores[0]
        return self.pieces[: len(scores)], scores


@dataclass(frozen=True)
class Trunk:
    """The part of a descent that does not depend on T.

    `common`: rungs of the union; a score is the piece's best log probability in any language. `pool`: rungs of the
    texts of all languages together, as candidates. `required`: characters that every rung of `common` holds.
    `words`: whole words, the best first, and `word_scores` float32, as candidates too.
    """

    common: Rungs
    pool: Rungs
    required: frozenset[str]
    words: list[str]
    word_scores: np.ndarray

    def offer_for(self, capacity: int) -> tuple[list[str], np.ndarray]:
        """The pieces with which the branch to `capacity` pieces begins, and their scores float32."""
        pieces, scores = self.common.lowest_with(capacity)
        pieces, scores = _with_new(pieces, scores, *self.pool.lowest_with(capacity))
        return _with_new(pieces, scores, self.words, self.word_scores, capacity)


def _with_new(
    pieces: list[str], scores: np.ndarray, others: list[str], their_scores: np.ndarray, most: int | None = None
) -> tuple[list[str], np.ndarray]:
    """`pieces`, and up to `most` new ones of `others`, with the scores of all."""
    known = set(pieces)
    new = [number for number, piece in enumerate(others) if piece not in known][:most]
    return pieces + [others[number] for number in new], np.concatenate([scores, their_scores[new]])


@dataclass(frozen=True)
class Round:
    """All languages after a round of EM, added up: arrays of [pieces].

    `used` bool; `loss` float64, weighted nats a line; `scores` float32, the best log probability in any language.
    """

    used: np.ndarray
    loss: np.ndarray
    scores: np.ndarray

    @property
    def size(self) -> int:
        return int(np.count_nonzero(self.used))

    def best(self, required: np.ndarray, size: int) -> np.ndarray:
        """The required pieces, and of the others in use those with the largest losses, `size` in all: bool."""
        kept = required.copy()
        others = np.flatnonzero(self.used & ~kept)
        order = others[np.argsort(-self.loss[others], kind="stable")]
        kept[order[: max(0, size - int(np.count_nonzero(kept)))]] = True
        return kept


def play_round(
    languages: LanguageStore,
    weights: Mapping[str, float],
    required: np.ndarray,
    step: Callable[[Language], Language],
    threads: int,
) -> Round:
    """`step` takes every language to its next state, whose losses are added up in the order of the languages."""

    def advance(code: str, language: Language):
        language = step(language)
        return language, losses(language)

    used, loss = required.copy(), np.zeros(len(required))
    best = np.full(len(required), -np.inf, np.float32)
    for code, (numbers, nats, scores) in languages.step(advance, threads):
        used[numbers] = True
        loss[numbers] += weights[code] * nats  # the numbers of one language are distinct
        np.maximum.at(best, numbers, scores)
    best[used & np.isneginf(best)] = best[np.isfinite(best)].min()  # characters that EM has dropped everywhere
    return Round(used, loss, best)


def prune(language: Language, kept: np.ndarray, dropping: bool) -> Language:
    """The language without the pieces that `kept` lacks, after rounds of EM."""
    return estimate(only(language, kept), descent.SUB_ITERATIONS, dropping)


def grow_trunk(
    texts: Texts,
    weights: Mapping[str, float],
    required: Iterable[str],
    languages: LanguageStore,
    threads: int = 1,
) -> Trunk:
    """The trunk of all languages; `languages` is empty, and holds their states meanwhile.

    `texts`: word types by language; `required`: characters that every rung holds, besides those that the languages
    require.
    """
    # every language alone; candidates of all together
    union = PieceTable()
    most = SEEDS // len(texts)
    text = np.array([ord(character) for character in required], np.int32)
    numbers = union.add(text, np.arange(len(text), dtype=np.int32), np.ones(len(text), np.int32))
    needed, pooled, whole = [numbers], [], WholeWords(most)
    for code, (words, corpus, state) in in_order(texts, lambda count: prune_alone(count(), most), threads):
        numbers = union.add(corpus.text, corpus.piece_place, corpus.piece_length)
        needed.append(numbers[: corpus.required])
        languages.put(code, Language(corpus, state, numbers, *texts_in(words)))
        pooled.append(most_frequent_types(words, POOL_CHARACTERS // len(texts)))
        whole.add(pooled[-1], weights[code])
    pool = _pool(pooled, list(weights.values()))
    del pooled
    words = whole.best(WORDS)
    del whole

    # rounds of all languages, down to the required characters
    always = np.zeros(len(union), bool)
    always[np.concatenate(needed)] = True
    last, rungs = np.full(len(union), -1, np.int16), []
    kept = np.ones(len(union), bool)
    rounds = math.log(1.1 * np.count_nonzero(always) / len(union)) / math.log(TRUNK_RATE)
    with Steps("trunk", math.ceil(rounds)) as steps:
        while True:
            now = play_round(languages, weights, always, partial(prune, kept=kept, dropping=True), threads)
            steps.advance()
            last[now.used] = len(rungs)
            rungs.append(now.scores)
            if TRUNK_RATE * now.size < 1.1 * np.count_nonzero(always):
                break
            kept = now.best(always, int(TRUNK_RATE * now.size))
    order, scores = _nested(last, rungs)
    common, required = Rungs(union.strings(order), scores), union.strings(np.flatnonzero(always))
    return Trunk(common, pool, frozenset(required), *words)


def _pool(parts: Sequence[WordTypes], weights: Sequence[float]) -> Rungs:
    """Rungs of one descent over the word types of all languages, whose shares are in proportion to their weights.

    A piece that is rare in every language, but not in all together, is a candidate only here.
    """
    lines = [words.sentences["train"] for words in parts]
    times = line_weights(weights, lines).tolist()
    corpus, state = descent.seed(join_word_types(zip(parts, times, strict=True)))
    last, rungs = np.full(len(corpus.piece_place), -1, np.int16), []
    while True:
        for _ in range(descent.SUB_ITERATIONS):
            state = descent.expectation_maximisation(corpus, state, expect)
        last[state.ids] = len(rungs)
        rungs.append(np.full(len(last), -np.inf, np.float32))
        rungs[-1][state.ids] = state.scores
        size = int(POOL_RATE * len(state.ids))
        if size < 2 * corpus.required:
            break
        chosen = np.sort(descent.prune_order(corpus, state)[:size])
        state = descent.reduce(corpus, state, chosen, state.scores[chosen], state.lattice)
    order, scores = _nested(last, rungs)
    union = PieceTable()
    union.add(corpus.text, corpus.piece_place[order], corpus.piece_length[order])
    return Rungs(union.strings(np.arange(len(order))), scores)


def _nested(last: np.ndarray, scores: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """An order of the pieces in which every rung is a beginning, and the scores of each rung in it.

    `last` int16 [pieces]: a piece's lowest rung, -1 for none; `scores[r]` float32 [pieces].
    """
    order = np.argsort(-last, kind="stable")
    sizes = [np.count_nonzero(last >= rung) for rung in range(len(scores))]
    return order[: sizes[0]], [rung[order[:size]] for rung, size in zip(scores, sizes, strict=True)]


class WholeWords:
    """Whole words as candidates of a branch, each with its value: the sum over languages of weight x occurrences a
    line x characters.

    Classic seeds lack a word that the same character always follows, most often the next word's space; so at
    large T neither trunk nor pool holds enough of them. A word is here a stretch of a word type that is a valid
    piece, as long as possible: without the punctuation, for example, where no piece mixes scripts. At most `most`
    of each language are counted, those of the largest values in it.
    """

    def __init__(self, most: int):
        self._most = most
        self._table = PieceTable()
        self._values = np.zeros(0)
        self._scores = np.zeros(0, np.float32)

    def add(self, words: WordTypes, weight: float) -> None:
        """Count the words of one language."""
        place, length, types = valid_stretches(words)
        numbers = PieceTable().add(words.text, place, length)
        _, first = np.unique(numbers, return_index=True)
        occurrences = np.zeros(len(first), np.int64)
        np.add.at(occurrences, numbers, words.frequencies[types])
        total = occurrences.sum()
        best = np.argsort(-occurrences * length[first], kind="stable")[: self._most]
        best = np.sort(best[occurrences[best] >= OCCURRENCES])
        place, length, occurrences = place[first[best]], length[first[best]], occurrences[best]
        numbers = self._table.add(words.text, place, length)
        new = len(self._table) - len(self._values)
        self._values = np.append(self._values, np.zeros(new))
        self._scores = np.append(self._scores, np.full(new, -np.inf, np.float32))
        self._values[numbers] += weight / words.sentences["train"] * (occurrences * length)
        self._scores[numbers] = np.maximum(self._scores[numbers], np.log(occurrences / total).astype(np.float32))

    def best(self, most: int) -> tuple[list[str], np.ndarray]:
        """The `most` words of the largest values, by (value descending, text), and their scores float32.

        A score is the log of a word's largest share in a language.
        """
        least = np.partition(self._values, -most)[-most] if len(self._values) > most else 0
        numbers = np.flatnonzero(self._values >= least)
        words, values = self._table.strings(numbers), self._values[numbers].tolist()
        order = sorted(range(len(words)), key=lambda place: (-values[place], words[place]))[:most]
        return [words[place] for place in order], self._scores[numbers[order]]


def write_trunk(path: str | os.PathLike, trunk: Trunk, weights: Mapping[str, float]) -> None:
    """Write a trunk and the `weights` of its languages, whole or not at all; each T can be a job of its own."""
    arrays = {
        "required": _code_points(sorted(trunk.required)),
        "words": _code_points(trunk.words),
        "word_scores": trunk.word_scores,
        "languages": np.array(list(weights)),
        "weights": np.array(list(weights.values()), np.float64),
    }
    for name, rungs in (("common", trunk.common), ("pool", trunk.pool)):
        arrays[f"{name}_pieces"] = _code_points(rungs.pieces)
        arrays[f"{name}_sizes"] = np.array(list(map(len, rungs.scores)), np.int64)
        arrays[f"{name}_scores"] = np.concatenate(rungs.scores)
    with replacing(path, "wb") as file:
        np.savez(file, **arrays)


def read_trunk(path: str | os.PathLike, weights: Mapping[str, float]) -> Trunk:
    """Read a trunk; raises VocapError for another kind of file, or a trunk of other languages or weights."""
    try:
        with np.load(Path(path), allow_pickle=False) as held:
            made_for = dict(zip(held["languages"].tolist(), held["weights"].tolist(), strict=True))
            common, pool = (
                Rungs(
                    _strings(held[f"{name}_pieces"]),
                    np.split(held[f"{name}_scores"], np.cumsum(held[f"{name}_sizes"])[:-1]),
                )
                for name in ("common", "pool")
            )
            words = _strings(held["words"]), held["word_scores"]
            trunk = Trunk(common, pool, frozenset(_strings(held["required"])), *words)
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; make it (vocap trunk)") from None
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise VocapError(f"{path}: not the trunk of a descent ({error}); make it again (vocap trunk)") from None
    if made_for != dict(weights):
        raise VocapError(
            f"{path}: a trunk of other languages or weights than this allocation; make it again (vocap trunk)"
        )
    return trunk


def _code_points(pieces: list[str]) -> np.ndarray:
    """Pieces as code points, int32, with a 0 between them: no piece holds one."""
    return np.frombuffer("\0".join(pieces).encode("utf-32-le"), np.int32)


def _strings(points: np.ndarray) -> list[str]:
    text = points.tobytes().decode("utf-32-le")
    return text.split("\0") if text else []
