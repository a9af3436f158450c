"""The cost model and the forecast of a configuration: each job's cost, sums by stage, the time on so many cores.

A job costs a sum of coefficient times feature; `costs.yaml` holds the coefficients, by rule.
"""

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, ValidationError

from vocap.config import Settings
from vocap.errors import UsageError
from vocap.files.plain_data import read_yaml
from vocap.finetuning.grid import make_grid
from vocap.plan import training  # noqa: F401  registers its rules
from vocap.plan.features import Inputs, with_features
from vocap.plan.jobs import Job, longest_chain
from vocap.plan.texts import Text, estimate_pretraining_texts, estimate_texts

LOCAL_CORES = 2  # as in slurm/config.yaml
STAGES = (
    *("corpora", "vocabularies", "allocation", "tokenizers", "pretraining", "finetuning"),
    *("correlation", "report"),
)

Coefficients = dict[str, NonNegativeFloat]  # feature ("job" is 1 for every job) to coefficient


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RuleCosts(_Part):
    """The cost of a job of one rule of Snakemake."""

    cpu_s: Coefficients = Field({}, description="seconds of one processor core")
    wait_s: Coefficients = Field({}, description="seconds in which it waits, for a network")
    gpu_s: Coefficients = Field({}, description="seconds of one GPU")
    memory_mb: Coefficients = Field({}, description="peak resident memory, as Snakemake's benchmark counts it")
    disk_mb: Coefficients = Field({}, description="megabytes of its files on the disk")
    cores: PositiveFloat = Field(1.0, description="processor seconds a second, of a rule of several threads")


class Reach(_Part):
    """The largest vocabulary that a text can give: scale x megabytes ^ power."""

    scale: PositiveFloat
    power: PositiveFloat


class Spread(_Part):
    """Measured over forecast time of runs that the coefficients were not fitted on: the least and the most."""

    low: PositiveFloat
    high: PositiveFloat


class Overhead(_Part):
    """The time of Snakemake itself: to start, for each job of the plan, and around each job that runs."""

    start_s: NonNegativeFloat = 0
    planning_s: NonNegativeFloat = Field(0, description="for each job of the plan, before the first starts")
    job_s: NonNegativeFloat = Field(description="around each job, while its core or place waits")
    submit_s: NonNegativeFloat = Field(0, description="between two submissions to a cluster")


class Costs(_Part):
    """The content of `costs.yaml`."""

    fitted_on: list[str] = Field(description="the runs, and the machine, that the coefficients come from")
    features: dict[str, str] = Field(description="meaning and unit of each feature")
    spread: Spread
    reach: Reach
    overhead: dict[str, Overhead] = Field(description="local, slurm")
    rules: dict[str, RuleCosts]


@dataclass(frozen=True)
class Cost:
    """Cost of one job or of several: seconds, millions of bytes; `memory_mb` is the largest job's."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    gpu_s: float = 0.0
    memory_mb: float = 0.0
    disk_mb: float = 0.0


def read_costs(path: str | os.PathLike | None = None) -> Costs:
    """The coefficients of a file, or those that ship with the package.

    Raises UsageError, naming the file and the key, for a file that is no table of coefficients.
    """
    path = resources.files("vocap.plan") / "costs.yaml" if path is None else path
    try:
        return Costs.model_validate(read_yaml(path))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: {key}: {first['msg']}; write it as src/vocap/plan/costs.yaml is") from None


def weigh(coefficients: Mapping[str, float], features: Mapping[str, float]) -> float:
    """Sum of coefficient times feature; a feature that the job lacks is 0.

    >>> weigh({"job": 2.0, "train_mb": 0.5}, {"train_mb": 10.0, "points": 50})
    7.0
    """
    return sum(value * (1.0 if name == "job" else features.get(name, 0.0)) for name, value in coefficients.items())


def cost_of(job: Job, costs: Costs) -> Cost:
    """The cost of one job; raises UsageError for a rule without coefficients."""
    rule = costs.rules.get(job.priced_as or job.rule)
    if rule is None:
        raise UsageError(f"the cost model has no rule {job.priced_as or job.rule!r}; add it to the coefficients")
    cpu_s, gpu_s = weigh(rule.cpu_s, job.features), weigh(rule.gpu_s, job.features)
    return Cost(
        # a GPU and the process that drives it work at the same time; the communication of several is not counted
        wall_s=max(cpu_s / min(rule.cores, job.threads), gpu_s) / job.gpus + weigh(rule.wait_s, job.features),
        cpu_s=cpu_s,
        gpu_s=gpu_s,
        memory_mb=weigh(rule.memory_mb, job.features),
        disk_mb=weigh(rule.disk_mb, job.features),
    )


def total(costs: Iterable[Cost]) -> Cost:
    """The sums, and the largest memory."""
    costs = list(costs)
    sums = {
        name: math.fsum(getattr(cost, name) for cost in costs) for name in ("wall_s", "cpu_s", "gpu_s", "disk_mb")
    }
    return Cost(memory_mb=max((cost.memory_mb for cost in costs), default=0.0), **sums)


def reach_of(texts: Mapping[str, Text], costs: Costs) -> dict[str, float]:
    """The largest vocabulary of each language, in pieces: known, or by the model's power law."""
    return {
        lang: text.reach if text.reach is not None else costs.reach.scale * text.train_mb**costs.reach.power
        for lang, text in texts.items()
    }


