"""The measured costs of a finished run, the forecast beside them, and coefficients fitted on several runs."""

import itertools
import math
import os
import platform
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from vocap.errors import VocapError
from vocap.files.tsv import read_tsv
from vocap.plan.forecast import STAGES, Cost, Costs, Forecast, Reach, Rule, total
from vocap.plan.jobs import Job, simulate
from vocap.plan.texts import MB, Text

# Snakemake samples a job every half second, after 31 samples every 30 s (`ScheduledPeriodicTimer`): the time
# after the last sample is in no column but `s`.
SHORT_S, SHORT_SAMPLES, LONG_S = 0.5, 31, 30.0
SEEN_S = 1.0  # a shorter job ends before its memory has been seen
# Files of a job that its rule does not declare, beside its first output; "." is the whole folder.
UNDECLARED = {
    "ladder": "../models",
    "train": "../models/{size}.model",
    **dict.fromkeys(("tokenize", "studied_text", "pretrain", "studied_model", "finetune", "studied_run"), "."),
}
MISSING = ("NA", "-", "")

ROUNDS = 20  # of the fit
FLOOR = 0.05  # of the mean: a smaller forecast counts as if it were that much
PRIOR = 1e-3  # pull of the older coefficients, which decide where the runs cannot


@dataclass(frozen=True)
class Measured:
    """One job: seconds by the clock and of the processors, megabytes, and when it ended (seconds since 1970).

    `memory_mb` is None for a job too short to be seen.
    """

    wall_s: float
    cpu_s: float
    memory_mb: float | None
    disk_mb: float
    end: float


def measure(jobs: Iterable[Job], logs: Path) -> dict[str, Measured]:
    """The jobs with a benchmark file, by name, of the run in the current folder that logged to `logs`.

    Raises VocapError, naming file and remedy, for a file that is no benchmark.
    """
    found = {}
    for job in jobs:
        path = logs / "benchmarks" / f"{job.name}.tsv"
        if path.exists():
            disk_mb = sum(map(disk_usage, written(job))) / MB
            found[job.name] = read_benchmark(path, job.threads, disk_mb)
    return found


def written(job: Job) -> list[Path]:
    """The files and folders that a job leaves, declared or not."""
    outputs = list(map(Path, job.outputs))
    beside = UNDECLARED.get(job.rule)
    if beside is None:
        return outputs
    folder = outputs[0].parent
    return [folder] if beside == "." else [*outputs, folder / beside.format(**job.wildcards)]


def read_benchmark(path: Path, threads: int, disk_mb: float) -> Measured:
    """The means of a benchmark's rows (one, unless the rule repeats it), and the largest memory."""
    remedy = "delete it, and run its job again"
    rows = list(read_tsv(path, ("s", "max_rss", "cpu_time")))
    if not rows:
        raise VocapError(f"{path}: no row; {remedy}")
    walls, cpus, memories = [], [], []
    for number, row in enumerate(rows, start=2):
        try:
            walls.append(float(row["s"]))
            cpu, memory = (None if row[name] in MISSING else float(row[name]) for name in ("cpu_time", "max_rss"))
        except ValueError:
            raise VocapError(f"{path}, line {number}: not the numbers of a benchmark; {remedy}") from None
        cpus.append(processor_seconds(walls[-1], cpu, threads))
        if memory is not None and walls[-1] >= SEEN_S:
            memories.append(memory)
    return Measured(
        math.fsum(walls) / len(rows),
        math.fsum(cpus) / len(rows),
        max(memories, default=None),
        disk_mb,
        os.path.getmtime(path),
    )


def processor_seconds(wall_s: float, cpu_s: float | None, threads: int) -> float:
    """All processor seconds of a job, from those counted until Snakemake's last sample of it.

    After that sample the same rate is assumed; a job too short to be sampled is assumed to be busy.

    >>> processor_seconds(40.0, 15.5, 1)
    40.0
    """
    frequent_s = SHORT_S * (SHORT_SAMPLES - 1)
    if wall_s < frequent_s + LONG_S:
        sampled_s = min(math.floor(wall_s / SHORT_S) * SHORT_S, frequent_s + SHORT_S)
    else:
        sampled_s = frequent_s + SHORT_S + math.floor((wall_s - frequent_s - SHORT_S) / LONG_S) * LONG_S
    if cpu_s is None or sampled_s < SEEN_S:
        return wall_s
    return min(cpu_s * max(wall_s / sampled_s, 1.0), threads * wall_s)


def disk_usage(path: Path) -> int:
    """Bytes that a file, or all files of a folder, take on the disk; 0 where there is none."""
    if path.is_dir():
        return sum(disk_usage(entry) for entry in path.iterdir() if not entry.is_symlink())
    return path.stat().st_blocks * 512 if path.exists() else 0


def span(measured: Collection[Measured]) -> float:
    """Seconds from the first start to the last end, by the times of the benchmark files."""
    return max(entry.end for entry in measured) - min(entry.end - entry.wall_s for entry in measured)


def busy_share(jobs: Iterable[Job], measured: Mapping[str, Measured]) -> float:
    """The share of their time that jobs of one thread computed: near 1 on an idle machine.

    Jobs too short to be sampled, and those that fetch, are left out; 1 where there are no others.
    """
    computing = [job for job in jobs if job.threads == 1 and job.rule not in ("fetch_starter", "download")]
    entries = [measured[job.name] for job in computing if job.name in measured]
    entries = [entry for entry in entries if entry.wall_s >= 2 * SEEN_S]
    wall_s = math.fsum(entry.wall_s for entry in entries)
    return math.fsum(entry.cpu_s for entry in entries) / wall_s if wall_s else 1.0


