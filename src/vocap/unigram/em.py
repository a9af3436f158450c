"""EM: expected counts of pieces, and scores from them (`Trainer::RunEStep`, `RunMStep`; Kudo 2018, section 3.2).

    alpha(j) = log of the summed probability of all segmentations of the text before position j
    beta(i)  = the same for the text after position i
    a piece on an edge from i to j occurs with probability exp(alpha(i) + score + beta(j) - alpha(end))

Types are independent of each other until their counts are added up, in the order of the types. So they are cut
into blocks: probabilities are computed for some blocks at once, then each block is added in its turn. The exact
arithmetic is that of SentencePiece (`log_domain`), the fast one multiplies probabilities in float64.
"""

import math

import numpy as np

from vocap.unigram import log_domain
from vocap.unigram.kernels import LATTICES, index, kernel
from vocap.unigram.thread_pool import ONE_THREAD, WorkBuffer, Workers

UNKNOWN_PENALTY = np.float32(10)  # kUnkPenalty: an unknown node scores that much less than the worst piece
BLOCK_EDGES = 1 << 16  # a block takes a millisecond, and 16 bytes an edge, which stay in a processor's cache


def with_unknown(scores: np.ndarray, unknown: int) -> np.ndarray:
    """`scores` float32 [n] followed by the score of an unknown node, `unknown` times."""
    return np.concatenate([scores, np.full(unknown, scores.min() - UNKNOWN_PENALTY, np.float32)])


def expected_counts(
    first: np.ndarray,
    piece: np.ndarray,
    length: np.ndarray,
    start: np.ndarray,
    size: np.ndarray,
    frequency: np.ndarray,
    score: np.ndarray,
    alive: int,
    workers: Workers = ONE_THREAD,
    arithmetic: str = "exact",
) -> np.ndarray:
    """Expected counts float32 [alive] of the pieces over the lattices of all types.

    `first` int32, `piece` int32, `length` uint8: a `Lattice`. Type t begins at `start[t]`, has `size[t]`
    characters (int32 both) and occurs `frequency[t]` times (int64 [types]; lattices of further types are not
    counted). `start` rises. `score` float32 [n + unknown]. The sums are those of one thread for any `workers`. An
    unknown node has id 0 inside the trainer, so its expected count is added to that of piece 0.

    `exact` rounds as SentencePiece does, `fast` multiplies probabilities in float64.
    """
    lattices = (first, piece, length, start, size)
    bounds, edges = blocks(first, start, size, len(frequency), BLOCK_EDGES)
    types = int(np.diff(bounds).max(initial=0))
    if arithmetic == "fast":
        expected = np.zeros(alive, np.float64)
        longest = int(size[: len(frequency)].max(initial=0))
        weight = np.exp(score.astype(np.float64))

        def new_buffer():
            addend = np.empty(edges)

            def compute(block: int) -> None:
                fast_occurrences(*lattices, frequency, score, weight, *bounds[block : block + 2], longest, addend)

            def add(block: int) -> None:
                add_fast_occurrences(*lattices, *bounds[block : block + 2], addend, expected)

            return WorkBuffer(compute, add)

    else:
        expected = np.zeros(alive, np.float32)
        margin = log_domain.margin_for(score, size[: len(frequency)])

        def new_buffer():
            marginal, after, addend = np.empty(edges, np.float32), np.empty(edges, np.float32), np.empty(edges)
            total = np.empty(types, np.float32)

            def compute(block: int) -> None:
                span = bounds[block : block + 2]
                log_domain.marginals(*lattices, frequency, score, margin, *span, marginal, after, total, addend)

            def add(block: int) -> None:
                log_domain.add_up(*lattices, frequency, *bounds[block : block + 2], marginal, addend, expected)

            return WorkBuffer(compute, add)

    workers.in_order(len(bounds) - 1, new_buffer)
    return expected.astype(np.float32, copy=False)


