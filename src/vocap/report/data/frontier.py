"""The cost of fairness: mean ALP against inequality, by beta, fairness weight and baseline.

A language is served at x = held-out ALP / the best held-out ALP of its own curve: the nats relative to
its best vocabulary. x has no unit, so languages with lines of different length compare.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vocap.allocation.algorithm_1 import Choice, allocate_by_shares
from vocap.allocation.inputs import Inputs
from vocap.allocation.problem import Problem, fair_values
from vocap.allocation.rules import RULES
from vocap.allocation.settings import Allocation as Settings
from vocap.allocation.solution import pose, weigh
from vocap.report.data.comparisons import comparable
from vocap.report.data.explorer import present_choices
from vocap.report.data.results import Results, Tokenizer
from vocap.tokenizers.evaluation import gini

BETAS = tuple(step / 10 for step in range(11))
FAIRNESSES = (1.0, 2.0, 4.0, 8.0, 16.0)


@dataclass(frozen=True)
class Point:
    """An allocation or tokenizer of size T. `alp`: mean held-out ALP, nats per line, languages weighted by q."""

    series: str  # beta, fairness, uniform, proportional; of a tokenizer its kind, or the rule that read its text
    label: str
    beta: float | None
    fairness: float | None
    pieces: int | None
    alp: float
    gini: float  # of x over the languages
    worst: str  # the language of the largest x
    worst_ratio: float  # its x


@dataclass(frozen=True)
class Frontier:
    """All points of one T, measured on the same `languages`; `apart` are the others, with the reason."""

    total: int
    reference: str  # the allocation with these settings, apart from beta and fairness
    beta: float  # of the reference, where the fairness series starts
    languages: list[str]
    apart: dict[str, str]
    points: list[Point]


def measure(alp: Mapping[str, float], best: Mapping[str, float], q: Mapping[str, float]) -> tuple:
    """Mean ALP weighted by q, Gini coefficient of x, the worst language and its x; `best` names the languages.

    >>> measure({"a": -10.0, "b": -30.0}, {"a": -10.0, "b": -20.0}, {"a": 0.3, "b": 0.1})
    (-15.0, 0.1, 'b', 1.5)
    """
    ratios = {code: alp[code] / best[code] for code in best}
    weight = sum(q[code] for code in best)
    mean = sum(q[code] * alp[code] for code in best) / weight
    worst = max(sorted(ratios), key=ratios.__getitem__)
    return mean, gini(list(ratios.values())), worst, ratios[worst]


def frontiers(results: Results) -> list[Frontier]:
    """One for each T of allocations by sizes, by the settings of the first that has it; none without inputs."""
    if not results.inputs.languages:
        return []
    first: dict[int, tuple[str, Settings, float]] = {}
    for entry in present_choices(results):
        if entry.settings.needs_text:
            continue
        first.setdefault(entry.settings.total, (entry.name, entry.settings, entry.coverage))
    found = (_frontier(results, *first[total]) for total in sorted(first))
    return [one for one in found if one is not None]


def _frontier(results: Results, name: str, settings: Settings, coverage: float) -> Frontier | None:
    taking = [entry for entry in results.inputs.languages if entry.language not in settings.without]
    inputs = Inputs(taking)
    problem, q, _ = pose(inputs, settings, coverage)
    curves = {entry.language: [point.alp_heldout for point in results.trained(entry.language)] for entry in taking}
    tokenizers, apart, _ = comparable(results, _compared(results, settings.total), list(curves))
    for code, heldout in curves.items():
        if None in heldout or max(heldout) >= 0:
            apart[code] = "its curve has no held-out ALP"
    codes = [code for code in curves if code not in apart]
    if not codes:
        return None
    best = {code: max(curves[code]) for code in codes}
    probabilities = dict(zip(curves, q.tolist(), strict=True))
    points = []
    for series, label, beta, fairness, choice in _choices(problem, settings, inputs):
        if choice.fitting is None:
            return None
        ranks = dict(zip(curves, choice.fitting, strict=True))
        alp = {code: curves[code][ranks[code]] for code in codes}
        measured = measure(alp, best, probabilities)
        points.append(Point(series, label, beta, fairness, choice.fitting_union, *measured))
    for tokenizer in tokenizers:
        alp = {row["language"]: row["alp"] for row in tokenizer.evaluation}
        measured = measure(alp, best, probabilities)
        rule = results.rule_of(tokenizer)
        series = rule.name if rule and rule.needs_text else tokenizer.kind
        points.append(Point(series, tokenizer.name, None, None, tokenizer.total, *measured))
    return Frontier(settings.total, name, settings.beta, codes, apart, points)


def _choices(
    problem: Problem, settings: Settings, inputs: Inputs
) -> Iterable[tuple[str, str, float | None, float | None, Choice]]:
    """Series, label, beta, fairness and choice of every allocation that is compared."""
    betas = sorted({*BETAS, settings.beta})
    variants = [("beta", beta, settings.fairness) for beta in betas]
    variants += [("fairness", settings.beta, fairness) for fairness in sorted({settings.fairness, *FAIRNESSES})]
    for series, beta, fairness in variants:
        values = [fair_values(entry.alp, fairness) for entry in inputs.languages]
        _, weights = weigh(inputs, settings.model_copy(update={"beta": beta}))
        weighed = problem.weighed(weights.tolist(), values, settings.curve)
        varied = beta if series == "beta" else fairness
        yield series, f"{series} {varied:g}", beta, fairness, RULES[settings.rule].choose(weighed, settings)
    n = [entry.n for entry in inputs.languages]
    yield "uniform", "uniform", None, None, allocate_by_shares(problem, [1.0] * len(n))
    yield "proportional", "proportional", None, None, allocate_by_shares(problem, n)


def _compared(results: Results, total: int) -> list[Tokenizer]:
    """The tokenizers of this T, and those from elsewhere."""
    return [
        tokenizer
        for tokenizer in results.tokenizers.values()
        if tokenizer.kind == "file" or (tokenizer.kind in ("vocap", "joint") and tokenizer.total == total)
    ]
