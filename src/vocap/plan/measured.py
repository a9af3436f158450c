"""What the jobs of a finished run took: Snakemake's benchmark files, and the sizes of what they made."""

import math
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from vocap.errors import VocapError
from vocap.plan.jobs import Job
from vocap.plan.texts import MB
from vocap.tsv import read_tsv

# Snakemake samples a job every half second, after 31 samples every 30 s (`ScheduledPeriodicTimer`): what happens
# after the last sample is in no column but `s`.
SHORT_S, SHORT_SAMPLES, LONG_S = 0.5, 31, 30.0
SEEN_S = 1.0  # a shorter job ends before its memory has been seen
MISSING = ("NA", "-", "")


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


def measure(jobs: Iterable[Job], results: Path, logs: Path) -> dict[str, Measured]:
    """The jobs with a benchmark file, by name, of the run that wrote to `results` and logged to `logs`.

    Raises VocapError, naming file and remedy, for a file that is no benchmark.
    """
    found = {}
    for job in jobs:
        path = logs / "benchmarks" / f"{job.name}.tsv"
        if path.exists():
            disk_mb = sum(disk_usage(results / output) for output in job.outputs) / MB
            found[job.name] = read_benchmark(path, job.threads, disk_mb)
    return found


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

    After that sample it is taken to have gone on as before; a job too short to be sampled, to have been busy.

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
    """Bytes that a file, or all files of a folder, take on the disk; 0 for what is not there."""
    if path.is_dir():
        return sum(disk_usage(entry) for entry in path.iterdir() if not entry.is_symlink())
    return path.stat().st_blocks * 512 if path.exists() else 0


def span(measured: Iterable[Measured]) -> float:
    """Seconds from the first start to the last end, by the times of the benchmark files."""
    measured = list(measured)
    return max(entry.end for entry in measured) - min(entry.end - entry.wall_s for entry in measured)


def busy_share(jobs: Iterable[Job], measured: Mapping[str, Measured]) -> float:
    """Which part of their time the jobs of one thread computed: near 1 on a machine that did nothing else.

    Jobs too short to be sampled, and those that fetch, say nothing about it; 1 where there are no others.
    """
    told = [
        measured[job.name]
        for job in jobs
        if job.name in measured and job.threads == 1 and job.rule not in ("fetch_starter", "download")
    ]
    told = [entry for entry in told if entry.wall_s >= 2 * SEEN_S]
    wall_s = math.fsum(entry.wall_s for entry in told)
    return math.fsum(entry.cpu_s for entry in told) / wall_s if wall_s else 1.0


def processor_name() -> str:
    """What the processor of this machine calls itself, or its architecture."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.machine()
