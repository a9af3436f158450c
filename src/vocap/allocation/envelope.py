"""The upper concave hull of an ALP curve, and gains along it."""

import numpy as np


def upper_hull(sizes: np.ndarray, alp: np.ndarray) -> np.ndarray:
    """The least concave function above the curve, at every size [S].

    `sizes` [S] rise, `alp` [S] in nats a line. The published code's repair of a curve equals this hull.

    >>> upper_hull(np.array([1, 2, 3]), np.array([0.0, 0.0, 4.0])).tolist()
    [0.0, 2.0, 4.0]
    """
    sizes, alp = np.asarray(sizes, np.float64), np.asarray(alp, np.float64)
    corners: list[int] = []
    for point in range(len(sizes)):
        while len(corners) > 1 and _left_of(sizes, alp, corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    hull = np.interp(sizes, sizes[corners], alp[corners])
    hull[corners] = alp[corners]  # exactly, whatever the interpolation rounds
    return hull


def _left_of(x: np.ndarray, y: np.ndarray, first: int, middle: int, last: int) -> bool:
    """Whether `middle` lies on or below the chord from `first` to `last`."""
    return (y[middle] - y[first]) * (x[last] - x[first]) <= (y[last] - y[first]) * (x[middle] - x[first])


def gains_per_1k(sizes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The gain of each step to the next size, per 1,000 pieces of the language's own size [S - 1].

    A size that could not be trained makes a longer step, not a better one.
    """
    return 1000 * np.diff(np.asarray(values, np.float64)) / np.diff(np.asarray(sizes, np.float64))


def step_gains(sizes: np.ndarray, alp: np.ndarray, curve: str) -> np.ndarray:
    """Gains per 1,000 of every step [S - 1]: on the `hull`, where they never rise, or on the `raw` curve."""
    return gains_per_1k(sizes, upper_hull(sizes, alp) if curve == "hull" else alp)
