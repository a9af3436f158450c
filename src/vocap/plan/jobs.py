"""The jobs of the workflow, from Snakemake's own dry run (`rules/dry_run.smk` writes them), and their schedule."""

import heapq
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from vocap.errors import VocapError

VARIABLE = "VOCAP_JOBS"  # names the file that the dry run writes, one line of JSON for each job
CORES = 1_000_000  # Snakemake limits a job's threads to the cores that it is given
SHOWN_LINES = 20  # of Snakemake's output, where the dry run fails


@dataclass(frozen=True)
class Job:
    """One job: `name` is the path of its benchmark file under the folder of benchmarks, without `.tsv`.

    `after`: names of the jobs whose outputs it reads; `outputs`: paths that it writes; `priority`: as in the rule,
    higher first; `local`: it runs beside Snakemake, on a cluster too. `vocap.plan.features` adds the rest:
    `features` multiply the coefficients of `costs.yaml` of the rule `priced_as`; `gpus` share it.
    """

    rule: str
    name: str
    features: Mapping[str, float] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    threads: int = 1
    priority: int = 0
    local: bool = False
    priced_as: str = ""
    gpus: int = 1
    wildcards: Mapping[str, str] = field(default_factory=dict)

    @property
    def stage(self) -> str:
        return self.name.partition("/")[0]


def read_jobs(configfiles: Sequence[Path]) -> list[Job]:
    """Every job of the workflow in the current folder, done or not, each after those that it waits for.

    `configfiles`: those of `--configfile`; none for the default configuration. Raises VocapError where the
    dry run fails, and ModuleNotFoundError without Snakemake.
    """
    if find_spec("snakemake") is None:
        raise ModuleNotFoundError("No module named 'snakemake'", name="snakemake")
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--forceall", "--cores", str(CORES)]
    command += ["--quiet", "all", "--profile", "none", "--workflow-profile", "none"]
    if configfiles:
        command += ["--configfile", *map(str, configfiles)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "jobs.jsonl")
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        run = subprocess.run(command, env={**os.environ, VARIABLE: str(path)}, check=False, **streams)
        if run.returncode or not path.exists():
            shown = "\n".join(run.stdout.strip().splitlines()[-SHOWN_LINES:])
            raise VocapError(f"Snakemake's dry run failed; correct its cause:\n{shown}")
        records = map(json.loads, path.read_text("utf-8").splitlines())
    return sort_jobs([_job(record) for record in records])


def _job(record: Mapping) -> Job:
    lists = {name: tuple(record[name]) for name in ("after", "outputs")}
    return Job(**{**record, **lists})


def sort_jobs(jobs: Sequence[Job]) -> list[Job]:
    """Jobs by the length of the longest chain of jobs before them, then by name."""
    known = {job.name: job for job in jobs}
    levels: dict[str, int] = {}

    def level(name: str) -> int:
        if name not in levels:
            levels[name] = 1 + max(map(level, known[name].after), default=-1)
        return levels[name]

    return sorted(jobs, key=lambda job: (level(job.name), job.name))


@dataclass(frozen=True)
class Schedule:
    """`wall_s`: from the first start to the last end; `memory_mb`: the peak of the jobs that run at the same time.

    `longest_chain_s`: of jobs that wait for each other, the least on any number of cores.
    """

    wall_s: float
    longest_chain_s: float
    memory_mb: float


def simulate(
    jobs: Sequence[Job],
    seconds: Mapping[str, float],
    memory_mb: Mapping[str, float],
    cores: int,
    places: int | None = None,
    submit_s: float = 0.0,
    gpus: int = 1,
) -> Schedule:
    """Start each job as soon as the jobs before it are done and cores are free: by priority, then in their order.

    `jobs` come after those that they wait for. A job takes as many cores as it has threads, at most all of them.
    With `places`, the number of jobs that a cluster runs at once, each job takes one place instead, and two
    submissions are at least `submit_s` apart; only local jobs take cores. Without, a job that trains on a GPU has
    one of `gpus` to itself.
    """
    # cores, places and GPUs that each job takes; who waits for whom; the jobs that are ready, by what they take
    needs = [
        (0, 1, 0) if places and not job.local else (min(job.threads, cores), 0, int(job.features.get("gpu", 0)))
        for job in jobs
    ]
    numbers = {job.name: number for number, job in enumerate(jobs)}
    waiting = [len(job.after) for job in jobs]
    followers, ready = defaultdict(list), defaultdict(list)
    for number, job in enumerate(jobs):
        for name in job.after:
            followers[numbers[name]].append(number)
        if not job.after:
            heapq.heappush(ready[needs[number]], (-job.priority, number))
    free = np.array([cores, places or 0, gpus])
    running: list[tuple[float, int]] = []  # (end, job)
    now = next_start = held = most = 0.0
    while True:
        # start what fits
        while fitting := [queue for need, queue in ready.items() if queue and (need <= free).all()]:
            _, number = heapq.heappop(min(fitting, key=lambda queue: queue[0]))
            start = max(now, next_start) if needs[number][1] else now
            if needs[number][1]:
                next_start = start + submit_s
            free -= needs[number]
            held += memory_mb[jobs[number].name]
            most = max(most, held)
            heapq.heappush(running, (start + seconds[jobs[number].name], number))
        if not running:
            return Schedule(now, longest_chain(jobs, seconds), most)
        # end the next one
        now, number = heapq.heappop(running)
        free += needs[number]
        held -= memory_mb[jobs[number].name]
        for follower in followers[number]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready[needs[follower]], (-jobs[follower].priority, follower))


def longest_chain(jobs: Sequence[Job], seconds: Mapping[str, float]) -> float:
    """Seconds of the longest chain of jobs that wait for each other."""
    ends: dict[str, float] = {}
    for job in jobs:
        ends[job.name] = seconds[job.name] + max((ends[name] for name in job.after), default=0.0)
    return max(ends.values(), default=0.0)
