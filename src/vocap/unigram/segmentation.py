"""Best segmentations, and pruning by the second best ones
(`Trainer::PruneSentencePieces`).

Viterbi counts for pruning, as the trainer does it, and for ALP, as `encode` does it;
then the pieces that a smaller vocabulary keeps.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import float32, int64, types
from numpy.typing import NDArray

from vocap.unigram.em import BLOCK_EDGES, blocks, edges_of
from vocap.unigram.kernels import (
    FLOAT32S,
    INT8S,
    INT32S,
    INT64S,
    ONE_THREAD,
    Workers,
    index,
    kernel,
)
from vocap.unigram.lattice import LATTICE, Lattice, edge_at


def trainer_counts(
    lattice: Lattice,
    frequency: NDArray[np.int64],
    score: NDArray[np.float32],
    alive: int,
    workers: Workers = ONE_THREAD,
) -> NDArray[np.float32]:
    """Counts of each piece in the best paths of the types, float32 [alive]
    (`Lattice::Viterbi`).

    Arguments as of `expected_counts`. Counts are float32, so they are added up in the
    order of the types. Unknown nodes count for piece 0.
    """
    bounds, edges = blocks(lattice, len(frequency), BLOCK_EDGES)
    counts = np.zeros(alive, np.float32)
    types_of_block = int(np.diff(bounds).max(initial=0))
    workers.fold(
        bounds,
        lambda: Paths(np.empty(edges, np.int32), np.empty(types_of_block, np.int32)),
        partial(best_paths, lattice, score, edges),
        partial(count_paths, frequency, counts),
    )
    return counts


class Paths(NamedTuple):
    """Best paths of the types of a block: the pieces of the first type, from its last to
    its first, are in `piece` up to `end[0]`; then the others'. Both int32.
    """

    piece: NDArray[np.int32]
    end: NDArray[np.int32]


_PATHS = types.NamedUniTuple(INT32S, 2, Paths)


@kernel(types.void(LATTICE, FLOAT32S, int64, int64, int64, _PATHS))
def best_paths(lattice, score, most, begin, stop, paths):
    """The best paths of the types from `begin` to `stop`, which have no more than
    `most` edges.

    The trainer compares the nodes that end at a position once for every node that
    begins there, after adding its score: where rounding makes two sums equal, the node
    that begins first wins. Rounding keeps the order of sums, so that is a node with a
    greater total than all before it: `record` has the last of them at each position,
    `earlier` the one before each. Node 0 is none, node 1 the beginning.
    """
    piece, length, size = lattice.piece, lattice.length, lattice.size
    longest = size[begin:stop].max()
    total = np.empty(most + 2, np.float32)  # backtrace_score of each node of the type
    previous = np.empty(most + 2, np.int32)
    earlier = np.empty(most + 2, np.int32)
    record = np.empty(longest + 1, np.int32)
    highest = np.empty(longest + 1, np.float32)  # its total: one place to look, not two
    total[0], total[1], earlier[1] = -np.inf, 0, 0
    written, two = 0, index(2)
    for t in range(begin, stop):
        n = size[t]
        base, edge = edges_of(lattice, t)
        # Forward: the best way to each edge
        record[: n + 1], highest[: n + 1] = 0, -np.inf
        record[0], highest[0] = 1, 0
        i = index(0)
        while edge > base:
            edge -= index(1)
            bits, own = index(length[edge]), score[index(piece[edge])]
            left = index(record[i])
            sum_ = np.float32(highest[i] + own)
            while np.float32(total[index(earlier[left])] + own) == sum_:
                left = index(earlier[left])
            node = edge - base + two
            total[node], previous[node] = sum_, left
            j = i + (bits & index(127))
            earlier[node] = record[j]
            record[j] = node if sum_ > highest[j] else record[j]
            highest[j] = max(sum_, highest[j])
            i += bits >> index(7)
        # Back from the best of the last ones
        best = index(record[n])
        while best > index(1):
            paths.piece[written] = piece[base + best - two]
            written += 1
            best = index(previous[best])
        paths.end[t - begin] = written


@kernel(types.void(INT64S, FLOAT32S, int64, int64, _PATHS), allocates=False)
def count_paths(frequency, counts, begin, stop, paths):
    """Add the frequency of each type from `begin` to `stop` to the `counts` of the
    pieces in its best path.
    """
    at = 0
    for t in range(begin, stop):
        while at < paths.end[t - begin]:
            number = paths.piece[at] if paths.piece[at] < counts.size else 0
            counts[number] = np.float32(counts[number] + np.float32(frequency[t]))
            at += 1


# Pruning

SHRINKING_FACTOR = np.float32(0.75)

DROP, KEEP, CANDIDATE = 0, 1, 2  # verdicts of `judge_pieces`
_BLOCK = 1 << 12  # pieces that a thread takes at a time: a millisecond
# kMaxAgendaSize; kMinAgendaSize or 10 times the segmentations asked for
_MAX_AGENDA, _SHRUNK_AGENDA = (
    10_000,
    20,
)

# Sums in two orders differ by less than this share of them for each score: a rounding
# is off by 2^-24 at most.
_DOUBT = 2.0**-22
_HYPOTHESES = 1 << 17  # room for them to begin with


def pruned_size(pieces: int) -> int:
    """The size of the next rung below one of `pieces` pieces, unless a vocabulary's
    desired size is larger.
    """
    return int(SHRINKING_FACTOR * np.float32(pieces))


def desired_size(vocabulary: int) -> int:
    """`desired_vocab_size_`: EM and pruning stop at 1.1 times the size asked for."""
    return int(vocabulary * 1.1)


class Pruning(NamedTuple):
    """What decides on n pieces: the position and `length` of each in the text, int32;
    its `score` float32 [n + unknown]; its `counts` float32 of `trainer_counts`; `total`:
    occurrences of all types. Each token more costs `price` nats.
    """

    place: NDArray[np.int32]
    length: NDArray[np.int32]
    score: NDArray[np.float32]
    counts: NDArray[np.float32]
    total: np.float32
    price: np.float32


_PRUNING = types.NamedTuple([INT32S, INT32S, FLOAT32S, FLOAT32S, float32, float32], Pruning)


def judge_pieces(
    lattice: Lattice, pruning: Pruning, workers: Workers = ONE_THREAD
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Verdict int8 [n] on each piece, and the loss of likelihood without it, float32
    [n], relative to the occurrences of all types.

    DROP: no best path uses the piece, or it is not its own best segmentation. KEEP: no
    other pieces can replace it. CANDIDATE: pruning compares its loss.
    """
    size = len(pruning.counts)
    verdict, loss = np.full(size, DROP, np.int8), np.zeros(size, np.float32)
    # one after the other, in double precision
    sum_ = np.float32(np.add.accumulate(pruning.counts, dtype=np.float64)[-1])
    workers.map(
        [*range(0, size, _BLOCK), size],
        lambda begin, stop: judge(lattice, pruning, sum_, begin, stop, verdict, loss),
    )
    return verdict, loss


