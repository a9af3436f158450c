"""The paper's rule: Algorithm 1 of Zheng et al. (2021), with the weights of Equation 2, on the curves' hulls."""

from dataclasses import dataclass

import numpy as np

from vocap.allocation.ladders import Problem, Union


@dataclass(frozen=True)
class Choice:
    """A size for each language (its rank), with and without the step that overshoots.

    `fitting` has a union of at most the capacity, where the objective is compared with the bound; None when the
    smallest sizes alone are too many. `ranks` is what the vocabulary is made of: its union reaches the capacity
    (and is then clipped), unless every curve is `exhausted`.
    """

    ranks: tuple[int, ...]
    union: int
    fitting: tuple[int, ...] | None
    fitting_union: int | None
    last: int | None  # the language of the step from `fitting` to `ranks`


def next_gain(union: Union, language: int) -> float:
    """Weighted gain per 1K of the language's next step; minus infinity when there is none worth taking."""
    ladder, rank = union.problem.ladders[language], union.ranks[language]
    if rank + 1 >= len(ladder.sizes) or not ladder.gains[rank] > 0:
        return -np.inf
    return float(ladder.gains[rank])


def allocate_greedy(problem: Problem, union: Union | None = None) -> Choice:
    """Take the step of the largest weighted gain per 1K until the union holds the capacity.

    Of equal gains the first language in the order of `problem.ladders` moves. The gains along a hull never rise,
    so a language that has no positive gain left is done. Starts from `union`, by default every smallest size.
    """
    union = union or problem.start()
    fitting, fitting_union, last = None, None, None
    gains = [next_gain(union, language) for language in range(len(problem.ladders))]
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
