"""The cost model: a job costs a sum of coefficient times feature; `costs.yaml` holds the
coefficients, by rule.
"""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from pandas import DataFrame

from vocap.errors import UsageError
from vocap.files.io import read_yaml
from vocap.forecast.jobs import PlannedJob
from vocap.forecast.texts import LanguageText

Costs = dict[str, Any]  # the content of `costs.yaml`, which says what its keys mean
KEYS = {"fitted_on", "features", "spread", "reach", "word_reach", "rules"}


# of a job: seconds of one core and of one GPU, millions of bytes in memory and on disk
PARTS = ("cpu_s", "gpu_s", "memory_mb", "disk_mb")


def read_costs(path: str | Path | None = None) -> Costs:
    """The coefficients of a file, or those that ship with the package; UsageError for a
    file of other keys.
    """
    if path is None:
        path = Path(str(resources.files("vocap.forecast"))) / "costs.yaml"
    costs = read_yaml(path)
    if not isinstance(costs, dict) or costs.keys() != KEYS:
        raise UsageError(
            f"{path}: no table of coefficients; write it as src/vocap/forecast/costs.yaml is"
        )
    return costs


def weighted_sum(coefficients: Mapping[str, float], features: Mapping[str, float]) -> float:
    """Sum of coefficient times feature; a feature that the job lacks is 0.

    >>> weighted_sum({"job": 2.0, "train_mb": 0.5}, {"train_mb": 10.0, "points": 50})
    7.0
    """
    return sum(
        value * (1.0 if name == "job" else features.get(name, 0.0))
        for name, value in coefficients.items()
    )


def cost_of(job: PlannedJob, costs: Costs) -> dict[str, float]:
    """The `PARTS` of the cost of one job; raises UsageError for a rule without
    coefficients.
    """
    rule = costs["rules"].get(job.priced_as or job.rule)
    if rule is None:
        raise UsageError(
            f"the cost model has no rule {job.priced_as or job.rule!r}; add it to the coefficients"
        )
    return {part: weighted_sum(rule.get(part, {}), job.features) for part in PARTS}


def sum_costs(costs: DataFrame, by: str) -> dict[str, Any]:
    """Number of jobs, summed times and bytes on disk, and the largest memory, of the
    jobs with one value in the column `by`, in the order of the table.

    `costs`: a row a job, columns `PARTS` and `by`.
    """
    sums = costs.groupby(by, sort=False).agg(
        jobs=("cpu_s", "size"),
        cpu_s=("cpu_s", "sum"),
        gpu_s=("gpu_s", "sum"),
        memory_mb=("memory_mb", "max"),
        disk_mb=("disk_mb", "sum"),
    )
    return sums.to_dict("index")


def reach_of(texts: Mapping[str, LanguageText], costs: Costs) -> dict[str, float]:
    """The largest vocabulary of each language, in pieces: known, or by a power law of
    its words where they were looked at, else of its megabytes.
    """
    reach: dict[str, float] = {}
    for lang, text in texts.items():
        law, amount = costs["reach"], text.train_mb
        if text.words is not None:
            of_one_mb, power = text.words
            law, amount = costs["word_reach"], of_one_mb * text.train_mb**power
        reach[lang] = law["scale"] * amount ** law["power"] if text.reach is None else text.reach
    return reach
