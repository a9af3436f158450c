r"""SentencePiece's float32 arithmetic, with its slow functions replaced by tables wherever that cannot be seen.

`LogSumExp` of SentencePiece adds log(exp(x) + 1) in double precision to a float32 and rounds the sum to float32:
29 of the 53 bits are thrown away. So an approximation that is off by less than `MARGIN` gives the same float32,
unless the sum lies within `MARGIN` of the border between two of them. Then, about once in 10,000 times, the
library function is called as SentencePiece calls it. The result is the same in every case (Ziv's strategy, as
used by correctly rounded mathematical libraries), at a fifth of the time.

Tables hold the Taylor expansion of degree 3 about the middle of each of 32 cells a unit.
"""

import math

import numpy as np

from vocap.vocabularies.ladder.kernels import kernel

CELLS = 32  # cells a unit
DEPTH = 18  # log(exp(-18) + 1) < 2^-25: below, only values near 0 can still change
MARGIN = 1e-9  # the expansion is off by less than 4e-10: |f''''| / 24 / 64^4, and |f''''| < 1/8


def _softplus_cells() -> np.ndarray:
    """Coefficients of log(exp(-x) + 1) about the middle of cell `int(x * CELLS)`, float64 [cells, 4]."""
    x = (np.arange(DEPTH * CELLS + 1) + 0.5) / CELLS
    s = 1 / (1 + np.exp(x))  # minus the derivative
    slope = s * (1 - s)
    return np.ascontiguousarray(
        np.stack([np.log1p(np.exp(-x)), -s, slope / 2, -slope * (1 - 2 * s) / 6], axis=1).ravel()
    )


def _exp_cells() -> np.ndarray:
    """exp(-x) at the middle of cell `int(x * CELLS)`, float64; 0 from where float32 knows no smaller number."""
    return np.exp(-(np.arange(128 * CELLS) + 0.5) / CELLS)


_SOFTPLUS = _softplus_cells()
_EXP = _exp_cells()


@kernel("float32(float32, float32)")
def log_sum_exp(x, y):
    """log(exp(x) + exp(y)) as `LogSumExp` of unigram_model.cc rounds it; `x` may be minus infinity."""
    low, high = min(x, y), max(x, y)
    gap = np.float64(np.float32(high - low))
    if gap < DEPTH:
        cell = np.int64(gap * CELLS)
        t = gap - (cell + 0.5) / CELLS
        at = cell * 4
        sum_ = np.float64(high) + (
            _SOFTPLUS[at] + t * (_SOFTPLUS[at + 1] + t * (_SOFTPLUS[at + 2] + t * _SOFTPLUS[at + 3]))
        )
        below, above = np.float32(sum_ - MARGIN), np.float32(sum_ + MARGIN)
        if below == above:
            return below
    elif high <= np.float32(-1) or high > np.float32(low + np.float32(50)):
        return high  # adds less than half of the last bit, or nothing at all (kMinusLogEpsilon)
    return np.float32(np.float64(high) + math.log(math.exp(np.float64(np.float32(low - high))) + 1.0))


@kernel("float32(float32, float32, float32)")
def add_expected(total, frequency, marginal):
    """`total + frequency x exp(marginal)` as `PopulateMarginal` rounds it; `marginal` is at most about 0."""
    x = -np.float64(marginal)
    if 0 <= x < 127:
        cell = np.int64(x * CELLS)
        t = (cell + 0.5) / CELLS - x
        # exp(t) to degree 4 is off by less than t^5 / 120 < 8e-12
        addend = np.float64(frequency) * _EXP[cell] * (1 + t * (1 + t * (0.5 + t * (1 / 6 + t * (1 / 24)))))
        sum_ = np.float64(total) + addend
        margin = addend * 1e-11 + sum_ * 1e-15
        below, above = np.float32(sum_ - margin), np.float32(sum_ + margin)
        if below == above:
            return below
    return np.float32(np.float64(total) + np.float64(frequency) * math.exp(np.float64(marginal)))
