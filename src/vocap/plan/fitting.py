"""The coefficients of the cost model, from finished runs."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from vocap.plan.costs import Costs, Reach, Rule
from vocap.plan.jobs import Job
from vocap.plan.measured import Measured, span
from vocap.plan.schedule import simulate
from vocap.plan.texts import Text

ROUNDS = 20
FLOOR = 0.05  # of the mean: what is forecast to be less counts as if it were that much
PRIOR = 1e-3  # pull of the older coefficients, which decide where the runs cannot


@dataclass(frozen=True)
class Run:
    """A finished run: its jobs, what they took, its texts, and on how many cores it ran."""

    jobs: Sequence[Job]
    measured: Mapping[str, Measured]
    texts: Mapping[str, Text]
    cores: int


def refit(costs: Costs, runs: Sequence[Run], fitted_on: list[str]) -> Costs:
    """`costs` with the coefficients of every rule that ran; the features of each stay as they are."""
    rules = {name: _refit_rule(name, rule, runs) for name, rule in costs.rules.items()}
    local = costs.overhead["local"]
    gaps = [_job_gap(run) for run in runs if len(run.measured) == len(run.jobs)]  # of whole runs
    gap_s = _rounded(median(gaps)) if gaps else local.job_s
    overhead = {**costs.overhead, "local": local.model_copy(update={"job_s": gap_s})}
    return costs.model_copy(
        update={
            "fitted_on": fitted_on,
            "rules": rules,
            "overhead": overhead,
            "reach": _refit_reach(costs.reach, runs),
        }
    )


def _refit_rule(name: str, rule: Rule, runs: Sequence[Run]) -> Rule:
    pairs = [
        (job, run.measured[job.name])
        for run in runs
        for job in run.jobs
        if job.priced_as == name and job.name in run.measured
    ]
    if not pairs:
        return rule
    several = [entry.cpu_s / entry.wall_s for job, entry in pairs if job.threads > 1 and entry.wall_s > 0]
    cores = max(1.0, _rounded(median(several))) if several else rule.cores

    def fitted(old: Mapping[str, float], quantity: Callable[[Measured], float | None]) -> dict[str, float]:
        usable = [(job, value) for job, entry in pairs if (value := quantity(entry)) is not None]
        return _fit(old, [job.features for job, _ in usable], [value for _, value in usable])

    return rule.model_copy(
        update={
            "cpu_s": fitted(rule.cpu_s, lambda entry: entry.cpu_s),
            "wait_s": fitted(rule.wait_s, lambda entry: max(entry.wall_s - entry.cpu_s / cores, 0.0)),
            "memory_mb": fitted(rule.memory_mb, lambda entry: entry.memory_mb),
            "disk_mb": fitted(rule.disk_mb, lambda entry: entry.disk_mb),
            "cores": cores,
            "seen": _largest(rule, [job.features for job, _ in pairs]),
        }
    )


def _largest(rule: Rule, features: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of the features that have a coefficient, how far the fit goes."""
    names = {name: None for part in (rule.cpu_s, rule.wait_s, rule.memory_mb) for name in part if name != "job"}
    return {name: _rounded(max(row.get(name, 0.0) for row in features)) for name in names}


def _fit(old: Mapping[str, float], features: Sequence[Mapping[str, float]], values: Sequence[float]) -> dict:
    """Coefficients of the names of `old`, 4 significant digits."""
    if not old or not values:
        return dict(old)
    matrix = np.array([[1.0 if name == "job" else row.get(name, 0.0) for name in old] for row in features])
    fitted = fit(matrix, np.array(values), np.array(list(old.values())))
    return {name: _rounded(value) for name, value in zip(old, fitted, strict=True)}


def fit(features: np.ndarray, values: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Coefficients c >= 0, float64 [n], for which `features` [m, n] @ c is near `values` [m].

    Least squares of errors relative to the forecast, so that jobs of all sizes count alike and none of the two
    directions is favoured (a gamma regression with identity link), found by repeated weighted least squares. What
    the values leave open, such as the slope of a feature that is the same in all jobs, stays near `prior` [n]; of
    a feature that no job has, it is the prior's.
    """
    if not (told := features.any(axis=0)).all():
        found = prior.astype(np.float64)
        if told.any():
            found[told] = fit(features[:, told], values, prior[told])
        return found
    level = max(float(values.mean()), 1e-9)
    # In units of the prior each unknown is about 1. A coefficient of 0 may come back.
    scale = np.maximum(prior, 1e-3 * level / np.abs(features).mean(axis=0))
    pull = np.sqrt(PRIOR) * np.eye(len(prior))
    forecast = values
    for _ in range(ROUNDS):
        weights = 1 / np.maximum(forecast, FLOOR * level)
        solution = nonnegative_least_squares(
            np.vstack([features * scale * weights[:, None], pull]),
            np.concatenate([values * weights, pull @ (prior / scale)]),
        )
        forecast = features @ (scale * solution)
    return scale * solution


def nonnegative_least_squares(matrix: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The x >= 0, float64 [n], of least |matrix x - target|, for a `matrix` [m, n] of few columns.

    Tries every set of columns that may be above 0: exact, 2^n small solutions.
    """
    columns = matrix.shape[1]
    best, least = np.zeros(columns), float(target @ target)
    for count in range(1, columns + 1):
        for chosen in map(list, itertools.combinations(range(columns), count)):
            part = np.linalg.lstsq(matrix[:, chosen], target, rcond=None)[0]
            if (part >= 0).all():
                residual = matrix[:, chosen] @ part - target
                if (error := float(residual @ residual)) < least:
                    best, least = np.zeros(columns), error
                    best[chosen] = part
    return best


def _refit_reach(reach: Reach, runs: Sequence[Run]) -> Reach:
    """A straight line through the logarithms, from the texts whose reach is known."""
    known = [
        (text.train_mb, text.reach)
        for run in runs
        for text in run.texts.values()
        if text.reach and text.train_mb > 0
    ]
    if len({megabytes for megabytes, _ in known}) < 10:
        return reach
    power, offset = np.polyfit(*np.log(np.array(known, float)).T, 1)
    return Reach(scale=_rounded(float(np.exp(offset))), power=_rounded(float(power)))


def _job_gap(run: Run) -> float:
    """Seconds around each job for which the simulation of the measured times lasts as long as the run did."""
    jobs = [
        Job(job.rule, job.name, {}, tuple(name for name in job.after if name in run.measured), (), job.threads)
        for job in run.jobs
        if job.name in run.measured
    ]
    nothing = dict.fromkeys(run.measured, 0.0)
    wanted = span(run.measured.values())
    low, high = 0.0, 10.0
    for _ in range(30):
        middle = (low + high) / 2
        seconds = {name: entry.wall_s + middle for name, entry in run.measured.items()}
        low, high = (
            (middle, high) if simulate(jobs, seconds, nothing, run.cores).wall_s < wanted else (low, middle)
        )
    return low


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
