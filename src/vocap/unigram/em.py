"""EM: expected counts of pieces, and scores from them (`Trainer::RunEStep`, `RunMStep`;
Kudo 2018, section 3.2).

    alpha(j) = log of the summed probability of all segmentations of the text before
    position j
    beta(i)  = the same for the text after position i
    a piece on an edge from i to j occurs with probability exp(alpha(i) + score +
    beta(j) - alpha(end))

Types are independent of each other until their counts are added up, in the order of the
types. So they are cut into blocks: probabilities are computed for some blocks at once,
then each block is added in its turn. `expected_counts` has the arithmetic of
SentencePiece, bit for bit: log probabilities as float32 (`Lattice`). For each word type,
`walk_side_by_side` runs the forward and the backward pass, `marginals` computes the
occurrences, `add_up` adds to the expected counts; `lanes` compiles the first and the
last for eight lists of pieces too. `approximate_counts` multiplies
probabilities in float64.

All kernels stand in one file, as numba's cache compiles a function again when its own
file changes.
"""

import math
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import float32, float64, int64, types, uintp
from numpy.typing import NDArray

from vocap.unigram.kernels import (
    FLOAT32S,
    FLOAT64S,
    INT64S,
    ONE_THREAD,
    Workers,
    index,
    kernel,
)
from vocap.unigram.lattice import LATTICE, Lattice, edge_at

# kUnkPenalty: an unknown node scores that much less than the worst piece
UNKNOWN_PENALTY = np.float32(10)
# a block takes a millisecond, and 16 bytes an edge, which stay in a processor's cache
BLOCK_EDGES = 1 << 16


def with_unknown(scores: np.ndarray, unknown: int) -> np.ndarray:
    """`scores` float32 [n] followed by the score of an unknown node, `unknown`
    times.
    """
    return np.concatenate([scores, np.full(unknown, scores.min() - UNKNOWN_PENALTY, np.float32)])


class Sums(NamedTuple):
    """The logarithms alpha and beta of each position of a type, float32."""

    alpha: NDArray[np.float32]
    beta: NDArray[np.float32]


class Work(NamedTuple):
    """What is computed for the edges of a block, from its first edge on, and for two types
    at a time.

    `marginal`: log probabilities, before that alpha(i) + score; `after`: beta(j);
    `addend`: how often an edge occurs. `total`: alpha at the end of each type of any
    block.
    """

    marginal: NDArray[np.float32]
    after: NDArray[np.float32]
    addend: NDArray[np.float64]
    total: NDArray[np.float32]
    sums: Sums
    other_sums: Sums


SUMS = types.NamedUniTuple(FLOAT32S, 2, Sums)
WORK = types.NamedTuple([FLOAT32S, FLOAT32S, FLOAT64S, FLOAT32S, SUMS, SUMS], Work)


def new_sums(*shape: int) -> Sums:
    """Memory for arrays of this shape."""
    return Sums(*np.empty((2, *shape), np.float32))


def new_work(edges: int, longest: int, total: NDArray[np.float32]) -> Work:
    """Memory for blocks of at most so many edges, of types of at most `longest`
    characters; `total` float32 [types].
    """
    marginal, after = np.empty((2, edges), np.float32)
    sums, other_sums = new_sums(longest + 1), new_sums(longest + 1)
    return Work(marginal, after, np.empty(edges), total, sums, other_sums)


def margin_of_sums(score: NDArray[np.float32], longest: int) -> float:
    """A bound of the errors of all sums of scores over types of at most `longest`
    characters.
    """
    return EXPANSION + ROUNDING * (float(np.abs(score).max(initial=0)) + 1) * longest


def expected_counts(
    lattice: Lattice,
    frequency: NDArray[np.int64],
    score: NDArray[np.float32],
    alive: int,
    workers: Workers = ONE_THREAD,
) -> NDArray[np.float32]:
    """Expected counts float32 [alive] of the pieces over the lattices of all types, rounded
    as by SentencePiece (`Trainer::RunEStep`).

    Type t occurs `frequency[t]` times (int64 [types]; lattices of further types are not
    counted). `score` float32 [n + unknown]. The sums are those of one thread for any
    `workers`. An unknown node has id 0 inside the trainer, so its expected count is
    added to that of piece 0.
    """
    bounds, edges = blocks(lattice, len(frequency), BLOCK_EDGES)
    longest = int(lattice.size[: len(frequency)].max(initial=0))
    expected = np.zeros(alive, np.float32)
    workers.fold(
        bounds,
        partial(new_work, edges, longest, np.empty(len(frequency), np.float32)),
        partial(marginals, lattice, frequency, score, margin_of_sums(score, longest)),
        partial(add_up, lattice, frequency, expected),
    )
    return expected


