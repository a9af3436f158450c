"""The cost-aware rule: gains per piece that the union grows by, then exchanges between languages."""

from vocap.allocation.exchange import improve
from vocap.allocation.filling import fill, overshoot
from vocap.allocation.greedy import Choice
from vocap.allocation.ladders import Problem, Union


def allocate_cost_aware(problem: Problem, paper: Choice) -> Choice:
    """The best of the cost-aware greedy from every smallest size and the paper's choice filled up, improved.

    It never lies below the paper's rule at the last union that fits, nor below the smallest sizes: both are
    choices too, since filling up loses where a curve falls below its hull.
    """
    union = problem.start()
    if union.size > problem.capacity or paper.fitting is None:
        return Choice(tuple(union.ranks), union.size, None, None, None)
    fill(union)
    filled = Union(problem, paper.fitting)
    fill(filled)
    smallest = (0,) * len(problem.ladders)
    choices = (tuple(union.ranks), tuple(filled.ranks), paper.fitting, smallest)
    union = Union(problem, improve(problem, max(choices, key=problem.objective)))
    fitting, size = tuple(union.ranks), union.size
    last = overshoot(union)
    return Choice(tuple(union.ranks), union.size, fitting, size, last)
