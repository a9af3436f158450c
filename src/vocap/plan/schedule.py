"""When the jobs of a plan would run: a simulation of Snakemake's scheduler."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vocap.plan.jobs import Job


@dataclass(frozen=True)
class Schedule:
    """`wall_s`: from the first start to the last end; `memory_mb`: the most that jobs running at once hold.

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
    """Start each job as soon as what it waits for is done and cores are free: higher priority, then first listed.

    `jobs` are listed after those that they wait for. A job takes its threads of the cores, at most all of them.
    With `places`, a cluster that runs so many jobs at once, each takes one of them, whatever its threads, and two
    submissions lie at least `submit_s` apart; only local jobs take cores. Without, a job that trains on a GPU has
    one of `gpus` to itself.
    """

    def need(job: Job) -> tuple[int, int, int]:
        """Cores, places, GPUs."""
        submitted = places is not None and not job.local
        return (0, 1, 0) if submitted else (min(job.threads, cores), 0, bool(job.features.get("gpu")))

    place = {job.name: index for index, job in enumerate(jobs)}
    waiting = [len(job.after) for job in jobs]
    followers: list[list[int]] = [[] for _ in jobs]
    for index, job in enumerate(jobs):
        for name in job.after:
            followers[place[name]].append(index)
    ready = [(-job.priority, index) for index, job in enumerate(jobs) if not job.after]
    heapq.heapify(ready)
    running: list[tuple[float, int]] = []  # (end, job)
    now = next_start = held = most = 0.0
    free_cores, free_places, free_gpus = cores, places or 0, gpus
    without_gpu: list[tuple[int, int]] = []  # ready, but for that
    while ready or running:
        deferred = []
        while ready and (free_cores or free_places):
            entry = heapq.heappop(ready)
            job = jobs[entry[1]]
            cores_taken, places_taken, gpus_taken = need(job)
            if gpus_taken > free_gpus:
                heapq.heappush(without_gpu, entry)
                continue
            if cores_taken > free_cores or places_taken > free_places:
                deferred.append(entry)
                continue
            start = now
            if places_taken:
                start = max(now, next_start)
                next_start = start + submit_s
            free_cores -= cores_taken
            free_places -= places_taken
            free_gpus -= gpus_taken
            held += memory_mb[job.name]
            most = max(most, held)
            heapq.heappush(running, (start + seconds[job.name], entry[1]))
        for entry in deferred:
            heapq.heappush(ready, entry)
        now, index = heapq.heappop(running)
        cores_taken, places_taken, gpus_taken = need(jobs[index])
        free_cores += cores_taken
        free_places += places_taken
        free_gpus += gpus_taken
        if gpus_taken and without_gpu:
            heapq.heappush(ready, heapq.heappop(without_gpu))
        held -= memory_mb[jobs[index].name]
        for follower in followers[index]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, (-jobs[follower].priority, follower))
    return Schedule(now, longest_chain(jobs, seconds), most)


def longest_chain(jobs: Sequence[Job], seconds: Mapping[str, float]) -> float:
    """Seconds of the longest chain of jobs that wait for each other."""
    ends: dict[str, float] = {}
    for job in jobs:
        ends[job.name] = seconds[job.name] + max((ends[name] for name in job.after), default=0.0)
    return max(ends.values(), default=0.0)