def approximate_counts(
    lattice: Lattice, frequency: NDArray[np.int64], score: NDArray[np.float32], alive: int
) -> NDArray[np.float32]:
    """`expected_counts` from products of probabilities in float64, with one thread: not
    rounded as by SentencePiece, and for single lists of pieces in less time.
    """
    bounds, edges = blocks(lattice, len(frequency), BLOCK_EDGES)
    longest = int(lattice.size[: len(frequency)].max(initial=0))
    expected, weight, addend = np.zeros(alive), np.exp(score.astype(np.float64)), np.empty(edges)
    for block in pairwise(bounds):
        fast_occurrences(lattice, frequency, score, weight, *block, longest, addend)
        add_fast_occurrences(lattice, *block, addend, expected)
    return expected.astype(np.float32)


@kernel(types.UniTuple(uintp, 2)(LATTICE, int64), inner=True, allocates=False)
def edges_of(lattice, t):
    """The first edge of type t, and the one after its last: types lie from the end on."""
    end = lattice.first.size - 1 - lattice.start[t]
    return edge_at(lattice, end - lattice.size[t]), edge_at(lattice, end)


@kernel(types.Tuple((INT64S, int64))(LATTICE, int64, int64))
def blocks(lattice, types, most):
    """Cut `types` into blocks of about `most` edges: where each begins, int64; the
    largest's edges.
    """
    bounds = np.zeros(types + 1, np.int64)
    count, largest, edges = 0, np.int64(0), np.int64(0)
    for t in range(types):
        low, high = edges_of(lattice, t)
        edges += np.int64(high) - np.int64(low)
        largest = max(largest, edges)
        if edges >= most or t == types - 1:
            count += 1
            bounds[count] = t + 1
            edges = np.int64(0)
    return bounds[: count + 1].copy(), largest


# Probabilities of long types leave the range of float64, so `approximate_counts` scales
# each by exp(SCALE) a character: about the cost of a character in most texts. A type
# that still leaves the range is computed with logarithms.
SCALE = 3.0
SMALLEST, LARGEST = 1e-290, 1e290

_SCALES = np.exp(SCALE * np.arange(128))


@kernel(types.void(LATTICE, int64, FLOAT32S, float64, FLOAT64S))
def occurrences_by_logarithms(lattice, t, score, times, addend):
    """Expected counts of the edges of type t if it occurs `times` times, in `addend`
    from its first edge.
    """
    piece, length = lattice.piece, lattice.length
    n = lattice.size[t]
    low, high = edges_of(lattice, t)
    alpha = np.full(n + 1, -np.inf)
    beta = np.full(n + 1, -np.inf)
    alpha[0] = 0
    beta[n] = 0
    i = index(0)
    for edge in range(high - low):
        at = high - index(1) - edge
        bits = index(length[at])
        j = i + (bits & index(127))
        alpha[j] = np.logaddexp(alpha[j], alpha[i] + score[index(piece[at])])
        i += bits >> index(7)
    i = index(n)
    for edge in range(high - low):
        bits = index(length[low + edge])
        i -= bits >> index(7)
        through = score[index(piece[low + edge])] + beta[i + (bits & index(127))]
        beta[i] = np.logaddexp(beta[i], through)
        addend[edge] = times * math.exp(alpha[i] + through - alpha[n])


