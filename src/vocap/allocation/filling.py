"""The cost-aware step: its price is what it adds to the union, for that is what T limits."""

import numpy as np

from vocap.allocation.greedy import next_gain
from vocap.allocation.ladders import Union


def fill(union: Union) -> None:
    """Take the step of the largest gain per piece that the union grows by, as long as any fits.

    A step that does not fit is skipped, and tried again when the union has changed: its price falls when other
    languages take the same pieces. So the prices of all next steps are counted anew after each step; a heap of old
    prices would not do, since a price may fall as well as rise.
    """
    while True:
        best = _best(union, union.problem.capacity)
        if best is None:
            return
        union.step(best)


def overshoot(union: Union) -> int | None:
    """Take the best step of those that do not fit, if the room is not full; returns its language."""
    if union.size >= union.problem.capacity:
        return None
    best = _best(union, None)
    if best is not None:
        union.step(best)
    return best


def _best(union: Union, capacity: int | None) -> int | None:
    best, best_rate = None, 0.0
    for language, ladder in enumerate(union.problem.ladders):
        gain = next_gain(union, language)
        if gain == -np.inf:
            continue
        growth = union.growth(language)
        if capacity is not None and union.size + growth > capacity:
            continue
        rank = union.ranks[language]
        gained = gain * float(ladder.sizes[rank + 1] - ladder.sizes[rank]) / 1000
        rate = gained / growth if growth > 0 else np.inf
        if rate > best_rate:
            best, best_rate = language, rate
    return best
