"""The cost model and the forecast of a configuration, and the measured costs of a
finished run beside it.

A job costs a sum of coefficient times feature; `costs.yaml` holds the coefficients, by
rule.
"""

import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from operator import attrgetter
from pathlib import Path
from typing import Any

from vocap.config import Settings
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_tsv, read_yaml
from vocap.finetuning.settings import make_grid
from vocap.forecast.jobs import Inputs, Job, longest_chain, with_features
from vocap.forecast.texts import Text, estimate_pretraining_texts, estimate_texts

LOCAL_CORES = 2  # as in slurm/config.yaml
STAGES = (
    "corpora",
    "vocabularies",
    "allocation",
    "tokenizers",
    "pretraining",
    "finetuning",
    "correlation",
    "report",
)

# Snakemake samples a job every half second, after 31 samples every 30 s
# (`ScheduledPeriodicTimer`): the time after the last sample is in no column but `s`.
SHORT_S, SHORT_SAMPLES, LONG_S = 0.5, 31, 30.0
SEEN_S = 1.0  # a shorter job ends before its memory has been seen
MISSING = ("NA", "-", "")


Costs = dict[str, Any]  # the content of `costs.yaml`, which says what its keys mean
KEYS = {"fitted_on", "features", "spread", "reach", "overhead", "rules"}


@dataclass(frozen=True)
class Cost:
    """Cost of one job or of several: seconds, millions of bytes; `memory_mb` is the
    largest job's.
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    gpu_s: float = 0.0
    memory_mb: float = 0.0
    disk_mb: float = 0.0


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


def weigh(coefficients: Mapping[str, float], features: Mapping[str, float]) -> float:
    """Sum of coefficient times feature; a feature that the job lacks is 0.

    >>> weigh({"job": 2.0, "train_mb": 0.5}, {"train_mb": 10.0, "points": 50})
    7.0
    """
    return sum(
        value * (1.0 if name == "job" else features.get(name, 0.0))
        for name, value in coefficients.items()
    )


def cost_of(job: Job, costs: Costs) -> Cost:
    """The cost of one job; raises UsageError for a rule without coefficients."""
    rule = costs["rules"].get(job.priced_as or job.rule)
    if rule is None:
        raise UsageError(
            f"the cost model has no rule {job.priced_as or job.rule!r}; add it to the coefficients"
        )
    parts = ("cpu_s", "wait_s", "gpu_s", "memory_mb", "disk_mb")
    part = {name: weigh(rule.get(name, {}), job.features) for name in parts}
    # a GPU and the process that drives it work at the same time; the communication of
    # several is not counted
    busy_s = max(part["cpu_s"] / min(rule.get("cores", 1.0), job.threads), part["gpu_s"])
    return Cost(wall_s=busy_s / job.gpus + part.pop("wait_s"), **part)


def total(costs: Iterable[Cost]) -> Cost:
    """The sums, and the largest memory."""
    costs = list(costs)
    names = ("wall_s", "cpu_s", "gpu_s", "disk_mb")
    sums = {name: math.fsum(map(attrgetter(name), costs)) for name in names}
    return Cost(memory_mb=max((cost.memory_mb for cost in costs), default=0.0), **sums)


def reach_of(texts: Mapping[str, Text], costs: Costs) -> dict[str, float]:
    """The largest vocabulary of each language, in pieces: known, or by the model's
    power law.
    """
    scale, power = costs["reach"]["scale"], costs["reach"]["power"]
    return {
        lang: scale * text.train_mb**power if text.reach is None else text.reach
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

    With `results`, text is counted as an earlier run in that folder counted it; with
    `gpu`, models are trained on GPUs, on as many as `gpus` gives a rule. Raises
    UsageError for a rule that has no features or no coefficients.
    """
    texts = estimate_texts(settings, results)
    reach = reach_of(texts, costs)
    reached = {}
    for lang in texts:
        reached[lang] = [size for size in settings.vocabularies.sizes if size <= reach[lang]]
    inputs = Inputs(
        settings,
        texts,
        estimate_pretraining_texts(settings, texts),
        reached,
        make_grid(settings.finetuning, settings.pretraining.masked, assume=True),
        gpu,
    )
    priced = [with_features(job, inputs, gpus or {}) for job in jobs]
    return Forecast(priced, {job.name: cost_of(job, costs) for job in priced}, texts)


