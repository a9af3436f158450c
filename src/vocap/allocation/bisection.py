"""The published code's search: one threshold on the gain for all languages, instead of step after step."""

import numpy as np

from vocap.allocation.greedy import Choice, allocate_greedy
from vocap.allocation.ladders import Problem, Union


def allocate_bisect(problem: Problem) -> Choice:
    """The lowest gain threshold whose union is at most the capacity, then Algorithm 1's next step to fill it.

    Every language goes as far as all its weighted gains per 1K reach the threshold. The published code bisects
    0 to 100 to 1e-6 and pads with English; here the bisection is over the gains that occur, so it is exact.
    """
    falling = [np.minimum.accumulate(ladder.gains) for ladder in problem.ladders]
    gains = np.concatenate([*falling, np.empty(0)])
    thresholds = np.unique(gains[gains > 0])[::-1]  # falling

    def reached(taken: int) -> list[int]:
        """The ranks when the `taken` highest thresholds have been passed."""
        if not taken:
            return [0] * len(falling)
        return [int(np.searchsorted(-steps, -thresholds[taken - 1], side="right")) for steps in falling]

    low, high = 0, len(thresholds) + 1  # low fits, high does not (or is not there)
    if Union(problem, reached(0)).size > problem.capacity:
        return allocate_greedy(problem)
    while high - low > 1:
        middle = (low + high) // 2
        if Union(problem, reached(middle)).size <= problem.capacity:
            low = middle
        else:
            high = middle
    return allocate_greedy(problem, Union(problem, reached(low)))
