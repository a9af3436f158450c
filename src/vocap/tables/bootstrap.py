"""Paired bootstrap: measures of several systems on the same units of text, drawn anew."""

import numpy as np
from numpy.typing import NDArray

WITHIN = 0.95  # share of the samples that an interval holds
PART = 1 << 22  # drawn numbers of units that are held at a time


def resample_ratios(
    parts: NDArray[np.float64], samples: int, random: np.random.Generator
) -> NDArray[np.float64]:
    """Measures of each system on all units, then on each sample of them.

    Parameters
    ----------
    parts : float64 [systems, units, 2], numerators and denominators. A measure is the
        ratio of their sums, 0 where the denominators are 0.
    samples : each draws as many units as there are, with replacement, the same for all
        systems.
    random : equal states give equal samples.

    Returns
    -------
    float64 [1 + samples, systems].
    """
    systems, units, _ = parts.shape
    table = parts.swapaxes(0, 1).reshape(units, -1)
    sums = np.empty((1 + samples, 2 * systems))
    sums[0] = table.sum(axis=0)
    step = max(1, PART // units)
    for start in range(0, samples, step):
        rows = min(step, samples - start)
        drawn = random.integers(units, size=(rows, units)) + units * np.arange(rows)[:, None]
        often = np.bincount(drawn.ravel(), minlength=rows * units).reshape(rows, units)
        sums[1 + start : 1 + start + rows] = often @ table
    numerators, denominators = sums.reshape(-1, systems, 2).transpose(2, 0, 1)
    return np.divide(
        numerators, denominators, out=np.zeros_like(numerators), where=denominators > 0
    )


def find_interval(sampled: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ends of the middle `WITHIN` of the samples along the first axis."""
    return np.quantile(sampled, [(1 - WITHIN) / 2, (1 + WITHIN) / 2], axis=0)
