"""The E step: how often each piece is expected to occur (`Trainer::RunEStep`, Kudo 2018, section 3.2)."""

import math

import numpy as np

from vocap.vocabularies.ladder.kernels import LATTICES, index, kernel

UNKNOWN_PENALTY = np.float32(10)  # kUnkPenalty: an unknown node scores that much less than the worst piece


def with_unknown(scores: np.ndarray, unknown: int) -> np.ndarray:
    """`scores` float32 [n] followed by the score of an unknown node, `unknown` times."""
    return np.concatenate([scores, np.full(unknown, scores.min() - UNKNOWN_PENALTY, np.float32)])


# SentencePiece's float32 arithmetic, with its slow functions replaced by tables wherever that cannot be seen.
#
# LogSumExp adds log(exp(x) + 1), in double precision, to a float32 and rounds the sum to float32: 29 of the 53
# bits are thrown away. So an approximation that is off by less than MARGIN gives the same float32, unless the sum
# lies within MARGIN of the border between two of them. Then, about once in 1,000 times, the library function is
# called as SentencePiece calls it. The result is the same in every case (Ziv's strategy, as used by correctly
# rounded mathematical libraries). Tables hold a Taylor expansion about the middle of each of 32 cells a unit.
#
# These functions stand in this file because numba's cache compiles a function again when its own file changes.

CELLS = 32  # cells a unit
DEPTH = 23  # log(exp(-23) + 1) < 1.1e-10: from there on, the expansion is 0
MARGIN = 1e-9  # the expansion is off by less than 4e-10: |f''''| / 24 / 64^4, and |f''''| < 1/8


def _softplus_cells() -> np.ndarray:
    """Coefficients of log(exp(-x) + 1) about the middle of cell `int(x * CELLS)`, float64 [cells, 4]."""
    x = (np.arange(DEPTH * CELLS + 1) + 0.5) / CELLS  # the last cell is for all that is deeper
    s = 1 / (1 + np.exp(x))  # minus the derivative
    slope = s * (1 - s)
    cells = np.stack([np.log1p(np.exp(-x)), -s, slope / 2, -slope * (1 - 2 * s) / 6], axis=1)
    cells[-1] = 0
    return cells.ravel()


def _exp_cells() -> np.ndarray:
    """exp(-x) at the middle of cell `int(x * CELLS)`, float64; 0 from where float32 knows no smaller number."""
    return np.exp(-(np.arange(128 * CELLS) + 0.5) / CELLS)


_SOFTPLUS = _softplus_cells()
_EXP = _exp_cells()


@kernel("float32(float32, float32)")
def library_log_sum_exp(x, y):
    """`LogSumExp` of unigram_model.cc, word by word."""
    low, high = min(x, y), max(x, y)
    if high > np.float32(low + np.float32(50)):  # kMinusLogEpsilon
        return high
    return np.float32(np.float64(high) + math.log(math.exp(np.float64(np.float32(low - high))) + 1.0))


@kernel("float32(float32, float32)")
def log_sum_exp(x, y):
    """log(exp(x) + exp(y)) as `library_log_sum_exp` rounds it; `x` may be minus infinity."""
    difference = np.float32(x - y)
    high = x if difference > 0 else y
    gap = min(np.float64(abs(difference)), np.float64(DEPTH))
    cell = np.int32(gap * CELLS)
    t = gap - (cell + 0.5) * (1 / CELLS)
    at = index(cell * 4)
    sum_ = np.float64(high) + (
        (_SOFTPLUS[at] + t * _SOFTPLUS[at + index(1)])
        + t * t * (_SOFTPLUS[at + index(2)] + t * _SOFTPLUS[at + index(3)])
    )
    below = np.float32(sum_ - MARGIN)
    if below == np.float32(sum_ + MARGIN):
        return below
    return library_log_sum_exp(x, y)


