"""The common descent: a trunk that does not depend on any T, and a branch of it for each T.

    trunk:  every language alone, by the ladder's own rule, down to a list that the whole union can hold; then
            rounds of EM twice in every language, and pruning of the union to three quarters. Beside it a pool:
            rungs of the texts of all languages together, as JOINT descends; and whole words
    branch: the lowest rung of the trunk, and of the pool, with T - 5 pieces, and as many words, offered to every
            language whose text holds them; EM; rounds that prune a tenth, and end at exactly T - 5 pieces

Pruning adds up, over languages, weight x loss of likelihood in nats a line (`Trainer::PruneSentencePieces`).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from vocap.allocation.pieces.language import (
    Language,
    PieceTable,
    Unigram,
    estimate,
    expect,
    losses,
    make_offer,
    offer_again,
    only,
    prune_alone,
    texts_in,
    with_pieces,
)
from vocap.allocation.pieces.language import settle as model_of
from vocap.allocation.pieces.store import LanguageStore, in_order
from vocap.allocation.pieces.words import WholeWords
from vocap.progress import Steps
from vocap.tables.sampling_probabilities import line_weights
from vocap.unigram.descent import (
    SUB_ITERATIONS,
    expectation_maximisation,
    prune_order,
    reduce,
    seed,
)
from vocap.unigram.text_settings import XLM_R, TextSettings
from vocap.unigram.word_types import WordTypes, join_word_types, most_frequent_types

SEEDS = 4_000_000  # pieces of all languages together that enter the common descent, at most
TRUNK_RATE = 0.75  # shrinking_factor of SentencePiece's trainer
BRANCH_RATE = 0.9  # smaller steps near T
POOL_RATE = 0.5  # of the pool, which gives candidates alone
POOL_CHARACTERS = 50_000_000  # of distinct words of all languages in the pool, at most
WORDS = 1_000_000  # of a trunk, at most
OFFER_ROUNDS = 3  # of EM after an offer of pieces

Texts = Mapping[str, Callable[[], WordTypes]]


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
    """The pieces, and the first `most` of the others that are none of them, with the scores of all."""
    known = set(pieces)
    new = [number for number, piece in enumerate(others) if piece not in known][:most]
    return pieces + [others[number] for number in new], np.concatenate([scores, their_scores[new]])


@dataclass(frozen=True)
class Chosen:
    """The result of a branch: `kept` bool of its `pieces`, `required` bool, and the last round that was pruned."""

    pieces: list[str]
    required: np.ndarray
    kept: np.ndarray
    last: "Round"

    @property
    def price(self) -> float:
        """Weighted loss of likelihood, nats a line, of the 1,000 kept pieces of the smallest losses."""
        losses = np.sort(self.last.loss[self.kept & ~self.required])
        return float(losses[:1000].sum() * (1000 / max(1, min(1000, len(losses)))))


@dataclass(frozen=True)
class Round:
    """All languages after a round of EM, added up: `used` bool, `loss` float64 (weighted nats a line) and `scores`
    float32 (the best log probability in any language), each [pieces]."""

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
    union = PieceTable()
    most = SEEDS // len(texts)
    needed, pooled, whole = [union.add_characters(required)], [], WholeWords(most)
    for code, (words, corpus, state) in in_order(texts, lambda count: _alone(count(), most), threads):
        numbers = union.add(corpus.text, corpus.piece_place, corpus.piece_length)
        needed.append(numbers[: corpus.required])
        languages.put(code, Language(corpus, state, numbers, *texts_in(words)))
        pooled.append(most_frequent_types(words, POOL_CHARACTERS // len(texts)))
        whole.add(pooled[-1], weights[code])
    pool = _pool(pooled, list(weights.values()))
    del pooled
    words = whole.best(WORDS)
    del whole
    always = np.zeros(len(union), bool)
    always[np.concatenate(needed)] = True
    last, rungs = np.full(len(union), -1, np.int16), []
    kept = np.ones(len(union), bool)
    rounds = math.log(1.1 * np.count_nonzero(always) / len(union)) / math.log(TRUNK_RATE)
    with Steps("trunk", math.ceil(rounds)) as steps:
        while True:
            now = play_round(languages, weights, always, partial(_prune, kept=kept, dropping=True), threads)
            steps.advance()
            last[now.used] = len(rungs)
            rungs.append(now.scores)
            if TRUNK_RATE * now.size < 1.1 * np.count_nonzero(always):
                break
            kept = now.best(always, int(TRUNK_RATE * now.size))
    order, scores = _nested(last, rungs)
    common, required = Rungs(union.strings(order), scores), union.strings(np.flatnonzero(always))
    return Trunk(common, pool, frozenset(required), *words)


def _alone(words: WordTypes, most: int):
    return words, *prune_alone(words, most)


def _pool(parts: Sequence[WordTypes], weights: Sequence[float]) -> Rungs:
    """Rungs of one descent over the word types of all languages, whose shares are in proportion to their weights.

    A piece that is rare in every language, but not in all together, is a candidate only here.
    """
    lines = [words.sentences["train"] for words in parts]
    times = line_weights(weights, lines).tolist()
    corpus, state = seed(join_word_types(zip(parts, times, strict=True)))
    last, rungs = np.full(len(corpus.piece_place), -1, np.int16), []
    while True:
        for _ in range(SUB_ITERATIONS):
            state = expectation_maximisation(corpus, state, expect)
        last[state.ids] = len(rungs)
        rungs.append(np.full(len(last), -np.inf, np.float32))
        rungs[-1][state.ids] = state.scores
        size = int(POOL_RATE * len(state.ids))
        if size < 2 * corpus.required:
            break
        chosen = np.sort(prune_order(corpus, state)[:size])
        state = reduce(corpus, state, chosen, state.scores[chosen], state.lattice)
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


def branch(
    trunk: Trunk,
    capacity: int,
    texts: Texts,
    weights: Mapping[str, float],
    languages: LanguageStore,
    threads: int = 1,
) -> Chosen:
    """The `capacity` pieces of one T, or all that the texts can use; `languages` holds the states meanwhile."""
    pieces, scores = trunk.offer_for(capacity)
    required = np.array([piece in trunk.required for piece in pieces])
    offer = make_offer(pieces, scores)
    for code, language in in_order(texts, lambda count: with_pieces(count(), offer), threads):
        languages.put(code, language)
    now = last = play_round(
        languages, weights, required, lambda language: estimate(language, OFFER_ROUNDS), threads
    )
    while now.size > capacity:
        last, size = now, max(capacity, int(BRANCH_RATE * now.size))
        if size == capacity:
            break
        # a piece stays in a language until all lose it, so that each chosen one is a piece of some model
        kept = last.best(required, size)
        now = play_round(languages, weights, required, partial(_prune, kept=kept, dropping=False), threads)
    # Where best paths no longer use some of the pieces, the best of the pruned ones take their place.
    return Chosen(pieces, required, last.best(required if now is last else now.used, capacity), last)


def settle(
    chosen: Chosen, languages: LanguageStore, coverage: float, threads: int = 1, settings: TextSettings = XLM_R
) -> tuple[list[str], dict[str, Unigram]]:
    """The chosen pieces, and the unigram model of each language on them, from the states that `branch` has left.

    All are offered to every language once more, as the tokenizer will have them all. A piece that EM then drops
    everywhere stays one of the languages that had it before.
    """
    numbers = np.flatnonzero(chosen.kept)
    offer = make_offer([chosen.pieces[number] for number in numbers.tolist()], chosen.last.scores[numbers])

    def again(code: str, language: Language):
        had = np.searchsorted(numbers, only(language, chosen.kept).alive)
        language = estimate(offer_again(language, offer), OFFER_ROUNDS)
        return language, (had, language.alive)

    held, had = offer.length == 1, {}
    for code, (before, alive) in languages.step(again, threads):
        held[alive] = True
        had[code] = before

    def finish(code: str, language: Language):
        return language, model_of(language, coverage, had[code][~held[had[code]]], settings)

    return list(offer.pieces), dict(languages.step(finish, threads))


def _prune(language: Language, kept: np.ndarray, dropping: bool) -> Language:
    return estimate(only(language, kept), SUB_ITERATIONS, dropping)
