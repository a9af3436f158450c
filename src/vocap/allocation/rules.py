"""The rules of allocation, one entry each: command, configuration, report and plan read
this table.

A rule that chooses sizes is a function from a `Problem` and the settings to a `SizeChoice`;
its vocabulary is the union of the languages' lists of those sizes. A rule that chooses
pieces reads the text. Implementations are imported when they are called, since every
job of a workflow reads this table. A rule of one's own is one more entry of `RULES`,
added before the settings, `vocap.config` or a command are imported.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # numpy, which not every job needs
    from vocap.allocation.algorithm_1 import Problem, SizeChoice


@dataclass(frozen=True)
class Rule:
    """A rule of allocation, with either `choose` or `solver`.

    `label`: a noun phrase for tables; `description`: one line for help and
    documentation; `options`: the settings that the rule reads besides total, alpha,
    beta, per and without. `choose`: a function from a `Problem` and an `Allocation` to
    the size of each language. `solver`, of a rule that reads the text of every
    language: the "module:function" that makes, from a `DescentSource` and the path of option
    --trunk, a function from an `Allocation` to a `Solution` and the models of the
    languages.

    >>> RULES["paper"].needs_text
    False
    """

    name: str
    label: str
    description: str
    options: frozenset[str] = frozenset()
    choose: "Callable[[Problem, Any], SizeChoice] | None" = None
    solver: str = ""

    @property
    def needs_text(self) -> bool:
        return bool(self.solver)


def _paper(problem: "Problem", settings: Any) -> "SizeChoice":
    from vocap.allocation.algorithm_1 import allocate_greedy

    return allocate_greedy(problem)


RULES = {
    "paper": Rule(
        "paper",
        "paper’s",
        "Algorithm 1, in which a step costs the growth of the language’s own size",
        frozenset({"fairness"}),
        choose=_paper,
    ),
    "pieces": Rule(
        "pieces",
        "pieces",
        "PIECES, one descent over the pieces of all languages on their text",
        frozenset({"token_fairness", "core"}),
        solver="vocap.allocation.pieces:solver",
    ),
}
