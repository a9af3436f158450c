"""Exchanges: some languages down, others up, where the same room is then worth more."""

import numpy as np

from vocap.allocation.filling import fill
from vocap.allocation.ladders import Problem, Union

REACH = 6  # steps up or down that one exchange may take a language
SLOTS = 2048  # resolution of the knapsack
TRIES = 12  # budgets whose choice is counted exactly


def improve(problem: Problem, ranks: tuple[int, ...], rounds: int = 12) -> tuple[int, ...]:
    """The best choice that exchanges from `ranks` lead to; `ranks` must fit, and the result is never worse.

    Each round counts what every size of a language would add to the union of all the others, and solves the
    multiple-choice knapsack of sizes near the present ones as if these costs added up. They do not quite, when
    languages that share pieces move together: the best choices of several budgets are counted exactly, those that
    fit are filled up, and the best of them is where the next round starts.
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
    """Near choices that are best at several budgets, were the costs of languages independent."""
    union = Union(problem, ranks)
    options = []  # for each language: ranks, pieces more or less, gain
    for language, ladder in enumerate(problem.ladders):
        present = ranks[language]
        near = np.arange(max(0, present - REACH), min(len(ladder.sizes), present + REACH + 1))
        _, added = union.costs(language)
        gain = ladder.weight * (ladder.value[near] - ladder.value[present])
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
