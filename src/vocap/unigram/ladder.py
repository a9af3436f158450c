"""The ladder: the model and the ALP of every size of a corpus, from one descent.

Of each size that leaves the descent, `finalise` makes the pieces
(`Trainer::FinalizeSentencePieces`).
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocap.progress import Steps
from vocap.tables.curve import Point
from vocap.unigram import descent, lanes
from vocap.unigram.alp import average_log_probability
from vocap.unigram.em import UNKNOWN_PENALTY, expected_counts
from vocap.unigram.kernels import Workers
from vocap.unigram.model_files import model_bytes
from vocap.unigram.text_settings import COVERAGE, TextSettings
from vocap.unigram.word_types import WordTypes

PENALTY = np.float32(0.0001)  # kMinScorePenaltyDelta


@dataclass(frozen=True)
class FinalPieces:
    """The n pieces of a model after the meta pieces: `ids` int32 [n] in the ladder's
    numbering, by rank of score, and `scores` float32 [n], falling.
    """

    ids: np.ndarray
    scores: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class TextPieces:
    """Pieces of a ladder: piece `ids[i]` (int32) is the string of `length[ids[i]]`
    characters at `place[ids[i]]` (both int32, of all pieces) in `text` (int32).
    """

    ids: np.ndarray
    text: np.ndarray
    place: np.ndarray
    length: np.ndarray

    def strings(self, ids: np.ndarray) -> list[str]:
        """The pieces of these ids."""
        whole = self.text.tobytes().decode("utf-32-le")
        places = zip(self.place[ids].tolist(), self.length[ids].tolist(), strict=True)
        return [whole[place : place + length] for place, length in places]


@dataclass(frozen=True)
class Rung:
    """One size: the curve's row, the bytes of the model and the pieces in it after the
    meta pieces, None where the size cannot be reached.

    `least` or `most`: the smallest or largest size that the text reaches, where this
    one is below or above it.
    """

    point: Point
    model: bytes | None
    pieces: TextPieces | None = None
    least: int | None = None
    most: int | None = None


def train_sizes(
    words: WordTypes,
    sizes: Sequence[int],
    coverage: float = COVERAGE,
    threads: int = 1,
    reserved: int = 0,
    memory: int | None = None,
) -> Generator[Rung, None, None]:
    """Models and ALPs of all `sizes`, in the order of completion; the same bytes for
    any number of `threads`.

    ALP is counted on the texts `train` and `heldout` of `words`, if it has their
    counts. `coverage`, with which they are counted, is written into the models. Each model
    equals that of `vocap train` for its size, also the reason of a size out of reach.
    `reserved`: ids of each size that are left free, for meta pieces other than those of
    the settings. `memory`: MB, by which large arrays lie in files (`is_large`).
    """
    # Sizes that the text cannot reach
    if not any(words.required.values()):
        reason = "no text: symbols only" if words.trained else "no text"
        yield from (Rung(Point(size, status=reason), None) for size in sizes)
        return
    smallest = len(words.required) + len(words.settings.metas) + reserved
    for size in sizes:
        if size < smallest:
            reason = (
                f"too small: {len(words.required)} required characters need at least "
                f"{smallest} pieces"
            )
            yield Rung(Point(size, status=reason), None, least=smallest)
    reachable = [size for size in sizes if size >= smallest]
    if not reachable:
        return
    # The others leave one descent
    with ExitStack() as stack:
        pool = ThreadPoolExecutor(max(1, threads - 1))  # this thread is one too
        stack.callback(pool.shutdown, cancel_futures=True)
        workers = Workers(threads, pool)
        corpus, state = descent.seed(words, workers, memory)
        steps = stack.enter_context(
            Steps("training", descent.expectations(len(state.ids), reachable))
        )

        def counted(function: Callable[..., Any], sizes: int) -> Callable[..., Any]:
            def expect(*arguments: Any) -> NDArray[np.float32]:
                expected = function(*arguments, workers=workers)
                for _ in range(sizes):
                    steps.advance()
                return expected

            return expect

        expect = counted(expected_counts, 1)
        expect_together = counted(lanes.expected_counts, lanes.LANES)

        def finish(departure: descent.Departure) -> list[Rung]:
            sizes, rungs = iter(departure.sizes), []
            for states in descent.finish_sizes(corpus, departure, expect, expect_together):
                own = [next(sizes) for _ in states]
                rungs += _finish_sizes(words, corpus, states, own, coverage, reserved)
            return rungs

        departures = descent.descend(corpus, state, reachable, expect, expect_together, workers)
        del state
        yield from chain.from_iterable(
            map(finish, departures)
            if threads == 1
            else _in_threads(finish, departures, pool, threads)
        )


def _in_threads(
    finish: Callable[[descent.Departure], list[Rung]],
    departures: Iterator[descent.Departure],
    pool: Executor,
    threads: int,
) -> Iterator[list[Rung]]:
    """The descent in this thread, the sizes that have left it in the others; idle
    threads join the E steps.

    The descent has precedence, so that all threads have work to its end. It pauses
    while as many sizes wait as there are threads, since each holds the lattices of its
    rung: this thread then takes one that none has begun.
    """
    waiting: list[tuple[descent.Departure, Future[list[Rung]]]] = []

    def take_last() -> list[Rung]:
        departure, task = waiting.pop()
        return finish(departure) if task.cancel() else task.result()

    for departure in departures:
        waiting.append((departure, pool.submit(finish, departure)))
        while waiting and waiting[0][1].done():
            yield waiting.pop(0)[1].result()
        if len(waiting) > threads:
            yield take_last()
    while waiting:
        yield take_last()


def _finish_sizes(
    words: WordTypes,
    corpus: descent.DescentText,
    states: Sequence[descent.PieceState],
    sizes: Sequence[int],
    coverage: float,
    reserved: int,
) -> list[Rung]:
    """The models and the ALPs of the last states of some sizes, which share lattices."""
    metas = len(words.settings.metas)
    rungs, finals = [], {}
    for state, size in zip(states, sizes, strict=True):
        pieces = finalise(corpus, state, size - metas - reserved)
        most = len(pieces) + metas + reserved
        if most < size:
            status = f"too little text: at most {most} pieces"
            rungs.append(Rung(Point(size, status=status), None, most=most))
        else:
            finals[size] = pieces
    if not finals:
        return rungs
    of_sizes = list(finals.values())
    models = [final_model(corpus, pieces, coverage, words.settings) for pieces in of_sizes]
    measured = _measure(words, corpus, states[0], of_sizes, models)
    for size, pieces, model, measures in zip(finals, of_sizes, models, measured, strict=True):
        point = Point(size, metas + len(pieces), *measures)
        text_pieces = TextPieces(pieces.ids, corpus.text, corpus.piece_place, corpus.piece_length)
        rungs.append(Rung(point, model, text_pieces))
    return rungs


def _measure(
    words: WordTypes,
    corpus: descent.DescentText,
    state: descent.PieceState,
    finals: Sequence[FinalPieces],
    models: Sequence[bytes],
) -> Iterator[tuple[float | None, float | None, float | None]]:
    """ALP on the texts `train` and `heldout` under each model, and its tokens a line of
    `train`; None of a text that is not counted.
    """
    names = [name for name in ("train", "heldout") if words.sentences.get(name)]
    if not names:
        yield from repeat((None, None, None), len(finals))
        return
    frequency = np.stack([words.counts[name] for name in names])
    counts = token_counts(corpus, state, finals, frequency)
    for pieces, counted, model in zip(finals, counts, models, strict=True):
        by_id = _count_ids(words, names, state, pieces, counted, model)
        alps = {
            name: average_log_probability(by_id[row], words.sentences[name])
            for row, name in enumerate(names)
        }
        per_line = int(by_id[0].sum()) / words.sentences["train"]
        yield alps.get("train"), alps.get("heldout"), per_line


def final_model(
    corpus: descent.DescentText, pieces: FinalPieces, coverage: float, settings: TextSettings
) -> bytes:
    """The file of a model of these pieces."""
    place, length = corpus.piece_place[pieces.ids], corpus.piece_length[pieces.ids]
    return model_bytes(corpus.text, place, length, pieces.scores, coverage, settings)


def _count_ids(
    words: WordTypes,
    names: Sequence[str],
    state: descent.PieceState,
    pieces: FinalPieces,
    counts: np.ndarray,
    model: bytes,
) -> np.ndarray:
    """Counts of the ids of a model, in any order, int64 [texts, ids], from those of
    `token_counts`; the lines with user-defined symbols among them.
    """
    if words.settings.byte_fallback:  # in place of <unk>
        counts = np.hstack([counts[:, :-1], np.stack([words.byte_counts[name] for name in names])])
    if not words.settings.user_defined_symbols:
        return counts
    import sentencepiece

    metas, nodes = len(words.settings.metas), len(state.nodes)
    by_id = np.zeros((len(names), metas + len(pieces.ids)), np.int64)
    place = np.zeros(max(state.nodes.max(), pieces.ids.max()) + 1, np.int64)
    place[pieces.ids] = metas + np.arange(len(pieces.ids))
    unknown = slice(metas - 256, metas) if words.settings.byte_fallback else slice(0, 1)
    by_id[:, unknown] = counts[:, nodes:]
    # a node that is no piece counts 0
    np.add.at(by_id.T, place[state.nodes], counts[:, :nodes].T)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    for row, name in enumerate(names):
        lines = words.whole[name]
        for tokens, times in zip(processor.encode(list(lines)), lines.values(), strict=True):
            np.add.at(by_id[row], tokens, times)
    return by_id


def token_counts(
    corpus: descent.DescentText,
    state: descent.PieceState,
    finals: Sequence[FinalPieces],
    frequency: np.ndarray,
) -> np.ndarray:
    """Counts of each node of `state` and, last, <unk> in the segmentations of `encode`, by
    at most eight models, int64 [models, texts, nodes + 1].

    `frequency` int64 [texts, types].
    """
    scores = np.full((len(state.nodes) + 1, lanes.LANES), -np.inf, np.float32)
    for lane, pieces in enumerate(finals):
        by_id = np.full(len(corpus.piece_place) + 1, -np.inf, np.float32)  # the last one for -1
        by_id[pieces.ids] = pieces.scores
        scores[:-1, lane] = by_id[state.nodes]
        scores[-1, lane] = pieces.scores.min() - UNKNOWN_PENALTY
    counts = np.zeros((len(finals), len(frequency), len(scores)), np.int64)
    lanes.encoder_counts(state.lattice, frequency, scores, len(scores) - 1, counts)
    return counts


def finalise(corpus: descent.DescentText, state: descent.PieceState, count: int) -> FinalPieces:
    """All required characters, then the best other pieces of `state`, until there are
    `count` or no more.

    A required character without a score gets the lowest one and, for each before it,
    most frequent first, a penalty that adds to it. Equal scores: pieces by their text.
    """
    ids, scores, required = state.ids, state.scores, corpus.required
    missing = np.setdiff1d(np.arange(required, dtype=np.int32), ids[ids < required])
    # SentencePiece's word; they are added to the score
    penalties = np.full(len(missing), PENALTY, np.float32)
    penalties[:1] = 0
    penalties = np.add.accumulate(penalties, dtype=np.float32)  # each sum is rounded
    all_ids = np.concatenate([ids, missing])
    all_scores = np.concatenate([scores, scores.min() + penalties])
    # Whole numbers in the opposite order of the scores, so that one sort does for score
    # and text
    bits = (all_scores + np.float32(0)).view(np.uint32).astype(np.uint64)  # adding 0 leaves no -0
    falling = np.where(bits >> np.uint64(31), bits, np.uint64(0x7FFFFFFF) - bits)
    ranked = np.argsort(falling << np.uint64(32) | corpus.alphabetical[all_ids].astype(np.uint64))
    is_other = all_ids[ranked] >= required
    chosen = ranked[~is_other | (np.cumsum(is_other) <= count - required)]
    return FinalPieces(all_ids[chosen], all_scores[chosen])