@kernel(types.void(LATTICE, INT64S, FLOAT32S, FLOAT64S, int64, int64, int64, FLOAT64S))
def fast_occurrences(lattice, frequency, score, weight, begin, stop, longest, addend):
    """Expected counts of the edges of the types from `begin` to `stop`, in `addend`
    from the first edge on.

    `weight` float64: exp(score); no type is longer than `longest`.
    """
    piece, length, size = lattice.piece, lattice.length, lattice.size
    base, _ = edges_of(lattice, stop - 1)
    seven, low_bits = index(7), index(127)
    alpha = np.empty(longest + 1)
    beta = np.empty(longest + 1)
    for t in range(begin, stop):
        n = size[t]
        low, high = edges_of(lattice, t)
        # Forward
        alpha[0] = 1
        alpha[1 : n + 1] = 0
        i = index(0)
        for edge in range(high - low):
            at = high - index(1) - edge
            bits = index(length[at])
            alpha[i + (bits & low_bits)] += (
                alpha[i] * weight[index(piece[at])] * _SCALES[bits & low_bits]
            )
            i += bits >> seven
        # Backward, with the occurrences
        beta[n] = 1
        factor = np.float64(frequency[t]) / alpha[n]
        i = index(n)
        total = 0.0
        for edge in range(low, high):
            bits = index(length[edge])
            i -= bits >> seven
            through = (
                weight[index(piece[edge])] * _SCALES[bits & low_bits] * beta[i + (bits & low_bits)]
            )
            total = through if bits >> seven else total + through
            beta[i] = total
            addend[edge - base] = alpha[i] * through * factor
        # Once more with logarithms, where a probability left the range
        smallest, largest = 1.0, 1.0
        for place in range(n + 1):
            smallest = min(smallest, min(alpha[place], beta[place]))
            largest = max(largest, max(alpha[place], beta[place]))
        if not (smallest > SMALLEST and largest < LARGEST):
            times = np.float64(frequency[t])
            own = addend[low - base :]
            occurrences_by_logarithms(lattice, t, score, times, own)


@kernel(types.void(LATTICE, int64, int64, FLOAT64S, FLOAT64S))
def add_fast_occurrences(lattice, begin, stop, addend, expected):
    """Add the counts of `fast_occurrences` to `expected` float64 [alive]; unknown nodes
    count for piece 0.
    """
    piece = lattice.piece
    base, _ = edges_of(lattice, stop - 1)
    _, high = edges_of(lattice, begin)
    alive = index(expected.size)
    for edge in range(base, high):
        number = index(piece[edge])
        expected[number if number < alive else index(0)] += addend[edge - base]


THRESHOLD = np.float32(0.5)  # kExpectedFrequencyThreshold: a piece expected less often is dropped


@kernel("float64(float64)")
def digamma(x):
    """`Digamma` of unigram_model_trainer.cc: recurrence to 7, then an asymptotic series
    about x - 1/2.
    """
    result = 0.0
    while x < 7:
        result -= 1 / x
        x += 1
    x -= 1.0 / 2.0
    xx = 1.0 / x
    xx2 = xx * xx
    xx4 = xx2 * xx2
    return (
        result
        + math.log(x)
        + (1.0 / 24.0) * xx2
        - (7.0 / 960.0) * xx4
        + (31.0 / 8064.0) * xx4 * xx2
        - (127.0 / 30720.0) * xx4 * xx4
    )


@kernel("Tuple((int32[::1], float32[::1]))(float32[::1])")
def run_m_step(expected):
    """Numbers of the pieces that stay, int32, rising, and their new scores float32:
    digamma(e) - digamma(sum).
    """
    kept = np.empty(expected.size, np.int32)
    count = 0
    total = np.float32(0)
    for number in range(expected.size):
        if expected[number] >= THRESHOLD:
            kept[count] = number
            count += 1
            total = np.float32(total + expected[number])
    log_total = np.float64(np.float32(digamma(np.float64(total))))
    scores = np.empty(count, np.float32)
    for place in range(count):
        scores[place] = np.float32(digamma(np.float64(expected[kept[place]])) - log_total)
    return kept[:count].copy(), scores


# SentencePiece's float32 arithmetic, with its slow functions replaced by tables
# wherever that cannot be seen.
#
# LogSumExp adds log(exp(x) + 1), in double precision, to a float32 and rounds the sum
# to float32: 29 of the 53 bits are thrown away. So an approximation that is off by less
# than a margin gives the same float32, unless the sum lies within the margin of the
# border between two of them. Then, about once in 100,000 times, the library function is
# called as SentencePiece calls it. The result is the same in every case (Ziv's
# strategy, as used by correctly rounded mathematical libraries). Tables hold a Taylor
# expansion about the middle of each of 32 cells a unit.

