"""One language in the common descent: its word types, its unigram model, and the loss that each piece
would bring.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from vocap.vocabularies.alp import average_log_probability
from vocap.vocabularies.ladder import descent
from vocap.vocabularies.ladder.expectation import expected_counts
from vocap.vocabularies.ladder.finalisation import META_COUNT, finalise
from vocap.vocabularies.ladder.lattice import Lattice
from vocap.vocabularies.ladder.maximisation import THRESHOLD, maximise
from vocap.vocabularies.ladder.model_writer import model_bytes
from vocap.vocabularies.ladder.pruning import CANDIDATE, DROP, pruned_size
from vocap.vocabularies.ladder.sizes import token_counts
from vocap.vocabularies.ladder.trie import BORDER, Trie, build_trie, fill_lattice
from vocap.vocabularies.ladder.word_types import WordTypes

TEXTS = "train", "heldout"
expect = partial(expected_counts, arithmetic="fast")


@dataclass(frozen=True)
class Language:
    """A state of the descent in one language.

    `corpus` and `state`: as of the ladder. `numbers` int32 [P]: the common number of each piece of `corpus`.
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


def prune_alone(words: WordTypes, most: int) -> tuple[descent.Corpus, descent.State]:
    """The ladder's descent in one language, down to `most` pieces at most (and its required characters)."""
    corpus, state = descent.seed(words)
    while True:
        for _ in range(descent.SUB_ITERATIONS):
            state = descent.expectation_maximisation(corpus, state, expect)
        size = len(state.ids)
        if size <= most:
            return descent.compact(corpus, state)
        ranking = descent.prune_order(corpus, state)
        chosen = np.sort(ranking[: max(most, pruned_size(size))])
        state = descent.reduce(corpus, state, chosen, state.scores[chosen], state.lattice)


@dataclass(frozen=True)
class Offer:
    """P pieces for every language, numbered from 0: `scores` float32 [P], first log probabilities; `length` int32
    [P] in characters; `alphabetical` int32 [P], their ranks by text."""

    pieces: Sequence[str]
    scores: np.ndarray
    trie: Trie
    length: np.ndarray
    alphabetical: np.ndarray


def make_offer(pieces: Sequence[str], scores: np.ndarray) -> Offer:
    """The offer of distinct pieces with these scores."""
    alphabetical = np.empty(len(pieces), np.int32)
    alphabetical[sorted(range(len(pieces)), key=pieces.__getitem__)] = np.arange(len(pieces), dtype=np.int32)
    length = np.fromiter(map(len, pieces), np.int32, len(pieces))
    return Offer(pieces, scores, build_trie(pieces), length, alphabetical)


def with_pieces(words: WordTypes, offer: Offer) -> Language:
    """A language with those of the pieces on offer that occur in its text, in new lattices.

    Their common numbers are those of the offer.
    """
    corpus, state, numbers = _offered(words.text, words.start, words.length, words.frequencies, offer)
    return Language(corpus, state, numbers, *texts_in(words))


def offer_again(language: Language, offer: Offer) -> Language:
    """The language with those of the pieces on offer that occur in its text, as `with_pieces`."""
    corpus = language.corpus
    corpus, state, numbers = _offered(corpus.text, corpus.start, corpus.length, corpus.frequency, offer)
    return replace(language, corpus=corpus, state=state, numbers=numbers)


def _offered(
    text: np.ndarray, start: np.ndarray, length: np.ndarray, frequency: np.ndarray, offer: Offer
) -> tuple[descent.Corpus, descent.State, np.ndarray]:
    """The corpus and the first state of the types `text[start[t]:start[t] + length[t]]`, and the pieces' numbers.

    Single characters come first, as the required ones of a `Corpus`: types hold no others that are pieces.
    """
    bordered = text.copy()
    bordered[start + length] = BORDER
    unknown = len(offer.pieces) + 1
    first, found, edge_length = fill_lattice(bordered, np.int32(unknown), *offer.trie.arrays)
    occurring = np.zeros(unknown + 1, bool)
    occurring[found] = True
    pieces = np.flatnonzero(occurring[1:unknown])
    pieces = pieces[np.argsort(offer.length[pieces] > 1, kind="stable")]
    local = np.full(unknown + 1, len(pieces), np.int32)
    local[pieces + 1] = np.arange(len(pieces), dtype=np.int32)
    edges = local[found]
    place = np.zeros(len(pieces) + 1, np.int32)
    place[edges] = len(text) - 1 - np.repeat(np.arange(len(text), dtype=np.int32), np.diff(first))
    corpus = descent.Corpus(
        text,
        start,
        length,
        frequency,
        place[:-1].copy(),
        offer.length[pieces],
        offer.alphabetical[pieces],
        int(np.count_nonzero(offer.length[pieces] == 1)),
    )
    ids = np.arange(len(pieces), dtype=np.int32)
    state = descent.State(ids, offer.scores[pieces], ids, Lattice(first, edges, edge_length))
    return corpus, state, pieces.astype(np.int32)


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


@dataclass(frozen=True)
class Unigram:
    """A language's model on the common pieces: `numbers` int32 of those that it holds, best first.

    `model`: the SentencePiece file; `alp`: nats a line, of the training text and of the held-out text, if there is
    one; `tokens_per_sentence` and `lines` of the training text.
    """

    numbers: np.ndarray
    model: bytes
    alp: list[float]
    tokens_per_sentence: float
    lines: int

    @property
    def size(self) -> int:
        """Ids of the model, the meta pieces included."""
        return len(self.numbers) + META_COUNT


def settle(language: Language, coverage: float, forced: np.ndarray) -> Unigram:
    """The unigram model of the language; the `forced` common numbers are pieces of it too, at the lowest score."""
    corpus, state = language.corpus, language.state
    extra = np.flatnonzero(np.isin(language.numbers, np.setdiff1d(forced, language.alive))).astype(np.int32)
    ids = np.concatenate([state.ids, extra])
    scores = np.concatenate([state.scores, np.full(len(extra), state.scores.min(), np.float32)])
    most = len(corpus.piece_place) + META_COUNT
    final = finalise(most, ids, scores, corpus.required, corpus.alphabetical)
    counts = token_counts(corpus, state, final, language.counts)
    lines = language.lines.tolist()
    place, length = corpus.piece_place[final.ids], corpus.piece_length[final.ids]
    return Unigram(
        language.numbers[final.ids],
        model_bytes(corpus.text, place, length, final.scores, coverage),
        [average_log_probability(counted, size) for counted, size in zip(counts, lines, strict=True)],
        int(counts[0].sum()) / lines[0],
        lines[0],
    )
