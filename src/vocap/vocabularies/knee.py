"""Where a curve starts, bends and ends, and why: what a person needs to choose a size by eye."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vocap.vocabularies.curve import Point

_FLAT = 1e-9  # of the curve's range: below, a point lies on the chord


@dataclass(frozen=True)
class Outline:
    """The first and last point with a model, the point at the bend (None: there is none), and the reasons.

    `best_heldout` is the point with the highest ALP on held-out lines, the smallest of equals; None without them.
    """

    start: Point
    knee: Point | None
    end: Point
    best_heldout: Point | None
    start_reason: str
    end_reason: str


def find_knee(size: np.ndarray, alp: np.ndarray) -> int | None:
    """Index of the point that lies farthest above the straight line from a curve's first point to its last.

    `size` [n] rises, `alp` [n]. Of equals the first. Up to there a piece brings more ALP than on average over the
    curve, from there on less. As both axes can be scaled without another point coming out, this is the knee of
    Kneedle (Satopää et al. 2011) without smoothing. It depends on where the curve ends: knees of curves that end
    at different sizes do not compare. None with fewer than three points, or where none lies above the line.
    """
    size, alp = np.asarray(size, float), np.asarray(alp, float)
    if len(size) < 3:
        return None
    above = alp - alp[0] - (alp[-1] - alp[0]) * (size - size[0]) / (size[-1] - size[0])
    farthest = int(np.argmax(above))
    return farthest if above[farthest] > _FLAT * np.ptp(alp) else None


def outline(points: Sequence[Point]) -> Outline | None:
    """The outline of a curve of all sizes asked for, in rising order; None where no size has a model."""
    known = [index for index, point in enumerate(points) if point.ok]
    if not known:
        return None
    first, last = known[0], known[-1]
    reached = [points[index] for index in known]
    knee = find_knee(np.array([point.size for point in reached]), np.array([point.alp for point in reached]))
    heldout = [point for point in reached if point.alp_heldout is not None]
    return Outline(
        start=points[first],
        knee=None if knee is None else reached[knee],
        end=points[last],
        best_heldout=max(heldout, key=lambda point: point.alp_heldout, default=None),
        start_reason=points[first - 1].status if first else "the smallest size asked for",
        end_reason=points[last + 1].status if last + 1 < len(points) else "the largest size asked for",
    )