CELLS = 32  # cells a unit
# added to a number, it leaves a multiple of 1 / CELLS, whose number ends the bits
WHOLE_CELLS = np.float32(2**23 / CELLS)
DEPTH = 27  # log(exp(-27) + 1) < 2e-12: from there on, the expansion is 0
EXPANSION = (
    4e-12  # the expansion is off by less than 2e-12: |f'''''| / 120 / 64^5, and |f'''''| < 1/4
)
ROUNDING = 1e-15  # a few roundings of a float64, relative


def _softplus_cells() -> np.ndarray:
    """log(exp(-x) + 1) in cell c: Taylor coefficients about `c / CELLS`, float64
    [cells * 5].
    """
    x = np.arange(DEPTH * CELLS + 1) / CELLS
    s = 1 / (1 + np.exp(x))  # minus the derivative
    slope = s * (1 - s)
    cells = np.stack(
        [
            np.log1p(np.exp(-x)),
            -s,
            slope / 2,
            -slope * (1 - 2 * s) / 6,
            slope * (1 - 6 * slope) / 24,
        ],
        axis=1,
    )
    cells[-1] = 0  # the last cell is for all that is deeper
    return cells.ravel()


_SOFTPLUS = _softplus_cells()
# exp(-x) at the middle of cell `int(x * CELLS)`
_EXP = np.exp(-(np.arange(128 * CELLS) + 0.5) / CELLS)


@kernel("float32(float32, float32)")
def library_log_sum_exp(x, y):
    """`LogSumExp` of unigram_model.cc, word by word."""
    low, high = min(x, y), max(x, y)
    if high > np.float32(low + np.float32(50)):  # kMinusLogEpsilon
        return high
    return np.float32(
        np.float64(high) + math.log(math.exp(np.float64(np.float32(low - high))) + 1.0)
    )


@kernel("UniTuple(float32, 2)(float32, float32, float64)", fused=True)
def quick_log_sum_exp(x, y, margin):
    """log(exp(x) + exp(y)) rounded to float32, and 0 if all values within `margin` of
    the sum round alike.

    `x` may be minus infinity.
    """
    high = x if x > y else y
    low = y if x > y else x
    gap = np.float32(high - low)
    gap = gap if gap < np.float32(DEPTH) else np.float32(DEPTH)
    moved = np.float32(gap + WHOLE_CELLS)
    cell = moved.view(np.uint32) & np.uint32(1023)
    at = index(cell) * index(5)
    t = np.float64(np.float32(gap - np.float32(moved - WHOLE_CELLS)))
    sum_ = (np.float64(high) + (_SOFTPLUS[at] + t * _SOFTPLUS[at + index(1)])) + t * t * (
        (_SOFTPLUS[at + index(2)] + t * _SOFTPLUS[at + index(3)]) + t * t * _SOFTPLUS[at + index(4)]
    )
    below = np.float32(sum_ - margin)
    return below, np.float32(np.float32(sum_ + margin) - below)


@kernel("float32(float32, float32)")
def log_sum_exp(x, y):
    """log(exp(x) + exp(y)) as `library_log_sum_exp` rounds it; `x` may be minus
    infinity.
    """
    quick, doubt = quick_log_sum_exp(
        x, y, EXPANSION + max(abs(x) if x > -np.inf else 0, abs(y)) * ROUNDING
    )
    return library_log_sum_exp(x, y) if doubt > 0 else quick


@kernel("float64(float32, float32)")
def occurrences(times, marginal):
    """About `times x exp(marginal)` for a log probability between -127 and 0: off by
    less than 1e-11 of it.
    """
    x = min(max(-np.float64(marginal), 0.0), 127.0)
    cell = np.int32(x * CELLS)
    t = (cell + 0.5) * (1 / CELLS) - x
    # exp to degree 4 is off by less than t^5 / 120 < 8e-12
    return (
        np.float64(times)
        * _EXP[index(cell)]
        * (1 + t * (1 + t * (0.5 + t * (1 / 6 + t * (1 / 24)))))
    )


