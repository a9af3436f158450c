"""Every size of a corpus: its model and its ALP, or why there is none."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import numpy as np

from vocap.progress import Steps
from vocap.vocabularies import COVERAGE
from vocap.vocabularies.alp import average_log_probability
from vocap.vocabularies.curve import Point
from vocap.vocabularies.ladder import descent
from vocap.vocabularies.ladder.crew import Crew
from vocap.vocabularies.ladder.expectation import UNKNOWN_PENALTY, expected_counts
from vocap.vocabularies.ladder.finalisation import META_COUNT, FinalPieces, finalise
from vocap.vocabularies.ladder.lattice import Rooms
from vocap.vocabularies.ladder.model_writer import model_bytes
from vocap.vocabularies.ladder.segmentation import encoder_counts
from vocap.vocabularies.ladder.suffixes import SortedText
from vocap.vocabularies.ladder.word_types import WordTypes


@dataclass(frozen=True)
class Rung:
    """One size: the curve's row and the bytes of the model, None where the size cannot be reached.

    `least` or `most`: the size to which the text leads from below or above, where this one is out of reach.
    """

    point: Point
    model: bytes | None
    least: int | None = None
    most: int | None = None


def train_sizes(
    words: WordTypes,
    sizes: Sequence[int],
    coverage: float = COVERAGE,
    threads: int = 1,
    arithmetic: str = "exact",
    reserved: int = 0,
    ending: Mapping[str, int] | None = None,
    sorted_text: SortedText | None = None,
    required_chars: str = "",
) -> Iterator[Rung]:
    """Models and ALPs of all `sizes`, as each is ready; the same bytes for any number of `threads`.

    Each is what `vocap train` gives for that size, in reach and in reason, if `arithmetic` is exact; `fast` is
    near it. With frequencies at the text's `ending` (`text_end`), pieces and scores are those of SentencePiece
    0.2.2. ALP is counted on the texts `train` and `heldout` of `words`. So many `reserved` ids of each size are
    left free, for meta pieces other than <unk> <s> </s>: a model has that many pieces less than its size.
    `sorted_text`: as for `descent.seed`. `coverage` and `required_chars` are written into the models; the words
    are counted with them already.
    """
    if not any(words.required.values()):
        reason = "no text: symbols only" if words.trained else "no text"
        yield from (Rung(Point(size, status=reason), None) for size in sizes)
        return
    smallest = len(words.required) + META_COUNT + reserved
    for size in sizes:
        if size < smallest:
            reason = f"too small: {len(words.required)} required characters need at least {smallest} pieces"
            yield Rung(Point(size, status=reason), None, least=smallest)
    reachable = [size for size in sizes if size >= smallest]
    if not reachable:
        return
    with ThreadPoolExecutor(threads) as pool, ExitStack() as stack:
        crew = Crew(threads, pool)
        corpus, state = descent.seed(words, ending, crew, sorted_text)
        count = partial(expected_counts, crew=crew, arithmetic=arithmetic)
        steps = stack.enter_context(Steps("training", descent.expectations(len(state.ids), reachable)))

        def expect(*arguments, **options):
            expected = count(*arguments, **options)
            steps.advance()
            return expected

        rooms = Rooms()
        departures = descent.descend(corpus, state, reachable, expect, crew, rooms.take)
        del state

        def finish(departure: descent.Departure) -> Rung:
            with rooms.lend(departure.state.lattice) as room:
                state = descent.depart(corpus, departure, expect, room)
                return _rung(words, corpus, state, departure.size, coverage, reserved, required_chars)

        yield from map(finish, departures) if threads == 1 else _in_threads(finish, departures, pool, threads)


def _in_threads(finish: Callable, departures: Iterator, pool: Executor, threads: int) -> Iterator[Rung]:
    """The descent in one thread, the sizes that have left it in the others; who is free helps with an E step.

    The descent goes before sizes that wait for a thread, so that there is work for all of them to its end. It
    stands still while as many sizes wait, as each holds the lattices of its rung.
    """
    step, descending, waiting, running, finished = None, True, deque(), set(), []
    while True:
        while len(running) < threads:
            if step is None and descending and len(waiting) < threads:
                step = pool.submit(next, departures, None)
                running.add(step)
            elif waiting:
                running.add(pool.submit(finish, waiting.popleft()))
            else:
                break
        yield from finished
        if not running:
            return
        done, running = wait(running, return_when=FIRST_COMPLETED)
        finished = [future.result() for future in done - {step}]
        if step in done:
            departure, step = step.result(), None
            descending = departure is not None
            if descending:
                waiting.append(departure)


def _rung(
    words: WordTypes,
    corpus: descent.Corpus,
    state: descent.State,
    size: int,
    coverage: float,
    reserved: int,
    required_chars: str,
) -> Rung:
    """The model and the ALP of a size's last state."""
    pieces = finalise(size - reserved, state.ids, state.scores, corpus.required, corpus.alphabetical)
    if pieces.size < size - reserved:
        most = pieces.size + reserved
        return Rung(Point(size, status=f"too little text: at most {most} pieces"), None, most=most)
    names = [name for name in ("train", "heldout") if words.sentences.get(name)]
    counts = token_counts(corpus, state, pieces, np.stack([words.counts[name] for name in names]))
    alps = {name: average_log_probability(counts[row], words.sentences[name]) for row, name in enumerate(names)}
    point = Point(
        size,
        pieces.size,
        alps.get("train"),
        alps.get("heldout"),
        int(counts[0].sum()) / words.sentences["train"],
    )
    place, length = corpus.piece_place[pieces.ids], corpus.piece_length[pieces.ids]
    return Rung(point, model_bytes(corpus.text, place, length, pieces.scores, coverage, required_chars))


def token_counts(
    corpus: descent.Corpus, state: descent.State, pieces: FinalPieces, frequency: np.ndarray
) -> np.ndarray:
    """How often `encode` gives each node of `state` and, last, <unk>: int64 [texts, nodes + 1].

    `frequency` int64 [texts, types].
    """
    by_id = np.full(len(corpus.piece_place), -np.inf, np.float32)
    by_id[pieces.ids] = pieces.scores
    scores = np.append(by_id[state.nodes], pieces.scores.min() - UNKNOWN_PENALTY)
    counts = np.zeros((len(frequency), len(scores)), np.int64)
    lattice = state.lattice
    encoder_counts(
        lattice.first,
        lattice.piece,
        lattice.length,
        corpus.start,
        corpus.length,
        frequency,
        scores,
        len(scores) - 1,
        counts,
    )
    return counts
