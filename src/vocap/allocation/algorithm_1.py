"""Algorithm 1 of Zheng et al. (2021) on the curves' hulls, the published code's search, and sizes by fixed shares.

Gains are weighted as in Equation 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vocap.allocation.problem import Problem, Union


@dataclass(frozen=True)
class Choice:
    """A size for each language (its rank), with and without the step that overshoots.

    `fitting` has a union of at most the capacity, where the objective is compared with the bound; None when the
    smallest sizes alone are too many. `ranks` gives the vocabulary: its union reaches the capacity
    (and is then clipped), unless every curve is `exhausted`.
    """

    ranks: tuple[int, ...]
    union: int
    fitting: tuple[int, ...] | None
    fitting_union: int | None
    last: int | None  # the language of the step from `fitting` to `ranks`


def next_gain(union: Union, language: int) -> float:
    """Weighted gain per 1K of the language's next step; minus infinity where no step has a positive gain."""
    own, rank = union.problem.curves[language], union.ranks[language]
    if rank + 1 >= len(own.sizes) or not own.gains[rank] > 0:
        return -np.inf
    return float(own.gains[rank])


def allocate_greedy(problem: Problem, union: Union | None = None) -> Choice:
    """Take the step of the largest weighted gain per 1K until the union holds the capacity: Algorithm 1.

    Of equal gains the first language in the order of `problem.curves` moves. The gains along a hull never rise,
    so a language without a positive gain takes no further step. `union`: the start, by default every language at
    its smallest size. Returns the last ranks whose union fits, and those of the step beyond.
    """
    union = union or problem.start()
    fitting, fitting_union, last = None, None, None
    gains = [next_gain(union, language) for language in range(len(problem.curves))]
    while True:
        if union.size <= problem.capacity:
            fitting, fitting_union = tuple(union.ranks), union.size
        best = int(np.argmax(gains))
        if union.size >= problem.capacity or gains[best] == -np.inf:
            break
        union.step(best)
        gains[best] = next_gain(union, best)
        last = best
    if union.size <= problem.capacity or fitting is None:
        last = None
    return Choice(tuple(union.ranks), union.size, fitting, fitting_union, last)


def allocate_bisect(problem: Problem) -> Choice:
    """The lowest gain threshold whose union is at most the capacity, then Algorithm 1's next step to fill it.

    Every language takes its steps as long as their weighted gains per 1K reach the threshold. The published code
    bisects 0 to 100 to 1e-6 and pads with English; here the bisection is over the gains that occur, so it is
    exact.
    """
    falling = [np.minimum.accumulate(own.gains) for own in problem.curves]
    gains = np.concatenate([*falling, np.empty(0)])
    thresholds = np.unique(gains[gains > 0])[::-1]  # falling

    def reached(taken: int) -> list[int]:
        """The ranks at the lowest of the `taken` highest thresholds."""
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


def allocate_by_shares(problem: Problem, shares: Sequence[float]) -> Choice:
    """Every language the largest of its sizes within scale x share, for the largest scale whose union fits.

    `shares` are above 0, in any unit: all alike for the uniform allocation, n_i for one in proportion to the text.
    Every language has its smallest size at least, and its largest at most. Of languages that reach their next size
    at the same scale the one of larger weight goes first; the first step that does not fit ends the search.
    """
    union = problem.start()
    if union.size > problem.capacity:
        return Choice(tuple(union.ranks), union.size, None, None, None)
    steps = sorted(
        (int(size) / share, -own.weight, language)
        for language, (own, share) in enumerate(zip(problem.curves, shares, strict=True))
        for size in own.sizes[1:]
    )
    for _, _, language in steps:
        if union.size + union.growth(language) > problem.capacity:
            break
        union.step(language)
    ranks = tuple(union.ranks)
    return Choice(ranks, union.size, ranks, union.size, None)
