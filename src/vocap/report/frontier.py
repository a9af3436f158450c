"""What fairness costs: mean ALP against how unequally languages are served, by beta, fairness and rival.

A language is served at x = held-out ALP / the best held-out ALP of its own curve: so many times the nats of its
best vocabulary. x has no unit, so languages compare however long their lines are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vocap.allocation.bisection import allocate_bisect
from vocap.allocation.cost_aware import allocate_cost_aware
from vocap.allocation.fairness import fair_values
from vocap.allocation.greedy import Choice, allocate_greedy
from vocap.allocation.ladders import Problem
from vocap.allocation.rivals import allocate_by_shares
from vocap.allocation.settings import Allocation as Settings
from vocap.allocation.solution import pose
from vocap.report.comparing import unfit
from vocap.report.explorer import present_choices
from vocap.report.results import Results, Tokenizer
from vocap.tokenizers.parallel import gini

BETAS = tuple(step / 10 for step in range(11))
FAIRNESSES = (1.0, 2.0, 4.0, 8.0, 16.0)
FEWEST = 0.5  # share of the languages that a tokenizer must serve to be set beside the allocations


@dataclass(frozen=True)
class Point:
    """One way to share out T. `alp`: mean held-out ALP, nats per line, each language weighted by q."""

    series: str  # beta, fairness, uniform, proportional, vocap, joint, file
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
    reference: str  # the allocation whose settings all but beta and fairness are
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
    """One for each T of the allocations, by the settings of the first that has it; none without inputs."""
    if not results.inputs.languages:
        return []
    first: dict[int, tuple[str, Settings, float]] = {}
    for entry in present_choices(results):
        first.setdefault(entry.settings.total, (entry.name, entry.settings, entry.coverage))
    found = (_frontier(results, *first[total]) for total in sorted(first))
    return [one for one in found if one is not None]


def _frontier(results: Results, name: str, settings: Settings, coverage: float) -> Frontier | None:
    taking = [entry for entry in results.inputs.languages if entry.language not in settings.without]
    inputs = type(results.inputs)(taking)
    problem, q, _ = pose(inputs, settings, coverage)
    curves = {entry.language: [point.alp_heldout for point in results.trained(entry.language)] for entry in taking}
    tokenizers, apart = _comparable(results, settings.total, list(curves))
    for code, heldout in curves.items():
        if None in heldout or max(heldout) >= 0:
            apart[code] = "its curve has no held-out ALP"
    codes = [code for code in curves if code not in apart]
    if not codes:
        return None
    best = {code: max(curves[code]) for code in codes}
    probabilities = dict(zip(curves, q.tolist(), strict=True))
    points = []
    n, alps = [entry.n for entry in taking], [entry.alp for entry in taking]
    for series, label, beta, fairness, choice in _choices(problem, settings, q, n, alps):
        if choice.fitting is None:
            return None
        ranks = dict(zip(curves, choice.fitting, strict=True))
        alp = {code: curves[code][ranks[code]] for code in codes}
        measured = measure(alp, best, probabilities)
        points.append(Point(series, label, beta, fairness, choice.fitting_union, *measured))
    for tokenizer in tokenizers:
        alp = {row["language"]: row["alp"] for row in tokenizer.evaluation}
        measured = measure(alp, best, probabilities)
        points.append(Point(tokenizer.kind, tokenizer.name, None, None, tokenizer.total, *measured))
    return Frontier(settings.total, name, settings.beta, codes, apart, points)


def _choices(
    problem: Problem, settings: Settings, q: np.ndarray, n: Sequence[float], curves: Sequence[np.ndarray]
) -> Iterable[tuple[str, str, float | None, float | None, Choice]]:
    """Series, label, beta, fairness and choice of every allocation that is compared."""
    betas = sorted({*BETAS, settings.beta})
    variants = [("beta", beta, settings.fairness) for beta in betas]
    variants += [("fairness", settings.beta, fairness) for fairness in sorted({settings.fairness, *FAIRNESSES})]
    for series, beta, fairness in variants:
        values = [fair_values(alp, fairness) for alp in curves]
        weighed = problem.weighed((q**beta).tolist(), values, settings.curve)
        varied = beta if series == "beta" else fairness
        yield series, f"{series} {varied:g}", beta, fairness, _choose(weighed, settings)
    yield "uniform", "uniform", None, None, allocate_by_shares(problem, [1.0] * len(q))
    yield "proportional", "proportional", None, None, allocate_by_shares(problem, n)


def _choose(problem: Problem, settings: Settings) -> Choice:
    paper = (allocate_bisect if settings.search == "bisect" else allocate_greedy)(problem)
    return paper if settings.rule == "paper" else allocate_cost_aware(problem, paper)


def _comparable(results: Results, total: int, codes: list[str]) -> tuple[list[Tokenizer], dict[str, str]]:
    """The tokenizers of this T and those from elsewhere, and the languages that one of them does not serve."""
    chosen, apart = [], {}
    for tokenizer in results.tokenizers.values():
        if not (tokenizer.kind == "file" or (tokenizer.kind in ("vocap", "joint") and tokenizer.total == total)):
            continue
        reasons = unfit(results, tokenizer)
        has = {row["language"] for row in tokenizer.evaluation if row["alp"] is not None}
        reasons |= {code: f"not measured with {tokenizer.name}" for code in codes if code not in has}
        reasons = {code: reason for code, reason in reasons.items() if code in codes}
        if len(reasons) <= (1 - FEWEST) * len(codes):
            chosen.append(tokenizer)
            for code, reason in reasons.items():
                apart.setdefault(code, reason)
    return chosen, apart
