"""The cost-aware rule: gains per piece that the union grows by, then exchanges between languages."""

from vocap.allocation.exchange import improve
from vocap.allocation.filling import fill, overshoot
from vocap.allocation.greedy import Choice
from vocap.allocation.ladders import Problem, Union


def allocate_cost_aware(problem: Problem, paper: Choice) -> Choice:
    """The better of the cost-aware greedy from every smallest size and the paper's choice filled up, improved.

    So it never lies below the paper's rule at the last union that fits.
    """
    union = problem.start()
    if union.size > problem.capacity or paper.fitting is None:
        return Choice(tuple(union.ranks), union.size, None, None, None)
    fill(union)
    filled = Union(problem, paper.fitting)
    fill(filled)
    better = max((tuple(union.ranks), tuple(filled.ranks)), key=problem.objective)
    union = Union(problem, improve(problem, better))
    fitting, size = tuple(union.ranks), union.size
    last = overshoot(union)
    return Choice(tuple(union.ranks), union.size, fitting, size, last)