@kernel("float32(float32, float32, float32)")
def add_expected(total, frequency, marginal):
    """`total + frequency x exp(marginal)` as `PopulateMarginal` rounds it; `marginal` is at most about 0."""
    x = -np.float64(marginal)
    if 0 <= x < 127:
        cell = np.int32(x * CELLS)
        t = (cell + 0.5) * (1 / CELLS) - x
        # exp(t) to degree 4 is off by less than t^5 / 120 < 8e-12
        addend = np.float64(frequency) * _EXP[index(cell)] * (1 + t * (1 + t * (0.5 + t * (1 / 6 + t * (1 / 24)))))
        sum_ = np.float64(total) + addend
        margin = addend * 1e-11 + sum_ * 1e-15
        below, above = np.float32(sum_ - margin), np.float32(sum_ + margin)
        if below == above:
            return below
    return np.float32(np.float64(total) + np.float64(frequency) * math.exp(np.float64(marginal)))


@kernel(f"float32[::1]({LATTICES}, int64[::1], float32[::1], int64)")
def expected_counts(first, piece, length, start, size, frequency, score, alive):
    """Expected counts float32 [alive] of the pieces over the lattices of all types.

    Type t begins at `start[t]`, has `size[t]` characters and occurs `frequency[t]` times. Log probabilities alpha
    and beta are folded edge by edge, in float32, and counts added up in the order of the types, as
    `Lattice::PopulateMarginal` does with one thread: another order would round differently. An unknown node has id
    0 inside the trainer, so what it is expected to occur goes to piece 0.
    """
    expected = np.zeros(alive, np.float32)
    end = first.size - 1
    longest, most = 0, 0
    for t in range(frequency.size):
        longest = max(longest, size[t])
        most = max(most, first[end - start[t]] - first[end - start[t] - size[t]])
    alpha = np.empty(longest + 1, np.float32)
    beta = np.empty(longest + 1, np.float32)
    until = np.empty(most, np.float32)  # log probability of all ways up to and with an edge
    after = np.empty(most, np.float32)  # and of all ways from its end on
    one, seven, low_bits = index(1), index(7), index(127)
    for t in range(frequency.size):
        n = size[t]
        begin = index(first[end - start[t] - n])
        edges = index(first[end - start[t]]) - begin
        alpha[0] = 0
        alpha[1 : n + 1] = -np.inf
        beta[n] = 0
        i, backward = index(0), index(n)
        total = np.float32(0)
        mirror = edges
        for edge in range(edges):  # both passes side by side: neither waits for the other
            # Lattice::BackwardAlgorithm
            edge = index(edge)
            bits = index(length[begin + edge])
            is_first = bits >> seven
            backward -= is_first
            rest = beta[backward + (bits & low_bits)]
            after[edge] = rest
            from_here = np.float32(score[index(piece[begin + edge])] + rest)
            total = from_here if is_first else log_sum_exp(total, from_here)
            beta[backward] = total
            # Lattice::ForwardAlgorithm: edges reach a position in the order of where they begin
            mirror -= one
            bits = index(length[begin + mirror])
            so_far = np.float32(score[index(piece[begin + mirror])] + alpha[i])
            until[mirror] = so_far
            j = i + (bits & low_bits)
            alpha[j] = so_far if alpha[j] == -np.inf else log_sum_exp(alpha[j], so_far)
            i += bits >> seven
        # Lattice::PopulateMarginal; of a position's edges the last comes first, which matters only to an unknown
        # node: it waits for the others, as one of them can be piece 0 too
        z = alpha[n]
        times = np.float32(frequency[t])
        waiting = False
        unknown = np.float32(0)
        edge = edges
        while edge > index(0):
            edge -= one
            marginal = np.float32(np.float32(until[edge] + after[edge]) - z)
            number = index(piece[begin + edge])
            if number < index(alive):
                expected[number] = add_expected(expected[number], times, marginal)
            else:
                waiting, unknown = True, marginal
            if waiting and length[begin + edge] >> 7:
                expected[0] = add_expected(expected[0], times, unknown)
                waiting = False
    return expected
