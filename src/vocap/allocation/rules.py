"""The rules of allocation, one entry each: the command, the configuration, the report and the plan ask this table.

A rule that chooses sizes is a function from a `Problem` and the settings to a `Choice`; its vocabulary is the
union of the languages' lists of those sizes. A rule that chooses pieces reads the text itself. Implementations are
imported when they are called, as every job of a workflow reads this table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vocap.allocation.greedy import Choice
    from vocap.allocation.ladders import Problem
    from vocap.allocation.settings import Allocation


@dataclass(frozen=True)
class Rule:
    """`label`: a noun phrase for tables; `description`: for help and documentation.

    `options`: the settings that this rule reads besides total, alpha, beta, per and without. `choose`: the sizes,
    or None for a rule that needs the text of every language.
    """

    name: str
    label: str
    description: str
    options: frozenset[str] = frozenset()
    choose: Callable[[Problem, Allocation], Choice] | None = None

    @property
    def needs_text(self) -> bool:
        return self.choose is None


def _paper(problem: Problem, settings: Allocation) -> Choice:
    from vocap.allocation.bisection import allocate_bisect
    from vocap.allocation.greedy import allocate_greedy

    return (allocate_bisect if settings.search == "bisect" else allocate_greedy)(problem)


def _cost_aware(problem: Problem, settings: Allocation) -> Choice:
    from vocap.allocation.cost_aware import allocate_cost_aware

    return allocate_cost_aware(problem, _paper(problem, settings))


_OF_SIZES = frozenset({"fairness", "search", "curve"})

RULES = {
    rule.name: rule
    for rule in (
        Rule(
            "paper",
            "paper’s",
            "Algorithm 1, a step costs the growth of the language’s own size",
            _OF_SIZES,
            _paper,
        ),
        Rule("cost-aware", "cost-aware", "a step costs the growth of the union", _OF_SIZES, _cost_aware),
        Rule("pieces", "pieces", "one descent over the pieces of all languages, on their text"),
    )
}


def size_rules() -> list[Rule]:
    """The rules that choose a size for each language, by curves alone."""
    return [rule for rule in RULES.values() if not rule.needs_text]
