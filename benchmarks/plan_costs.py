"""Fit the coefficients of `vocap plan` on finished runs, for another machine or after a
change of speed.

    python benchmarks/plan_costs.py OUTPUT [FOLDER ...] [--configfile FILE ...]

FOLDER: the root of a project in which the configuration has run, alone on its machine;
this one unless named. Least squares of relative errors, with coefficients of at least
0. What the runs leave open, as of a rule with one job, keeps its proportions: all of the
rule change by one factor; a coefficient that no job needs stays. `disk_mb`, `spread`,
`reach` and `word_reach` are written by hand.
"""

import argparse
from contextlib import chdir
from itertools import product
from pathlib import Path

import numpy as np
import yaml

from vocap.files.io import write_text
from vocap.forecast.costs import Costs, read_costs
from vocap.forecast.run import forecast_run, read_benchmarks

ROUNDS, PRIOR = 20, 1e-3  # of the weights; pull of the older coefficients
FLOOR = 0.05  # of the mean: a smaller forecast counts as if it were that much


def fit(features: np.ndarray, values: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Coefficients c >= 0 [n] for which `features` [m, n] @ c is near `values` [m], or
    near a multiple of `prior`.
    """
    present, level = features.any(axis=0), max(float(values.mean()), 1e-9)
    factor = np.median(values / np.maximum(features @ prior, FLOOR * level))
    found = prior.astype(np.float64)
    features, prior = features[:, present], factor * found[present]
    # each unknown is about 1
    scale = np.maximum(prior, 1e-3 * level / np.abs(features).mean(axis=0))
    pull, forecast = np.sqrt(PRIOR) * np.eye(len(prior)), values
    for _ in range(ROUNDS):
        weights = 1 / np.maximum(forecast, FLOOR * level)
        matrix = np.vstack([features * scale * weights[:, None], pull])
        solution = nonnegative_least_squares(
            matrix, np.concatenate([values * weights, pull @ (prior / scale)])
        )
        forecast = features @ (scale * solution)
    found[present] = scale * solution
    return found


def nonnegative_least_squares(matrix: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The x >= 0 [n] of least |matrix x - target|: every set of columns that may be
    above 0 is tried.
    """
    best, least = np.zeros(matrix.shape[1]), float(target @ target)
    for chosen in product((False, True), repeat=len(best)):
        part = np.linalg.lstsq(matrix[:, chosen], target, rcond=None)[0]
        error = float(np.square(matrix[:, chosen] @ part - target).sum())
        if (part >= 0).all() and error < least:
            best, least = np.zeros(len(best)), error
            best[list(chosen)] = part
    return best


def refit(costs: Costs, pairs: list) -> None:
    """Fit the coefficients of every rule of `pairs` of a job and its measured cost;
    features stay as they are.
    """
    for name, rule in costs["rules"].items():
        found = [(job.features, cost) for job, cost in pairs if job.priced_as == name]
        for part in ("cpu_s", "memory_mb") if found else ():
            old = rule.get(part, {})
            values = [cost[part] for _, cost in found]
            rows = [
                [1.0 if name == "job" else row.get(name, 0.0) for name in old] for row, _ in found
            ]
            if old:
                fitted = fit(np.array(rows), np.maximum(values, 0.0), np.array(list(old.values())))
                rule[part] = {
                    name: float(f"{value:.4g}") for name, value in zip(old, fitted, strict=True)
                }


def as_yaml(costs: Costs) -> str:
    """The text of a `costs.yaml`."""
    content = dict(costs)
    words = {name: content.pop(name) for name in ("fitted_on", "features")}
    style = {"sort_keys": False, "allow_unicode": True, "width": 113}
    return yaml.safe_dump(words, **style) + yaml.safe_dump(
        content, default_flow_style=None, **style
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    parser.add_argument("folders", nargs="*", type=Path, default=[Path()])
    parser.add_argument("--configfile", type=Path, action="append", default=[])
    options, costs, pairs = parser.parse_args(), read_costs(), []
    configfiles, costs["fitted_on"] = [path.absolute() for path in options.configfile], []
    for folder in options.folders:
        with chdir(folder):
            expected = forecast_run(configfiles)
            found = read_benchmarks(expected.jobs, Path(expected.settings.logs))
        pairs += [(job, found.loc[job.name]) for job in expected.jobs if job.name in found.index]
        costs["fitted_on"].append(f"{len(found)} jobs")
    refit(costs, pairs)
    write_text(options.output, as_yaml(costs))