def processor_name() -> str:
    """The name of this machine's processor, or its architecture."""
    path = Path("/proc/cpuinfo")
    names = re.findall(r"(?m)^model name\s*: (.*)", path.read_text("utf-8")) if path.exists() else []
    return names[0] if names else platform.machine()


@dataclass(frozen=True)
class Row:
    """One line of the comparison: a rule, a stage, or everything; costs of the jobs that were measured."""

    name: str
    jobs: int
    forecast: Cost
    measured: Cost

    def factor(self, quantity: str) -> float | None:
        """Forecast over measured; None where nothing was measured."""
        found = getattr(self.measured, quantity)
        return getattr(self.forecast, quantity) / found if found else None


@dataclass(frozen=True)
class Comparison:
    """Rows by rule and by stage, the whole, names of jobs without benchmark, and files that belong to no job."""

    rules: list[Row]
    stages: list[Row]
    whole: Row
    missing: list[str]
    foreign: list[str]
    measured: Mapping[str, Measured]


def compare(forecast: Forecast, logs: Path) -> Comparison:
    """Compare the forecast with the benchmark files of the run that logged to `logs`.

    Only jobs with a benchmark count on either side. Raises VocapError where none has one.
    """
    measured = measure(forecast.jobs, logs)
    folder = logs / "benchmarks"
    if not measured:
        raise VocapError(
            f"{folder}: no benchmark of this configuration's jobs; let it run first (snakemake --cores all), "
            "and give the same --configfile here"
        )
    known = {job.name for job in forecast.jobs}
    names = (path.relative_to(folder).as_posix().removesuffix(".tsv") for path in folder.rglob("*.tsv"))
    done = [job for job in forecast.jobs if job.name in measured]
    by_rule: dict[str, list[Job]] = {}
    for job in done:
        by_rule.setdefault(job.rule, []).append(job)
    by_stage = {stage: [job for job in done if job.stage == stage] for stage in STAGES}
    return Comparison(
        [_row(rule, jobs, forecast, measured) for rule, jobs in by_rule.items()],
        [_row(stage, jobs, forecast, measured) for stage, jobs in by_stage.items() if jobs],
        _row("total", done, forecast, measured),
        sorted(known - measured.keys()),
        sorted(name for name in names if name not in known),
        measured,
    )


def _row(name: str, jobs: Sequence[Job], forecast: Forecast, measured: Mapping[str, Measured]) -> Row:
    """A job too short to be seen has no memory on either side."""
    expected, found = [], []
    for job in jobs:
        cost, entry = forecast.costs[job.name], measured[job.name]
        expected.append(cost if entry.memory_mb is not None else replace(cost, memory_mb=0.0))
        found.append(Cost(entry.wall_s, entry.cpu_s, 0.0, entry.memory_mb or 0.0, entry.disk_mb))
    return Row(name, len(jobs), total(expected), total(found))


@dataclass(frozen=True)
class Run:
    """A finished run: its jobs, their measured costs, its texts, and its number of cores."""

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
        """Coefficients of the names of `old`, 4 significant digits."""
        usable = [(job.features, value) for job, entry in pairs if (value := quantity(entry)) is not None]
        if not old or not usable:
            return dict(old)
        matrix = np.array([[1.0 if name == "job" else row.get(name, 0.0) for name in old] for row, _ in usable])
        found = fit(matrix, np.array([value for _, value in usable]), np.array(list(old.values())))
        return {name: _rounded(value) for name, value in zip(old, found, strict=True)}

    names = dict.fromkeys([*rule.cpu_s, *rule.wait_s, *rule.memory_mb])  # in this order
    names.pop("job", None)
    return rule.model_copy(
        update={
            "cpu_s": fitted(rule.cpu_s, lambda entry: entry.cpu_s),
            "wait_s": fitted(rule.wait_s, lambda entry: max(entry.wall_s - entry.cpu_s / cores, 0.0)),
            "memory_mb": fitted(rule.memory_mb, lambda entry: entry.memory_mb),
            "disk_mb": fitted(rule.disk_mb, lambda entry: entry.disk_mb),
            "cores": cores,
            "seen": {name: _rounded(max(job.features.get(name, 0.0) for job, _ in pairs)) for name in names},
        }
    )


def fit(features: np.ndarray, values: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Coefficients c >= 0, float64 [n], for which `features` [m, n] @ c is near `values` [m].

    Least squares of errors relative to the forecast, so that jobs of all sizes count alike and none of the two
    directions is favoured (a gamma regression with identity link), found by repeated weighted least squares. A
    coefficient that the values do not determine, such as the slope of a feature that is the same in all jobs,
    stays near `prior` [n]; of a feature that no job has, it is the prior's.
    """
    if not (present := features.any(axis=0)).all():
        found = prior.astype(np.float64)
        if present.any():
            found[present] = fit(features[:, present], values, prior[present])
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
    """Seconds around each job for which the simulated schedule of a whole run takes as long as the run did."""
    jobs = [replace(job, features={}) for job in run.jobs]
    nothing = dict.fromkeys(run.measured, 0.0)
    wanted = span(run.measured.values())
    low, high = 0.0, 10.0
    for _ in range(30):
        middle = (low + high) / 2
        seconds = {name: entry.wall_s + middle for name, entry in run.measured.items()}
        if simulate(jobs, seconds, nothing, run.cores).wall_s < wanted:
            low = middle
        else:
            high = middle
    return low


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