def rank_pieces(verdict: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """The pieces in the order in which pruning keeps them, int32: any pruned list is a
    beginning of this one.

    First those that cannot be replaced, in their old order, then the candidates by
    falling loss.
    """
    keep = np.flatnonzero(verdict == KEEP)
    candidates = np.flatnonzero(verdict == CANDIDATE)
    return np.concatenate([keep, candidates[np.argsort(-loss[candidates], kind="stable")]]).astype(
        np.int32
    )


@kernel(
    types.Tuple((float32, float32, int64))(LATTICE, int64, int64, FLOAT32S, INT32S),
)
def best_other_split(lattice, place, size, score, path):
    """The best segmentation of a piece into others: its score, its lead over the next
    one, and how many pieces; `path` gets them, the last first.
    """
    piece, length = lattice.piece, lattice.length
    best = np.full(size + 1, -np.inf, np.float32)
    second = np.full(size + 1, -np.inf, np.float32)  # the best sum with another last piece
    chosen = np.empty(size + 1, np.int64)
    best[0] = 0
    begin = lattice.first.size - 2 - place
    for i in range(size):
        for edge in range(edge_at(lattice, begin - i), edge_at(lattice, begin - i + 1)):
            j = i + (length[edge] & 127)
            if j > size or (i == 0 and j == size):
                continue
            sum_ = np.float32(best[i] + score[piece[edge]])
            if sum_ > best[j]:
                second[j] = best[j]
                best[j] = sum_
                chosen[j] = edge
            elif sum_ > second[j]:
                second[j] = sum_
    lead = np.float32(np.inf)
    pieces = 0
    j = size
    while j > 0:
        lead = min(lead, np.float32(best[j] - second[j]))
        path[pieces] = piece[chosen[j]]
        pieces += 1
        j -= length[chosen[j]] & 127
    return best[size], lead, pieces


@kernel("void(int32[::1], int64, int64, int32, float32[::1])")
def sift_up(heap, hole, top, value, fx):
    """`__push_heap` of libstdc++, ordered by `fx`."""
    parent = (hole - 1) // 2
    while hole > top and fx[heap[parent]] < fx[value]:
        heap[hole] = heap[parent]
        hole = parent
        parent = (hole - 1) // 2
    heap[hole] = value


@kernel("int32(int32[::1], int64, float32[::1])")
def pop_heap(heap, size, fx):
    """`std::pop_heap` of libstdc++: takes the top of a heap of `size`; which one of
    equals depends on it.
    """
    top, value = heap[0], heap[size - 1]
    size -= 1
    hole = child = 0
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if fx[heap[child]] < fx[heap[child - 1]]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * (child + 1)
        heap[hole] = heap[child - 1]
        hole = child - 1
    if size > 0:
        sift_up(heap, hole, 0, value, fx)
    return top


@kernel("int64(int32[:, ::1], int64, int32[::1])")
def write_path(hypotheses, top, path):
    """Fill `path` with the pieces of a complete hypothesis, the last first; returns how
    many there are.
    """
    pieces = 0
    at = hypotheses[top, 1]
    while hypotheses[at, 1] >= 0:
        path[pieces] = hypotheses[at, 2]
        pieces += 1
        at = hypotheses[at, 1]
    for place in range(pieces // 2):
        path[place], path[pieces - 1 - place] = path[pieces - 1 - place], path[place]
    return pieces


@kernel("void(int32[::1], int64, float32[::1])")
def shrink_agenda(agenda, waiting, fx):
    """Leave the best _SHRUNK_AGENDA of the hypotheses that wait."""
    best = np.empty(_SHRUNK_AGENDA, np.int32)
    for rank in range(_SHRUNK_AGENDA):
        best[rank] = pop_heap(agenda, waiting - rank, fx)
    for rank in range(_SHRUNK_AGENDA):
        sift_up(agenda, rank, 0, best[rank], fx)


@kernel(int64(LATTICE, int64, int64, FLOAT32S, INT32S))
def second_of_n_best(lattice, place, size, score, path):
    """The second best segmentation of a piece by the search of `Lattice::NBest`, step by step.

    Returns how many pieces it has, in `path`, the last first; 0 if the best one is
    split already, -1 if there is no second. The search goes from the end to the
    beginning: a hypothesis has the sum `gx` of its pieces from right to left, and the
    priority `fx`: what comes before them, added up from left to right, and `gx`.
    """
    piece, length = lattice.piece, lattice.length
    # The pieces inside, by beginning and end (one at most), and the best sums up to
    # each position
    node = np.full((size + 1, size + 1), -1, np.int32)
    backtrace = np.full(size + 1, -np.inf, np.float32)
    backtrace[0] = 0
    row = lattice.first.size - 2 - place
    for i in range(size):
        for edge in range(edge_at(lattice, row - i), edge_at(lattice, row - i + 1)):
            j = i + (length[edge] & 127)
            if j <= size:
                node[i, j] = piece[edge]
                backtrace[j] = max(backtrace[j], np.float32(backtrace[i] + score[piece[edge]]))
    # Hypotheses: where each begins (-1: the node before the text), the one to its
    # right, its piece. They are all different, so there are less than 2^(size + 1): 3
    # MB for 16 characters, used as they are filled. Longer pieces get more room when
    # they need it.
    capacity = min(2 << min(size, 20), _HYPOTHESES)
    hypotheses = np.empty((capacity, 3), np.int32)
    gx, fx = np.empty(capacity, np.float32), np.empty(capacity, np.float32)
    agenda = np.empty(_MAX_AGENDA + size + 1, np.int32)
    hypotheses[0, 0], hypotheses[0, 1], gx[0], fx[0] = size, -1, 0, backtrace[size]
    agenda[0] = 0
    waiting, made, found = 1, 1, 0
    while waiting:
        top = pop_heap(agenda, waiting, fx)
        waiting -= 1
        end = hypotheses[top, 0]
        if end < 0:  # complete
            pieces = write_path(hypotheses, top, path)
            if found == 1 or pieces > 1:
                return pieces if found else 0
            found = 1
            continue
        if made + end + 1 > len(gx):
            hypotheses = np.concatenate((hypotheses, hypotheses))
            gx, fx = np.concatenate((gx, gx)), np.concatenate((fx, fx))
        # All pieces that end where this one begins
        for begin in range(0 if end else -1, end):
            other = node[begin, end] if begin >= 0 else 0
            if other < 0:
                continue
            own = score[other] if begin >= 0 else np.float32(0)
            before = np.float32(backtrace[begin] + own) if begin >= 0 else np.float32(0)
            hypotheses[made, 0], hypotheses[made, 1], hypotheses[made, 2] = begin, top, other
            gx[made] = np.float32(own + gx[top])
            fx[made] = np.float32(before + gx[top])
            agenda[waiting] = made
            sift_up(agenda, waiting, 0, made, fx)
            waiting += 1
            made += 1
        if waiting >= _MAX_AGENDA:
            shrink_agenda(agenda, waiting, fx)
            waiting = _SHRUNK_AGENDA
    return -1


@kernel(int64(LATTICE, int64, int64, float32, FLOAT32S, INT32S))
def alternatives(lattice, place, size, own, score, path):
    """The pieces that take the place of a piece with the score `own`: its second best
    segmentation.

    Returns how many there are, in `path`, the last first; 0 if the best segmentation is
    not the piece itself, -1 if there is no second. Where two sums are so near that the
    order of additions decides between them, the search of SentencePiece is done step by
    step.
    """
    best, lead, pieces = best_other_split(lattice, place, size, score, path)
    margin = np.float64(abs(best)) * max(size, 16) * _DOUBT
    if best > own + margin:
        return 0
    if lead > margin and best < own - margin:
        return pieces
    return second_of_n_best(lattice, place, size, score, path)


@kernel(types.void(LATTICE, _PRUNING, float32, int64, int64, INT8S, FLOAT32S))
def judge(lattice, pruning, sum_, begin, stop, verdict, loss):
    """For each piece from `begin` to `stop`: drop, keep or candidate, and a candidate's loss.

    With f its count, S the `sum_` of counts and m the pieces of its second best
    segmentation a_1..a_m: loss = f / total x [log f / S - sum_j log (f_aj + f) / (S + f
    (m - 1)) + price (m - 1)].
    """
    place, size, score, counts, total, price = pruning
    alive = counts.size
    log_sum = np.float32(math.log(np.float64(sum_)))
    path = np.empty(256, np.int32)
    for number in range(begin, stop):
        # What may happen to the piece
        f = counts[number]
        if f == 0:
            continue
        if size[number] == 1:
            verdict[number] = KEEP
            continue
        pieces = alternatives(lattice, place[number], size[number], score[number], score, path)
        if pieces == 0:
            continue  # its Viterbi path is split
        if pieces < 0:
            verdict[number] = KEEP
            continue
        # The loss without it
        verdict[number] = CANDIDATE
        log_piece = np.float32(math.log(np.float64(f)) - np.float64(log_sum))
        log_sum_without = np.float32(
            math.log(np.float64(np.float32(sum_ + np.float32(f * np.float32(pieces - 1)))))
        )
        log_without = np.float32(0)
        for at in range(pieces - 1, -1, -1):
            other = path[at]
            if other >= alive:
                other = 0  # an unknown node has id 0 inside the trainer
            log_without = np.float32(
                np.float64(log_without)
                + (
                    math.log(np.float64(np.float32(counts[other] + f)))
                    - np.float64(log_sum_without)
                )
            )
        nats = np.float32(np.float32(log_piece - log_without) + price * np.float32(pieces - 1))
        loss[number] = np.float32(np.float32(f / total) * nats)