@kernel("Tuple((int64[::1], int64))(int32[::1], int32[::1], int32[::1], int64, int64)")
def blocks(first, start, size, types, most):
    """Cut `types` into blocks of about `most` edges: where each begins, int64; the largest's edges."""
    end = first.size - 1
    bounds = np.zeros(types + 1, np.int64)
    count, largest, edges = 0, 0, 0
    for t in range(types):
        edges += first[end - start[t]] - first[end - start[t] - size[t]]
        largest = max(largest, edges)
        if edges >= most or t == types - 1:
            count += 1
            bounds[count] = t + 1
            edges = 0
    return bounds[: count + 1].copy(), largest


# Probabilities of long types leave the range of float64, so the fast arithmetic scales each by exp(SCALE) a
# character: about the cost of a character in most texts. A type that still leaves the range is computed with
# logarithms.
SCALE = 3.0
SMALLEST, LARGEST = 1e-290, 1e290

_SCALES = np.exp(SCALE * np.arange(128))


@kernel(f"void({LATTICES}, int64, float32[::1], float64, float64[::1])")
def occurrences_by_logarithms(first, piece, length, start, size, t, score, times, addend):
    """Expected counts of the edges of type t if it occurs `times` times, in `addend` from its first edge."""
    end = first.size - 1
    n = size[t]
    low, high = index(first[end - start[t] - n]), index(first[end - start[t]])
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


@kernel(f"void({LATTICES}, int64[::1], float32[::1], float64[::1], int64, int64, int64, float64[::1])")
def fast_occurrences(first, piece, length, start, size, frequency, score, weight, begin, stop, longest, addend):
    """Expected counts of the edges of the types from `begin` to `stop`, in `addend` from the first edge on.

    `weight` float64: exp(score); no type is longer than `longest`.
    """
    end = first.size - 1
    base = index(first[end - start[stop - 1] - size[stop - 1]])
    seven, low_bits = index(7), index(127)
    alpha = np.empty(longest + 1)
    beta = np.empty(longest + 1)
    for t in range(begin, stop):
        n = size[t]
        low, high = index(first[end - start[t] - n]), index(first[end - start[t]])
        alpha[0] = 1
        alpha[1 : n + 1] = 0
        i = index(0)
        for edge in range(high - low):
            at = high - index(1) - edge
            bits = index(length[at])
            alpha[i + (bits & low_bits)] += alpha[i] * weight[index(piece[at])] * _SCALES[bits & low_bits]
            i += bits >> seven
        beta[n] = 1
        factor = np.float64(frequency[t]) / alpha[n]
        i = index(n)
        total = 0.0
        for edge in range(low, high):
            bits = index(length[edge])
            i -= bits >> seven
            through = weight[index(piece[edge])] * _SCALES[bits & low_bits] * beta[i + (bits & low_bits)]
            total = through if bits >> seven else total + through
            beta[i] = total
            addend[edge - base] = alpha[i] * through * factor
        smallest, largest = 1.0, 1.0
        for i in range(n + 1):
            smallest = min(smallest, min(alpha[i], beta[i]))
            largest = max(largest, max(alpha[i], beta[i]))
        if not (smallest > SMALLEST and largest < LARGEST):
            times = np.float64(frequency[t])
            own = addend[low - base :]
            occurrences_by_logarithms(first, piece, length, start, size, t, score, times, own)


@kernel(f"void({LATTICES}, int64, int64, float64[::1], float64[::1])")
def add_fast_occurrences(first, piece, length, start, size, begin, stop, addend, expected):
    """Add the counts of `fast_occurrences` to `expected` float64 [alive]; unknown nodes count for piece 0."""
    end = first.size - 1
    base = index(first[end - start[stop - 1] - size[stop - 1]])
    alive = index(expected.size)
    for edge in range(base, index(first[end - start[begin]])):
        number = index(piece[edge])
        expected[number if number < alive else index(0)] += addend[edge - base]


THRESHOLD = np.float32(0.5)  # kExpectedFrequencyThreshold: a piece expected less often is dropped


@kernel("float64(float64)")
def digamma(x):
    """`Digamma` of unigram_model_trainer.cc: recurrence to 7, then an asymptotic series about x - 1/2."""
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
def maximise(expected):
    """Numbers of the pieces that stay, int32, rising, and their new scores float32: digamma(e) - digamma(sum)."""
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
