"""The cost-aware rule: gains per piece that the union grows by, then exchanges between languages."""

import numpy as np

from vocap.allocation.algorithm_1 import Choice, next_gain
from vocap.allocation.problem import Problem, Union


def fill(union: Union) -> None:
    """Take the step of the largest gain per piece of growth of the union, as long as any fits.

    A step that does not fit is skipped, and tried again when the union has changed: its price falls when other
    languages take the same pieces. So the prices of all next steps are counted anew after each step; a heap of old
    prices would be wrong, since a price may fall as well as rise.
    """
    while True:
        best = _best(union, union.problem.capacity)
        if best is None:
            return
        union.step(best)


def overshoot(union: Union) -> int | None:
    """Take the best step of those that do not fit, if the union is below the capacity; returns its language."""
    if union.size >= union.problem.capacity:
        return None
    best = _best(union, None)
    if best is not None:
        union.step(best)
    return best


def _best(union: Union, capacity: int | None) -> int | None:
    best, best_rate = None, 0.0
    for language, own in enumerate(union.problem.curves):
        gain = next_gain(union, language)
        if gain == -np.inf:
            continue
        growth = union.growth(language)
        if capacity is not None and union.size + growth > capacity:
            continue
        rank = union.ranks[language]
        gained = gain * float(own.sizes[rank + 1] - own.sizes[rank]) / 1000
        rate = gained / growth if growth > 0 else np.inf
        if rate > best_rate:
            best, best_rate = language, rate
    return best


REACH = 6  # steps up or down that one exchange may take a language
SLOTS = 2048  # resolution of the knapsack
TRIES = 12  # budgets whose choice is counted exactly


def improve(problem: Problem, ranks: tuple[int, ...], rounds: int = 12) -> tuple[int, ...]:
    """The best choice that exchanges between languages reach from `ranks`, which must fit; never a worse one.

    Each round counts what every size of a language would add to the union of all the others, and solves the
    multiple-choice knapsack of sizes near the present ones as if these costs added up. They do not exactly where
    languages that share pieces move together: the best choices of several budgets are counted exactly, those that
    fit are filled up, and the next round starts from the best of them.
    """
    best, best_value = tuple(ranks), problem.objective(ranks)
    for _ in range(rounds):
        start_value = best_value
        for candidate in _knapsack(problem, best):
            union = Union(problem, candidate)
            if union.size > problem.capacity:
                continue
            fill(union)
            value = problem.objective(union.ranks)
            if value > best_value:
                best, best_value = tuple(union.ranks), value
        if best_value <= start_value:
            break
    return best


def _knapsack(problem: Problem, ranks: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Choices near `ranks` that are best at several budgets if the costs of languages are independent."""
    union = Union(problem, ranks)
    options = []  # for each language: ranks, pieces more or less, gain
    for language, own in enumerate(problem.curves):
        present = ranks[language]
        near = np.arange(max(0, present - REACH), min(len(own.sizes), present + REACH + 1))
        _, added = union.costs(language)
        gain = own.weight * (own.value[near] - own.value[present])
        options.append((near, added[near] - added[present], gain))
    reach = max(int(np.abs(cost).max()) for _, cost, _ in options)
    unit = max(1, -(-8 * reach // SLOTS))
    middle = SLOTS // 2  # the slot of no change
    values = np.full(SLOTS, -np.inf)
    values[middle] = 0.0
    taken = []
    for _, cost, gain in options:
        best = np.full(SLOTS, -np.inf)
        which = np.zeros(SLOTS, np.int16)
        for option, (shift, gained) in enumerate(
            zip(np.rint(cost / unit).astype(int).tolist(), gain, strict=True)
        ):
            moved = np.full(SLOTS, -np.inf)
            if shift >= 0:
                moved[shift:] = values[: SLOTS - shift] + gained
            else:
                moved[:shift] = values[-shift:] + gained
            better = moved > best
            best[better] = moved[better]
            which[better] = option
        values = best
        taken.append(which)
    found = []
    slack = middle + (problem.capacity - union.size) // unit
    for back in range(TRIES):
        end = min(SLOTS, slack + TRIES // 3 - back + 1)  # a few budgets above, for costs that shrink together
        slot = int(np.argmax(values[:end])) if end > 0 else middle
        if values[slot] <= 0:
            continue
        choice = []
        for (near, cost, _), which in zip(reversed(options), reversed(taken), strict=True):
            option = which[slot]
            choice.append(int(near[option]))
            slot -= int(np.rint(cost[option] / unit))
        candidate = tuple(reversed(choice))
        if candidate not in found:
            found.append(candidate)
    return found


def allocate_cost_aware(problem: Problem, paper: Choice) -> Choice:
    """The best of the cost-aware greedy from every smallest size and the paper's choice filled up, improved.

    It is never below the paper's rule at the last union that fits, nor below the smallest sizes: both are
    candidates, since filling up loses where a curve falls below its hull.
    """
    union = problem.start()
    if union.size > problem.capacity or paper.fitting is None:
        return Choice(tuple(union.ranks), union.size, None, None, None)
    fill(union)
    filled = Union(problem, paper.fitting)
    fill(filled)
    smallest = (0,) * len(problem.curves)
    choices = (tuple(union.ranks), tuple(filled.ranks), paper.fitting, smallest)
    union = Union(problem, improve(problem, max(choices, key=problem.objective)))
    fitting, size = tuple(union.ranks), union.size
    last = overshoot(union)
    return Choice(tuple(union.ranks), union.size, fitting, size, last)