class Walk(NamedTuple):
    """A walk through the edges of type `t`: the `next` edge of the backward pass, the one
    after the next of the forward pass (`end`), the positions where the forward and the
    `backward` one are, the `sum_` that the backward pass has of its position, and
    whether a rounding is in `doubt` (above 0).
    """

    t: np.int64
    next: np.uintp
    end: np.uintp
    forward: np.uintp
    backward: np.uintp
    sum_: np.float32
    doubt: np.float32


_WALK = types.NamedTuple([int64, *[uintp] * 4, float32, float32], Walk)


@kernel(_WALK(LATTICE, FLOAT32S, float64, uintp, WORK, SUMS, _WALK), inner=True, allocates=False)
def step(lattice, score, margin, base, work, sums, walk):
    """One edge of the backward pass and one of the forward pass: neither waits for the other.

    Leaves alpha(i) + score of the one in `work.marginal`, beta(j) of the other in
    `work.after`, both from edge `base` on.
    """
    piece, length, alpha, beta = lattice.piece, lattice.length, sums.alpha, sums.beta
    one, seven, low_bits = index(1), index(7), index(127)
    # Lattice::BackwardAlgorithm
    low = walk.next
    bits = index(length[low])
    is_first = bits >> seven
    backward = walk.backward - is_first
    following = beta[backward + (bits & low_bits)]
    work.after[low - base] = following
    sum_, doubt_backward = quick_log_sum_exp(
        np.float32(-np.inf) if is_first else walk.sum_,
        np.float32(score[index(piece[low])] + following),
        margin,
    )
    beta[backward] = sum_
    # Lattice::ForwardAlgorithm: edges reach a position in the order of where they begin
    high = walk.end - one
    bits = index(length[high])
    so_far = np.float32(score[index(piece[high])] + alpha[walk.forward])
    work.marginal[high - base] = so_far
    j = walk.forward + (bits & low_bits)
    alpha[j], doubt_forward = quick_log_sum_exp(alpha[j], so_far, margin)
    doubt = np.float32(walk.doubt + np.float32(doubt_backward + doubt_forward))
    return Walk(walk.t, low + one, high, walk.forward + (bits >> seven), backward, sum_, doubt)


@kernel(_WALK(LATTICE, int64, SUMS), inner=True, allocates=False)
def begin_walk(lattice, t, sums):
    """Before the first edges of type t."""
    n = lattice.size[t]
    sums.alpha[0] = 0
    sums.alpha[1 : n + 1] = -np.inf
    sums.beta[n] = 0
    low, high = edges_of(lattice, t)
    return Walk(t, low, high, index(0), index(n), np.float32(-np.inf), np.float32(0))


@kernel(float32(LATTICE, FLOAT32S, int64, uintp, WORK, SUMS), inner=True, allocates=False)
def walk_with_care(lattice, score, t, base, work, sums):
    """All steps of type t, each rounded as the library does it; returns alpha at its
    end.
    """
    piece, length, alpha, beta = lattice.piece, lattice.length, sums.alpha, sums.beta
    _, low, high, i, backward, total, _ = begin_walk(lattice, t, sums)
    for edge in range(low, high):
        bits = index(length[edge])
        backward -= bits >> index(7)
        work.after[edge - base] = beta[backward + (bits & index(127))]
        from_here = np.float32(score[index(piece[edge])] + work.after[edge - base])
        total = from_here if bits >> index(7) else log_sum_exp(total, from_here)
        beta[backward] = total
    while high > low:
        high -= index(1)
        bits = index(length[high])
        so_far = np.float32(score[index(piece[high])] + alpha[i])
        work.marginal[high - base] = so_far
        j = i + (bits & index(127))
        alpha[j] = so_far if alpha[j] == -np.inf else log_sum_exp(alpha[j], so_far)
        i += bits >> index(7)
    return alpha[i]


@kernel(types.void(LATTICE, FLOAT32S, uintp, WORK, SUMS, _WALK), inner=True, allocates=False)
def end_walk(lattice, score, base, work, sums, walk):
    """After the last edges of a type, which is walked again if a rounding was in doubt."""
    total = sums.alpha[walk.forward]
    if walk.doubt > 0:
        total = walk_with_care(lattice, score, walk.t, base, work, sums)
    work.total[walk.t] = total


