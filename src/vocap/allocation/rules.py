"""The rules of allocation, one entry each: command, configuration, report and plan read this table.

A rule that chooses sizes is a function from a `Problem` and the settings to a `Choice`; its vocabulary is the
union of the languages' lists of those sizes. A rule that chooses pieces reads the text. Implementations are
imported when they are called, since every job of a workflow reads this table. A rule of one's own is one more
entry of `RULES`, added before `vocap.config` or a command is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vocap.allocation.algorithm_1 import Choice
    from vocap.allocation.pieces.rule import Source
    from vocap.allocation.problem import Problem
    from vocap.allocation.settings import Allocation


@dataclass(frozen=True)
class Rule:
    """A rule of allocation, with either `choose` or `solver`.

    `label`: a noun phrase for tables; `description`: one line for help and documentation; `options`: the settings
    that the rule reads besides total, alpha, beta, per and without. `choose` returns a size for each language;
    `solver`, of a rule that reads the text of every language, returns a function from an `Allocation` to a
    `Solution` and the models of the languages; its path is that of option --trunk.

    >>> RULES["cost-aware"].needs_text
    False
    """

    name: str
    label: str
    description: str
    options: frozenset[str] = frozenset()
    choose: Callable[[Problem, Allocation], Choice] | None = None
    solver: Callable[[Source, Path | None], Callable] | None = None

    @property
    def needs_text(self) -> bool:
        return self.solver is not None


def _paper(problem: Problem, settings: Allocation) -> Choice:
    from vocap.allocation.algorithm_1 import allocate_bisect, allocate_greedy

    return (allocate_bisect if settings.search == "bisect" else allocate_greedy)(problem)


def _cost_aware(problem: Problem, settings: Allocation) -> Choice:
    from vocap.allocation.cost_aware import allocate_cost_aware

    return allocate_cost_aware(problem, _paper(problem, settings))


def _pieces(source: Source, trunk: Path | None) -> Callable:
    from vocap.allocation.pieces.rule import solver

    return solver(source, trunk)


_OF_SIZES = frozenset({"fairness", "search", "curve"})

RULES = {
    rule.name: rule
    for rule in (
        Rule(
            "paper",
            "paper’s",
            "Algorithm 1, a step costs the growth of the language’s own size",
            _OF_SIZES,
            choose=_paper,
        ),
        Rule(
            "cost-aware",
            "cost-aware",
            "a step costs the growth of the union",
            _OF_SIZES,
            choose=_cost_aware,
        ),
        Rule(
            "pieces",
            "pieces",
            "one descent over the pieces of all languages, on their text",
            frozenset({"token_fairness"}),
            solver=_pieces,
        ),
    )
}


def size_rules() -> list[Rule]:
    """The rules that choose a size for each language, by curves alone."""
    return [rule for rule in RULES.values() if not rule.needs_text]