@dataclass(frozen=True)
class Schedule:
    """`wall_s`: a whole run; `longest_chain_s`: on any number of cores; `memory_mb`: at
    the same time, at most.
    """

    wall_s: float
    longest_chain_s: float
    memory_mb: float


def schedule_jobs(
    forecast: Forecast, costs: Costs, cores: int, places: int | None = None
) -> Schedule:
    """Snakemake's start, then the jobs on `cores` cores, each with Snakemake's time around it.

    That takes as long as the longest chain of jobs, or as all jobs on cores that never
    idle: the larger of both. Models train on one GPU, one after the other. With
    `places`, a cluster runs so many jobs at once, without waiting longer than an idle
    SLURM does; only light jobs take cores, beside Snakemake (`LOCAL_CORES`).
    """
    local, slurm = costs["overhead"]["local"], costs["overhead"]["slurm"]
    here = [job for job in forecast.jobs if places is None or job.local]
    there = [job for job in forecast.jobs if places is not None and not job.local]
    seconds = {job.name: forecast.costs[job.name].wall_s + local["job_s"] for job in here}
    seconds |= {job.name: forecast.costs[job.name].wall_s + slurm["job_s"] for job in there}
    chain = longest_chain(forecast.jobs, seconds)
    on_cores = sum(seconds[job.name] * min(job.threads, cores) for job in here) / cores
    on_gpu = sum(seconds[job.name] for job in here if job.features.get("gpu"))
    submitted = max(
        sum(seconds[job.name] for job in there) / (places or 1),
        slurm.get("submit_s", 0) * len(there),
    )
    before = local["start_s"] + local["planning_s"] * len(forecast.jobs)
    largest = sorted((cost.memory_mb for cost in forecast.costs.values()), reverse=True)[
        : places or cores
    ]
    return Schedule(before + max(chain, on_cores, on_gpu, submitted), before + chain, sum(largest))


def grouped(jobs: Sequence[Job], part: Callable[[Sequence[Job]], dict[str, Any]]) -> dict[str, Any]:
    """`part` of the jobs of each stage, of each rule, and of all."""
    rules: defaultdict[str, list[Job]] = defaultdict(list)
    stages: dict[str, list[Job]] = {stage: [] for stage in STAGES}
    for job in jobs:
        rules[job.rule].append(job)
        stages[job.stage].append(job)
    return {
        "stages": {stage: part(found) for stage, found in stages.items() if found},
        "rules": {rule: part(found) for rule, found in rules.items()},
        "total": part(jobs),
    }


def as_plain(forecast: Forecast, costs: Costs, schedule: Schedule) -> dict[str, Any]:
    """The forecast as plain values: costs by stage, by rule and in all, the schedule,
    and the texts below it.
    """

    def part(jobs: Sequence[Job]) -> dict[str, Any]:
        return {"jobs": len(jobs), **asdict(total(forecast.costs[job.name] for job in jobs))}

    trainings = [(job.features.get("gpu_memory_mb", 0.0), job.name) for job in forecast.jobs]
    return {
        **grouped(forecast.jobs, part),
        "submissions": sum(not job.local for job in forecast.jobs),
        "largest_training": max(trainings, default=(0.0, "")),
        "schedule": asdict(schedule),
        "spread": costs["spread"],
        "texts": {lang: asdict(text) for lang, text in forecast.texts.items()},
        "fitted_on": costs["fitted_on"],
    }


@dataclass(frozen=True)
class Measured:
    """One job: its cost, with memory 0 of a job too short to be seen, and its end in
    seconds since 1970.
    """

    cost: Cost
    end: float


