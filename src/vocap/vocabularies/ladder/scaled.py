"""The E step in float64, probabilities multiplied and added up, with neither logarithms nor float32: the fast way.

Probabilities of long types leave the range of float64, so each is scaled by exp(SCALE) a character: about what a
character costs in most texts. A type that leaves the range all the same is computed again with logarithms.
"""

import math

import numpy as np

from vocap.vocabularies.ladder.kernels import LATTICES, index, kernel

SCALE = 3.0
SMALLEST, LARGEST = 1e-290, 1e290

_SCALES = np.exp(SCALE * np.arange(128))


@kernel(f"void({LATTICES}, int64, float32[::1], float64, float64[::1])")
def occurrences_by_logarithms(first, piece, length, start, size, t, score, times, addend):
    """How often the edges of type t are expected if it occurs `times` times, in `addend` from its first edge."""
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
def occurrences(first, piece, length, start, size, frequency, score, weight, begin, stop, longest, addend):
    """How often the edges of the types from `begin` to `stop` are expected, in `addend` from the first edge on.

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
            rest = addend[low - base :]
            occurrences_by_logarithms(first, piece, length, start, size, t, score, times, rest)


@kernel(f"void({LATTICES}, int64, int64, float64[::1], float64[::1])")
def add_up(first, piece, length, start, size, begin, stop, addend, expected):
    """Add what `occurrences` found to `expected` float64 [alive]; unknown nodes count for piece 0."""
    end = first.size - 1
    base = index(first[end - start[stop - 1] - size[stop - 1]])
    alive = index(expected.size)
    for edge in range(base, index(first[end - start[begin]])):
        number = index(piece[edge])
        expected[number if number < alive else index(0)] += addend[edge - base]