@kernel(types.void(LATTICE, FLOAT32S, float64, int64, int64, WORK), allocates=False)
def walk_side_by_side(lattice, score, margin, begin, stop, work):
    """Both passes over the types from `begin` to `stop`, two types at a time.

    Each step of a walk waits for the one before, so a processor has time for the steps
    of another type.
    """
    base, _ = edges_of(lattice, stop - 1)
    sums, other_sums = work.sums, work.other_sums
    walk = begin_walk(lattice, begin, sums)
    for t in range(begin + 1, stop):
        other = begin_walk(lattice, t, other_sums)
        left, left_of_other = edges_of(lattice, walk.t)[1] - walk.next, other.end - other.next
        for _ in range(min(left, left_of_other)):
            walk = step(lattice, score, margin, base, work, sums, walk)
            other = step(lattice, score, margin, base, work, other_sums, other)
        # The one that has come to its end gives way to the next type
        if left <= left_of_other:
            walk, other, sums, other_sums = other, walk, other_sums, sums
        end_walk(lattice, score, base, work, other_sums, other)
    for _ in range(edges_of(lattice, walk.t)[1] - walk.next):
        walk = step(lattice, score, margin, base, work, sums, walk)
    end_walk(lattice, score, base, work, sums, walk)


@kernel(types.void(LATTICE, INT64S, FLOAT32S, float64, int64, int64, WORK), allocates=False)
def marginals(lattice, frequency, score, margin, begin, stop, work):
    """Log probabilities of the edges of the types from `begin` to `stop`, in
    `work.marginal`, and how often they occur, an approximation (see `add_up`), in
    `work.addend`.
    """
    walk_side_by_side(lattice, score, margin, begin, stop, work)
    base, _ = edges_of(lattice, stop - 1)
    for t in range(begin, stop):
        times, total = np.float32(frequency[t]), work.total[t]
        low, high = edges_of(lattice, t)
        for edge in range(low - base, high - base):
            log_probability = np.float32(np.float32(work.marginal[edge] + work.after[edge]) - total)
            work.marginal[edge] = log_probability
            work.addend[edge] = occurrences(times, log_probability)


@kernel("float32(float32, float32, float32, float64)")
def add_expected(total, times, marginal, addend):
    """`total + times x exp(marginal)` as `PopulateMarginal` rounds it; `addend` is that of
    `occurrences`.
    """
    sum_ = np.float64(total) + addend
    margin = addend * 1e-11 + sum_ * ROUNDING
    below = np.float32(sum_ - margin)
    if below == np.float32(sum_ + margin) and -127 < marginal <= 0:
        return below
    return np.float32(np.float64(total) + np.float64(times) * math.exp(np.float64(marginal)))


@kernel(types.void(FLOAT32S, uintp, float32, WORK, uintp), inner=True, allocates=False)
def add_edge(expected, number, times, work, edge):
    """Add an edge of a piece."""
    expected[number] = add_expected(expected[number], times, work.marginal[edge], work.addend[edge])


@kernel(types.void(FLOAT32S, float32, WORK, uintp), inner=True, allocates=False)
def add_unknown(expected, times, work, edge):
    """Add an unknown node."""
    addend = np.float64(times) * math.exp(np.float64(work.marginal[edge]))
    expected[0] = np.float32(np.float64(expected[0]) + addend)


@kernel(types.void(LATTICE, INT64S, FLOAT32S, int64, int64, WORK), allocates=False)
def add_up(lattice, frequency, expected, begin, stop, work):
    """Add the occurrences of the edges of the types from `begin` to `stop` to `expected`
    (`Lattice::PopulateMarginal`).

    Of a position's edges the last comes first, which matters only to an unknown node:
    it waits for the others, as one of them can be piece 0 too.
    """
    base, _ = edges_of(lattice, stop - 1)
    alive = index(expected.shape[0])
    for t in range(begin, stop):
        times = np.float32(frequency[t])
        low, edge = edges_of(lattice, t)
        waiting, unknown = False, index(0)
        while edge > low:
            edge -= index(1)
            number = index(lattice.piece[edge])
            if number < alive:
                add_edge(expected, number, times, work, edge - base)
            else:
                waiting, unknown = True, edge - base
            if waiting and lattice.length[edge] >> 7:
                add_unknown(expected, times, work, unknown)
                waiting = False