@dataclass(frozen=True)
class Forecast:
    """Jobs with their costs (by name), and the texts that these are computed from."""

    jobs: Sequence[Job]
    costs: dict[str, Cost]
    texts: dict[str, Text]


def make_forecast(
    settings: Settings,
    costs: Costs,
    jobs: Sequence[Job],
    results: Path | None = None,
    gpu: bool = False,
    gpus: Mapping[str, int] | None = None,
) -> Forecast:
    """The forecast of a configuration from its `jobs` (`read_jobs`), done or not.

    With `results`, text is counted as an earlier run in that folder counted it; with `gpu`, models are trained on
    GPUs, on as many as `gpus` gives a rule. Raises UsageError for a rule that has no features or no coefficients.
    """
    texts = estimate_texts(settings, results)
    reach = reach_of(texts, costs)
    inputs = Inputs(
        settings,
        texts,
        estimate_pretraining_texts(settings, texts),
        {lang: [size for size in settings.vocabularies.sizes if size <= reach[lang]] for lang in texts},
        make_grid(settings.finetuning, settings.pretraining.models, assume=True),
        gpu,
    )
    priced = [with_features(job, inputs, gpus or {}) for job in jobs]
    return Forecast(priced, {job.name: cost_of(job, costs) for job in priced}, texts)


@dataclass(frozen=True)
class Schedule:
    """`wall_s`: a whole run; `longest_chain_s`: on any number of cores; `memory_mb`: at the same time, at most."""

    wall_s: float
    longest_chain_s: float
    memory_mb: float


def schedule_jobs(forecast: Forecast, costs: Costs, cores: int, places: int | None = None) -> Schedule:
    """Snakemake's start, then the jobs on `cores` cores, each with Snakemake's time around it.

    That takes as long as the longest chain of jobs, or as all jobs on cores that never idle: the larger of both.
    Models train on one GPU, one after the other. With `places`, a cluster runs so many jobs at once, without
    waiting longer than an idle SLURM does; only light jobs take cores, beside Snakemake (`LOCAL_CORES`).
    """
    local, slurm = costs.overhead["local"], costs.overhead["slurm"]
    here = [job for job in forecast.jobs if places is None or job.local]
    there = [job for job in forecast.jobs if places is not None and not job.local]
    seconds = {job.name: forecast.costs[job.name].wall_s + local.job_s for job in here}
    seconds |= {job.name: forecast.costs[job.name].wall_s + slurm.job_s for job in there}
    chain = longest_chain(forecast.jobs, seconds)
    on_cores = sum(seconds[job.name] * min(job.threads, cores) for job in here) / cores
    on_gpu = sum(seconds[job.name] for job in here if job.features.get("gpu"))
    submitted = max(sum(seconds[job.name] for job in there) / (places or 1), slurm.submit_s * len(there))
    before = local.start_s + local.planning_s * len(forecast.jobs)
    largest = sorted((cost.memory_mb for cost in forecast.costs.values()), reverse=True)[: places or cores]
    return Schedule(before + max(chain, on_cores, on_gpu, submitted), before + chain, sum(largest))


def as_plain(forecast: Forecast, costs: Costs, schedule: Schedule) -> dict[str, Any]:
    """The forecast as plain values: costs by stage, by rule and in all, the schedule, and the texts below it."""
    rules, stages = defaultdict(list), {stage: [] for stage in STAGES}
    for job in forecast.jobs:
        rules[job.rule].append(job)
        stages[job.stage].append(job)

    def part(jobs: Sequence[Job]) -> dict[str, Any]:
        return {"jobs": len(jobs), **asdict(total(forecast.costs[job.name] for job in jobs))}

    trainings = [(job.features.get("gpu_memory_mb", 0.0), job.name) for job in forecast.jobs]
    return {
        "stages": {stage: part(jobs) for stage, jobs in stages.items() if jobs},
        "rules": {rule: part(jobs) for rule, jobs in rules.items()},
        "total": part(forecast.jobs),
        "submissions": sum(not job.local for job in forecast.jobs),
        "largest_training": max(trainings, default=(0.0, "")),
        "schedule": asdict(schedule),
        "spread": costs.spread.model_dump(),
        "texts": {lang: asdict(text) for lang, text in forecast.texts.items()},
        "fitted_on": costs.fitted_on,
    }
