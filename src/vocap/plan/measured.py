"""The measured costs of a finished run, and the forecast beside them."""

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vocap.errors import VocapError
from vocap.files.tsv import read_tsv
from vocap.plan.forecast import STAGES, Cost, Forecast, total
from vocap.plan.jobs import Job
from vocap.plan.texts import MB

# Snakemake samples a job every half second, after 31 samples every 30 s (`ScheduledPeriodicTimer`): the time
# after the last sample is in no column but `s`.
SHORT_S, SHORT_SAMPLES, LONG_S = 0.5, 31, 30.0
SEEN_S = 1.0  # a shorter job ends before its memory has been seen
# Files of a job that its rule does not declare, beside its first output; "." is the whole folder.
UNDECLARED = {
    "ladder": "../models",
    "train": "../models/{size}.model",
    **dict.fromkeys(("tokenize", "studied_text", "pretrain", "studied_model", "finetune"), "."),
}
MISSING = ("NA", "-", "")


@dataclass(frozen=True)
class Measured:
    """One job: its cost, with memory 0 of a job too short to be seen, and its end in seconds since 1970."""

    cost: Cost
    end: float


def measure(jobs: Iterable[Job], logs: Path) -> dict[str, Measured]:
    """The jobs with a benchmark file, by name, of the run in the current folder that logged to `logs`.

    Raises VocapError, naming file and remedy, for a file that is no benchmark, and where there is none.
    """
    folder, found = logs / "benchmarks", {}
    for job in jobs:
        path = folder / f"{job.name}.tsv"
        if path.exists():
            # the files that the job leaves, declared or not
            beside = UNDECLARED.get(job.rule)
            paths = [] if beside == "." else list(map(Path, job.outputs))
            if beside:
                paths.append(Path(job.outputs[0]).parent / beside.format(**job.wildcards))
            found[job.name] = read_benchmark(path, job.threads, sum(map(disk_usage, paths)) / MB)
    if not found:
        raise VocapError(
            f"{folder}: no benchmark of this configuration's jobs; let it run first (snakemake --cores all), "
            "and give the same --configfile here"
        )
    return found


def read_benchmark(path: Path, threads: int, disk_mb: float) -> Measured:
    """The means of a benchmark's rows (one, unless the rule repeats it), and the largest memory."""
    walls, cpus, memories = [], [], [0.0]
    try:
        for row in read_tsv(path, ("s", "max_rss", "cpu_time")):
            wall_s = float(row["s"])
            cpu, memory = (None if row[name] in MISSING else float(row[name]) for name in ("cpu_time", "max_rss"))
            walls.append(wall_s)
            cpus.append(processor_seconds(wall_s, cpu, threads))
            memories.append(memory if memory is not None and wall_s >= SEEN_S else 0.0)
        cost = Cost(sum(walls) / len(walls), sum(cpus) / len(cpus), 0.0, max(memories), disk_mb)
    except (ValueError, ZeroDivisionError):
        raise VocapError(f"{path}: not the numbers of a benchmark; delete it, and run its job again") from None
    return Measured(cost, os.path.getmtime(path))


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


def span(measured: Mapping[str, Measured]) -> float:
    """Seconds from the first start to the last end, by the times of the benchmark files."""
    entries = measured.values()
    return max(entry.end for entry in entries) - min(entry.end - entry.cost.wall_s for entry in entries)


def compare(forecast: Forecast, logs: Path, clock_s: float, cores: int) -> dict[str, Any]:
    """The forecast beside the benchmark files of the run that logged to `logs`, as plain values.

    `rules`, `stages` and `total` have the costs of the jobs that were measured and `factor`, forecast over
    measured. `clock_s`: forecast time on `cores` cores. Raises VocapError as `measure`.
    """
    # the jobs that were measured, by rule and stage
    measured = measure(forecast.jobs, logs)
    rules, stages = defaultdict(list), defaultdict(list)
    for name, job in ((job.name, job) for job in forecast.jobs if job.name in measured):
        rules[job.rule].append(name)
        stages[job.stage].append(name)

    def row(names: Sequence[str]) -> dict[str, Any]:
        found = [measured[name].cost for name in names]
        pairs = zip(names, found, strict=True)  # the memory of a job that was not seen counts on neither side
        expected = [
            replace(forecast.costs[name], memory_mb=forecast.costs[name].memory_mb * bool(cost.memory_mb))
            for name, cost in pairs
        ]
        sums = {"forecast": asdict(total(expected)), "measured": asdict(total(found))}
        quantities = ("cpu_s", "wall_s", "memory_mb", "disk_mb")
        factors = {name: sums["forecast"][name] / (sums["measured"][name] or math.nan) for name in quantities}
        return {
            "jobs": len(names),
            **sums,
            "factor": {name: None if math.isnan(f) else f for name, f in factors.items()},
        }

    # rows, and the jobs and benchmarks that have no counterpart
    folder, known = logs / "benchmarks", {job.name for job in forecast.jobs}
    names = (path.relative_to(folder).as_posix().removesuffix(".tsv") for path in folder.rglob("*.tsv"))
    return {
        "rules": {rule: row(names) for rule, names in rules.items()},
        "stages": {stage: row(stages[stage]) for stage in STAGES if stage in stages},
        "total": row(list(measured)),
        "clock": {"cores": cores, "forecast_s": clock_s, "measured_s": span(measured)},
        "missing": sorted(known - measured.keys()),
        "foreign": sorted(name for name in names if name not in known),
    }