def measure(jobs: Iterable[Job], logs: Path) -> dict[str, Measured]:
    """The jobs with a benchmark file, by name, of the run in the current folder that
    logged to `logs`.

    Raises VocapError, naming file and remedy, for a file that is no benchmark, and
    where there is none.
    """
    folder = logs / "benchmarks"
    paths = ((job, folder / f"{job.name}.tsv") for job in jobs)
    found = {job.name: read_benchmark(path, job.threads) for job, path in paths if path.exists()}
    if not found:
        raise VocapError(
            f"{folder}: no benchmark of this configuration's jobs; let it run first (snakemake "
            "--cores all), "
            "and give the same --configfile here"
        )
    return found


def read_benchmark(path: Path, threads: int) -> Measured:
    """The time, processor time and memory of one job."""
    try:
        row = next(read_tsv(path, ("s", "max_rss", "cpu_time")))
        wall_s = float(row["s"])
        cpu_s, memory_mb = (
            None if row[name] in MISSING else float(row[name]) for name in ("cpu_time", "max_rss")
        )
    except (ValueError, StopIteration):
        raise VocapError(
            f"{path}: not the numbers of a benchmark; delete it, and run its job again"
        ) from None
    seen_mb = memory_mb if memory_mb is not None and wall_s >= SEEN_S else 0.0
    return Measured(
        Cost(wall_s, processor_seconds(wall_s, cpu_s, threads), 0.0, seen_mb),
        os.path.getmtime(path),
    )


def processor_seconds(wall_s: float, cpu_s: float | None, threads: int) -> float:
    """All processor seconds of a job, from those counted until Snakemake's last sample of it.

    After that sample the same rate is assumed; a job too short to be sampled is assumed
    to be busy.

    >>> processor_seconds(40.0, 15.5, 1)
    40.0
    """
    frequent_s = SHORT_S * (SHORT_SAMPLES - 1)
    if wall_s < frequent_s + LONG_S:
        sampled_s = min(math.floor(wall_s / SHORT_S) * SHORT_S, frequent_s + SHORT_S)
    else:
        sampled_s = (
            frequent_s + SHORT_S + math.floor((wall_s - frequent_s - SHORT_S) / LONG_S) * LONG_S
        )
    if cpu_s is None or sampled_s < SEEN_S:
        return wall_s
    return min(cpu_s * max(wall_s / sampled_s, 1.0), threads * wall_s)


def compare(forecast: Forecast, logs: Path, clock_s: float, cores: int) -> dict[str, Any]:
    """The forecast beside the benchmark files of the run that logged to `logs`, as
    plain values.

    `rules`, `stages` and `total` have the costs of the jobs that were measured and
    `factor`, forecast over measured. `clock_s`: forecast time on `cores` cores. Raises
    VocapError as `measure`.
    """
    measured = measure(forecast.jobs, logs)

    def row(jobs: Sequence[Job]) -> dict[str, Any]:
        found = [measured[job.name].cost for job in jobs]
        expected = [forecast.costs[job.name] for job in jobs]
        # the memory of a job that was not seen counts on neither side
        seen = [
            one.memory_mb * bool(cost.memory_mb) for one, cost in zip(expected, found, strict=True)
        ]
        expected = [
            replace(one, memory_mb=memory_mb) for one, memory_mb in zip(expected, seen, strict=True)
        ]
        sums = {"forecast": asdict(total(expected)), "measured": asdict(total(found))}
        factors = {
            name: sums["forecast"][name] / value if value else None
            for name, value in sums["measured"].items()
        }
        return {"jobs": len(jobs), **sums, "factor": factors}

    # rows, the time from the first start to the last end, and jobs and benchmarks that
    # have no counterpart
    begun = min(found.end - found.cost.wall_s for found in measured.values())
    ended = max(found.end for found in measured.values())
    folder, known = logs / "benchmarks", {job.name for job in forecast.jobs}
    names = (
        path.relative_to(folder).as_posix().removesuffix(".tsv") for path in folder.rglob("*.tsv")
    )
    return {
        **grouped([job for job in forecast.jobs if job.name in measured], row),
        "clock": {"cores": cores, "forecast_s": clock_s, "measured_s": ended - begun},
        "missing": sorted(known - measured.keys()),
        "foreign": sorted(name for name in names if name not in known),
    }
