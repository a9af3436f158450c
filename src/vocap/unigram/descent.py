"""The descent: one series of EM and pruning from the seeds, which passes every
vocabulary size.

Nothing that `Trainer::Train` does before its last pruning depends on the size asked
for: it repeats (EM twice, prune to three quarters) until 1.1 times that size is near.
So all sizes share one descent of some twenty rungs. A size leaves it either at the
first rung that is no larger than 1.1 times the size, as it is; or from the rung whose
next pruning would go below that, by a pruning of its own and two more rounds of EM (a
branch).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vocap.errors import VocapError
from vocap.progress import Steps
from vocap.unigram import seeds
from vocap.unigram.em import UNKNOWN_PENALTY, expected_counts, run_m_step, with_unknown
from vocap.unigram.kernels import ONE_THREAD, Workers
from vocap.unigram.lanes import DEAD, LANES
from vocap.unigram.lattice import BOTH, Lattice, build_lattice, select_pieces
from vocap.unigram.segmentation import (
    Pruning,
    desired_size,
    judge_pieces,
    pruned_size,
    rank_pieces,
    trainer_counts,
)
from vocap.unigram.word_types import WordTypes

SUB_ITERATIONS = 2  # num_sub_iterations: rounds of EM before each pruning
FEWEST_TOGETHER = 3  # branches: eight together take as long as two or three alone


@dataclass(frozen=True)
class DescentText:
    """The constant part of a descent: the types in the text, and the place of each of
    all N pieces in it.

    `text` int32; the `frequency` int64 [trained] of the first types. `piece_place`,
    `piece_length`, `alphabetical` int32 [N]: piece numbers begin with the `required`
    characters. `token_price`: nats that a token costs beside minus its log probability,
    in EM, best paths and losses.
    """

    text: np.ndarray
    frequency: np.ndarray
    piece_place: np.ndarray
    piece_length: np.ndarray
    alphabetical: np.ndarray
    required: int
    token_price: float = 0.0


@dataclass(frozen=True)
class PieceState:
    """A list of n pieces in the trainer's order, and lattices that hold them.

    `ids` int32 [n]: their numbers in `DescentText`; `scores` float32 [n]; `nodes` int32: the
    piece of each number in `lattice`: the n pieces, then required characters that are
    no piece now. One more number means U+2585. In the last state of a size, `lattice`
    and `nodes` may hold other pieces too, and -1 for the second node of a character.
    """

    ids: np.ndarray
    scores: np.ndarray
    nodes: np.ndarray
    lattice: Lattice


@dataclass(frozen=True)
class Departure:
    """Vocabulary sizes leave the descent: `states` has the last one of each or, if they
    are branches, the one from which each of them is a pruning to the first of the
    `ranking`.
    """

    sizes: list[int]
    states: list[PieceState]
    ranking: np.ndarray | None = None


def seed(
    words: WordTypes, workers: Workers = ONE_THREAD, memory: int | None = None
) -> tuple[DescentText, PieceState]:
    """The corpus and the seed pieces with their first scores
    (`MakeSeedSentencePieces`); large arrays in files by `memory` (MB).
    """
    with Steps("seeding", 3) as steps:
        # Suffixes in parts
        source = seeds.seed_text(words, memory)
        suffixes = seeds.divide_suffixes(source.text, words.settings, memory)
        steps.advance()
        # Seeds
        found = seeds.find_seeds(source, suffixes, workers=workers, settings=words.settings)
        steps.advance()
        # Lattices; inputs are freed before they are allocated
        del source
        characters = np.array([ord(character) for character in words.required], np.int32)
        lattice, place = build_lattice(words, suffixes, found, characters, workers, memory)
        del suffixes
        steps.advance()
    # Numbers and weights of all pieces, the required characters first
    length = np.concatenate([np.ones(len(characters), np.int32), found.depth])
    # a character before the seeds that begin with it
    rank = np.concatenate([np.full(len(characters), -1, np.int32), found.left])
    by_text = np.lexsort((length, rank, words.text[place]))
    alphabetical = np.empty(len(by_text), np.int32)
    alphabetical[by_text] = np.arange(len(by_text), dtype=np.int32)
    weights = np.concatenate([np.array(list(words.required.values()), np.int64), found.score])
    corpus = DescentText(
        words.text, words.frequencies, place, length, alphabetical, len(characters)
    )
    ids = np.arange(len(weights), dtype=np.int32)
    state = PieceState(ids, np.zeros(len(ids), np.float32), ids, lattice)
    # A required character that does not occur is no seed.
    occurring = np.flatnonzero(weights)
    return corpus, prune_pieces(
        corpus, state, occurring, log_probabilities(weights[occurring]), lattice
    )


def log_probabilities(weights: np.ndarray) -> np.ndarray:
    """log (weight / sum), float32, the sum added up in float32 (`ToLogProb`)."""
    values = weights.astype(np.float32)
    total = np.add.accumulate(values, dtype=np.float32)[-1]
    return (np.log(values.astype(np.float64)) - np.float32(np.log(np.float64(total)))).astype(
        np.float32
    )


def expectations(seeds: int, sizes: Sequence[int]) -> int:
    """The approximate number of E steps of `descend` and `finish_sizes` from so many
    seeds.
    """
    rungs, size = 1, seeds
    while size > desired_size(min(sizes)):
        rungs, size = rungs + 1, pruned_size(size)
    return SUB_ITERATIONS * (rungs + len(sizes))


def descend(
    corpus: DescentText,
    state: PieceState,
    sizes: Sequence[int],
    expect: Callable[..., NDArray[np.float32]],
    expect_together: Callable[..., NDArray[np.float32]],
    workers: Workers = ONE_THREAD,
) -> Iterator[Departure]:
    """`Trainer::Train` for all `sizes` at once; yields where they leave, the
    largest first.

    `state` is used up. `expect`: `em.expected_counts` with its options; `expect_together`:
    `lanes.expected_counts`, for branches that are computed together.
    """
    waiting = sorted(sizes)
    rounds = SUB_ITERATIONS
    while waiting:
        # EM, unless the branches had it together with this rung
        for _ in range(rounds):
            state = run_em(corpus, state, expect)
        # Sizes that leave as they are
        straight = _take_above(waiting, len(state.ids) - 1)
        yield from _leave(straight, state)
        if not waiting:
            return
        # Branches, and the next rung
        ranking = prune_order(corpus, state, workers)
        kept = ranking[: pruned_size(len(state.ids))]
        scores, rounds = state.scores[kept], SUB_ITERATIONS
        branches = _take_above(waiting, pruned_size(len(state.ids)))
        if waiting and len(branches) + 1 >= FEWEST_TOGETHER:
            # the next rung is a branch too
            together, branches = branches[: LANES - 1], branches[LANES - 1 :]
            counts = [len(kept), *map(desired_size, together)]
            following, *states = _branch_together(corpus, state, ranking, counts, expect_together)
            yield Departure(together, states)
            number = np.empty(len(corpus.piece_place), np.int32)
            number[state.ids] = np.arange(len(state.ids), dtype=np.int32)
            kept, scores, rounds = number[following.ids], following.scores, 0
            del following, states
        yield from _leave(branches, state, ranking)
        unused = not straight and not branches  # no size that has left needs this state
        state = prune_pieces(corpus, state, kept, scores, state.lattice if unused else None)


def _take_above(waiting: list[int], pieces: int) -> list[int]:
    """Take from the end of rising sizes those that desire more than so many pieces."""
    taken = []
    while waiting and desired_size(waiting[-1]) > pieces:
        taken.append(waiting.pop())
    return taken


def _leave(
    sizes: Sequence[int], state: PieceState, ranking: np.ndarray | None = None
) -> Iterator[Departure]:
    """Departures of sizes from one state, of as many together as there are lanes."""
    for first in range(0, len(sizes), LANES):
        together = list(sizes[first : first + LANES])
        yield Departure(together, [state] * len(together), ranking)


def finish_sizes(
    corpus: DescentText,
    departure: Departure,
    expect: Callable[..., NDArray[np.float32]],
    expect_together: Callable[..., NDArray[np.float32]],
) -> Iterator[list[PieceState]]:
    """The last states of the sizes that leave together, in lists of those that share
    lattices: branches are pruned to their own sizes and get EM of their own.

    `expect` and `expect_together` as in `descend`.
    """
    if departure.ranking is None:
        yield departure.states
        return
    state, ranking = departure.states[0], departure.ranking
    counts = [desired_size(size) for size in departure.sizes]
    if len(counts) < FEWEST_TOGETHER:
        for count in counts:
            yield [_finish_branch(corpus, state, ranking[:count], expect)]
    else:
        yield _branch_together(corpus, state, ranking, counts, expect_together)


def _branch_together(
    corpus: DescentText,
    state: PieceState,
    ranking: np.ndarray,
    counts: Sequence[int],
    expect: Callable[..., NDArray[np.float32]],
) -> list[PieceState]:
    """`_finish_branch` with the first of a ranking, at most one of the `counts` a lane,
    over lattices that they share.

    Numbers in these lattices are ranks, of n; n + i is the required character i as an
    unknown node, and the last one U+2585.
    """
    longest = ranking[: max(counts)]
    ids, count = state.ids[longest], len(longest)
    nodes = np.concatenate([ids, np.arange(corpus.required, dtype=np.int32)])
    # lanes without a branch repeat the last one
    sizes = np.array([*counts, *[counts[-1]] * LANES][:LANES])
    ranks = np.arange(count)[:, np.newaxis]
    scores = np.where(ranks < sizes, state.scores[longest][:, np.newaxis], DEAD)
    for _ in range(SUB_ITERATIONS):
        alive = scores > DEAD
        lattice = _share_lattices(corpus, state, longest, alive)
        rows = _rows_of_scores(corpus, ids, scores, alive)
        expected = expect(lattice, corpus.frequency, rows, alive.argmax(axis=0), count)
        scores = np.full_like(scores, DEAD)
        for lane in range(LANES):
            kept, own = run_m_step(np.ascontiguousarray(expected[:, lane]))
            _check_pieces(kept)
            scores[kept, lane] = own
    # a character that is a piece in a lane has no other node of its own
    nodes[count + ids[alive.any(axis=1) & (ids < corpus.required)]] = -1
    kept_by_lane = [np.flatnonzero(scores[:, lane] > DEAD) for lane in range(len(counts))]
    return [
        PieceState(ids[kept], scores[kept, lane], nodes, lattice)
        for lane, kept in enumerate(kept_by_lane)
    ]


def _share_lattices(
    corpus: DescentText, state: PieceState, longest: np.ndarray, alive: np.ndarray
) -> Lattice:
    """The lattices of the pieces `longest` of a state that are `alive` in a lane, bool
    [n, lanes], in new memory. Characters that are pieces in some lanes alone get an
    edge of both kinds.
    """
    count, ids = len(longest), state.ids[longest]
    renumber = np.full(len(state.nodes) + 1, -1, np.int32)
    characters = np.flatnonzero(state.nodes < corpus.required)
    renumber[characters] = count + state.nodes[characters]
    renumber[-1] = count + corpus.required
    present = np.flatnonzero(alive.any(axis=1))
    renumber[longest[present]] = present
    partly = np.flatnonzero(alive.any(axis=1) & ~alive.all(axis=1) & (ids < corpus.required))
    renumber[longest[partly]] = BOTH + partly
    unknown = count + ids if len(partly) else ids[:0]
    return select_pieces(state.lattice, renumber, count, unknown=unknown)


def _rows_of_scores(
    corpus: DescentText, ids: np.ndarray, scores: np.ndarray, alive: np.ndarray
) -> NDArray[np.float32]:
    """`_node_scores` of each lane, for the numbers of `_branch_together`."""
    count, price = len(ids), np.float32(corpus.token_price)
    rows = np.empty((count + corpus.required + 1, LANES), np.float32)
    rows[:count] = scores - price
    rows[count:] = np.where(alive, rows[:count], np.inf).min(axis=0) - UNKNOWN_PENALTY
    characters = np.flatnonzero(ids < corpus.required)
    of_unknown = count + ids[characters]
    rows[of_unknown] = np.where(alive[characters], DEAD, rows[of_unknown])
    return rows


def _finish_branch(
    corpus: DescentText,
    state: PieceState,
    chosen: np.ndarray,
    expect: Callable[..., NDArray[np.float32]],
) -> PieceState:
    """The last state of a branch that begins with the pieces `chosen` of a state."""
    state = prune_pieces(corpus, state, chosen, state.scores[chosen])
    for _ in range(SUB_ITERATIONS - 1):
        state = run_em(corpus, state, expect)
    return run_em(corpus, state, expect, last=True)


def run_em(
    corpus: DescentText,
    state: PieceState,
    expect: Callable[..., NDArray[np.float32]] = expected_counts,
    last: bool = False,
) -> PieceState:
    """E and M step; pieces hardly expected are dropped, from the lattices too unless it
    is the `last` time.

    The lattices of `state` become those of the result.
    """
    kept, scores = run_m_step(run_e_step(corpus, state, expect))
    _check_pieces(kept)
    if last:
        return PieceState(state.ids[kept], scores, state.nodes, state.lattice)
    return prune_pieces(corpus, state, kept, scores, state.lattice)


def _check_pieces(kept: np.ndarray) -> None:
    """Raise VocapError where EM keeps no piece."""
    if not len(kept):  # SentencePiece ends the whole process here (a CHECK of SetSentencePieces)
        raise VocapError("every piece is expected less than 0.5 times; train on more lines")


def run_e_step(
    corpus: DescentText,
    state: PieceState,
    expect: Callable[..., NDArray[np.float32]] = expected_counts,
) -> np.ndarray:
    """The E step: expected counts of the n pieces of `state`, float32 [n]."""
    return expect(state.lattice, corpus.frequency, _node_scores(corpus, state), len(state.ids))


def _node_scores(corpus: DescentText, state: PieceState) -> np.ndarray:
    """Scores of the lattices' numbers less the price of a token: pieces, then unknown
    nodes.
    """
    return with_unknown(
        state.scores - np.float32(corpus.token_price), len(state.nodes) - len(state.ids) + 1
    )


def prune_order(
    corpus: DescentText, state: PieceState, workers: Workers = ONE_THREAD
) -> np.ndarray:
    """The order in which pruning keeps the pieces of `state`."""
    verdict, loss, _ = piece_losses(corpus, state, workers)
    return rank_pieces(verdict, loss)


def piece_losses(
    corpus: DescentText, state: PieceState, workers: Workers = ONE_THREAD
) -> tuple[np.ndarray, np.ndarray, np.float32]:
    """`judge_pieces` of the n pieces of `state`: verdict int8 [n], loss float32 [n],
    and the total of losses.
    """
    scores = _node_scores(corpus, state)
    counts = trainer_counts(state.lattice, corpus.frequency, scores, len(state.ids), workers)
    total = np.add.accumulate(corpus.frequency, dtype=np.float32)[-1]
    place, length = corpus.piece_place[state.ids], corpus.piece_length[state.ids]
    pruning = Pruning(place, length, scores, counts, total, np.float32(corpus.token_price))
    return *judge_pieces(state.lattice, pruning, workers), total


def prune_pieces(
    corpus: DescentText,
    state: PieceState,
    chosen: np.ndarray,
    scores: np.ndarray,
    buffer: Lattice | None = None,
) -> PieceState:
    """The pieces `chosen` of a state, in that order, with new scores, and the lattices
    that are left.

    The lattices are made in `buffer`: new memory, or that of the state's own lattices,
    if it is no longer needed.
    """
    alive, before = len(chosen), len(state.ids)
    if buffer is state.lattice and alive == before and (chosen == np.arange(alive)).all():
        return PieceState(state.ids, scores, state.nodes, state.lattice)
    renumber = np.full(len(state.nodes) + 1, -1, np.int32)
    renumber[chosen] = np.arange(alive)
    dying = np.flatnonzero((renumber[:before] < 0) & (state.ids < corpus.required))
    renumber[dying] = np.arange(alive, alive + len(dying))
    renumber[before:] = np.arange(
        alive + len(dying), alive + len(dying) + len(state.nodes) - before + 1
    )
    ids = state.ids[chosen]
    nodes = np.concatenate([ids, state.ids[dying], state.nodes[before:]])
    return PieceState(ids, scores, nodes, select_pieces(state.lattice, renumber, alive, buffer))
