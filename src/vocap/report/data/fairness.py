"""The cost of fairness: mean ALP against inequality, by beta, fairness weight and baseline.

A language is served at x = held-out ALP / the best held-out ALP of its own curve: the nats relative to
its best vocabulary. x has no unit, so languages with lines of different length compare.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas

from vocap.allocation.algorithm_1 import Choice, allocate_by_shares
from vocap.allocation.inputs import Inputs
from vocap.allocation.problem import Problem, fair_values
from vocap.allocation.rules import RULES
from vocap.allocation.settings import Allocation as Settings
from vocap.allocation.solution import pose, weigh
from vocap.report.data.comparison import Size, kind_label
from vocap.report.data.explorer import present_choices
from vocap.report.data.results import Results
from vocap.tokenizers.evaluation import gini

BETAS = tuple(step / 10 for step in range(11))
FAIRNESSES = (1.0, 2.0, 4.0, 8.0, 16.0)


@dataclass(frozen=True)
class TradeOff:
    """Allocations and tokenizers of one T, measured on the same `languages`; `apart` are the others.

    `points` have `series` (beta, fairness, uniform, proportional; of a tokenizer its kind), `name`, `beta`,
    `fairness`, `pieces`, `alp` (mean held-out ALP in nats per line, languages weighted by q), `gini` of x,
    `worst` (the language of the largest x) and `worst_ratio` (its x).
    """

    total: int
    reference: str  # the allocation with these settings, apart from beta and fairness
    beta: float  # of the reference, where the fairness series starts
    languages: list[str]
    apart: dict[str, str]
    points: list[dict[str, Any]]


def measure(alp: pandas.Series, best: pandas.Series, q: pandas.Series) -> dict[str, Any]:
    """Mean ALP weighted by q, Gini coefficient of x, the worst language and its x, on the languages of `best`.

    >>> alp, best, q = (pandas.Series(found, ["a", "b"]) for found in ([-10, -30], [-10, -20], [0.3, 0.1]))
    >>> [str(value) for value in measure(alp, best, q).values()]
    ['-15.0', '0.1', 'b', '1.5']
    """
    x, share = alp[best.index] / best, q[best.index]
    mean = float((share * alp[best.index]).sum() / share.sum())
    return {"alp": mean, "gini": gini(x.tolist()), "worst": x.idxmax(), "worst_ratio": float(x.max())}


def trade_offs(results: Results, sizes: Sequence[Size]) -> list[TradeOff]:
    """One for each T of allocations by sizes, by the settings of the first that has it; none without inputs."""
    if not results.inputs.languages:
        return []
    first: dict[int, tuple[str, Settings, float]] = {}
    for entry in present_choices(results):
        if not entry.settings.needs_text:
            first.setdefault(entry.settings.total, (entry.name, entry.settings, entry.coverage))
    compared = {one.total: one for one in sizes}
    found = (_trade_off(results, compared.get(total), *first[total]) for total in sorted(first))
    return [one for one in found if one is not None]


def _trade_off(
    results: Results, compared: Size | None, name: str, settings: Settings, coverage: float
) -> TradeOff | None:
    # the languages: those of the tokenizers' comparison whose curves have held-out ALP
    inputs = Inputs([entry for entry in results.inputs.languages if entry.language not in settings.without])
    problem, q, _ = pose(inputs, settings, coverage)
    codes = [entry.language for entry in inputs.languages]
    curves = {code: [point.alp_heldout for point in results.trained(code)] for code in codes}
    measured = set(compared.counted.language) if compared else set(codes)
    apart = {code: "not measured with a tokenizer" for code in codes if code not in measured}
    apart |= {code: reason for code, reason in (compared.apart if compared else {}).items() if code in apart}
    apart |= {
        code: "its curve has no held-out ALP" for code, alp in curves.items() if None in alp or max(alp) >= 0
    }
    counted = [code for code in codes if code not in apart]
    if not counted:
        return None
    best = pandas.Series({code: max(curves[code]) for code in counted})
    shares = pandas.Series(q, codes)
    # each choice is read off the curves, each tokenizer has its own ALP
    points = []
    for about, choice in _choices(problem, settings, inputs):
        if choice.fitting is None:
            return None
        ranks = dict(zip(codes, choice.fitting, strict=True))
        alp = pandas.Series({code: curves[code][ranks[code]] for code in counted})
        points.append({**about, "pieces": choice.fitting_union, **measure(alp, best, shares)})
    tokenizers = [results.tokenizers[name] for name in compared.summary.index] if compared else []
    for tokenizer in tokenizers:
        if tokenizer.kind in ("vocap", "joint"):
            rows = compared.rows[compared.rows.tokenizer == tokenizer.name].set_index("language")
            about = {"series": kind_label(results, tokenizer), "name": tokenizer.name, "pieces": tokenizer.total}
            points.append({"beta": None, "fairness": None, **about, **measure(rows.alp, best, shares)})
    return TradeOff(settings.total, name, settings.beta, counted, apart, points)


def _choices(problem: Problem, settings: Settings, inputs: Inputs) -> Iterator[tuple[dict[str, Any], Choice]]:
    """Every allocation that is compared, with its series, name, beta and fairness."""
    variants = [("beta", beta, settings.fairness) for beta in sorted({*BETAS, settings.beta})]
    variants += [("fairness", settings.beta, fairness) for fairness in sorted({settings.fairness, *FAIRNESSES})]
    for series, beta, fairness in variants:
        values = [fair_values(entry.alp, fairness) for entry in inputs.languages]
        _, weights = weigh(inputs, settings.model_copy(update={"beta": beta}))
        weighed = problem.weighed(weights.tolist(), values, settings.curve)
        name = f"{series} {beta if series == 'beta' else fairness:g}"
        about = {"series": series, "name": name, "beta": beta, "fairness": fairness}
        yield about, RULES[settings.rule].choose(weighed, settings)
    n = [entry.n for entry in inputs.languages]
    for name, shares in (("uniform", [1.0] * len(n)), ("proportional", n)):
        yield {"series": name, "name": name, "beta": None, "fairness": None}, allocate_by_shares(problem, shares)
