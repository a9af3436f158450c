"""The whole forecast: every job's cost, sums by stage, and the time on so many cores or cluster places."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from vocap.config import Settings
from vocap.correlation.planning import plan_study
from vocap.correlation.sizes import holes, read_sizes
from vocap.finetuning.grid import make_grid
from vocap.plan.costs import Cost, Costs, cost_of, reach_of, total
from vocap.plan.jobs import Job, list_jobs
from vocap.plan.schedule import Schedule, simulate
from vocap.plan.studying import correlation_jobs
from vocap.plan.texts import Text, estimate_pretraining_texts, estimate_texts
from vocap.plan.training import made_models, pretraining_jobs
from vocap.plan.tuning import download_jobs, finetuning_jobs
from vocap.yaml_file import read_yaml

LOCAL_CORES = 2  # as in slurm/config.yaml
FAR = 3.0  # times the largest job of the fit: beyond, say so
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


@dataclass(frozen=True)
class Forecast:
    """Jobs with their costs (by name), and what they rest on."""

    jobs: Sequence[Job]
    costs: dict[str, Cost]
    texts: dict[str, Text]

    def stages(self) -> dict[str, tuple[int, Cost]]:
        """Number of jobs and cost of each stage that has jobs, in the workflow's order."""
        grouped = {stage: [self.costs[job.name] for job in self.jobs if job.stage == stage] for stage in STAGES}
        return {stage: (len(costs), total(costs)) for stage, costs in grouped.items() if costs}

    def total(self) -> Cost:
        return total(self.costs.values())


def beyond_fit(forecast: Forecast, costs: Costs) -> dict[str, float]:
    """The rules with jobs that lie far outside the runs of the fit: how many times its largest, by their own."""
    found: dict[str, float] = {}
    for job in forecast.jobs:
        for name, most in costs.rules[job.priced_as].seen.items():
            times = job.features.get(name, 0.0) / most if most else 0.0
            if times > FAR:
                found[job.rule] = max(found.get(job.rule, 0.0), times)
    return found


def gpus_of_profile(path: Path) -> dict[str, int]:
    """GPUs of a job of each rule that a SLURM profile gives some: those of all its nodes.

    Raises UsageError for what is no such file.
    """
    rules = read_yaml(path, "call from the project's root").get("set-resources", {})
    found = {}
    for rule, resources in rules.items():
        named = re.fullmatch(r"gpu(?::[^:]+)?:(\d+)", str(resources.get("gres", "")))
        count = int(resources.get("gpu", named[1] if named else 0))
        if count:
            found[rule] = count * int(resources.get("nodes", 1))
    return found


def make_forecast(
    settings: Settings,
    costs: Costs,
    results: Path | None = None,
    gpu: bool = False,
    assume: bool = True,
    gpus: Mapping[str, int] | None = None,
) -> Forecast:
    """The forecast of a configuration, every job counted, whether its outputs are there or not.

    With `assume`, what a user has to bring is taken as there, as in a dry run; without, left out, as in a run.

    With `results`, text is counted as an earlier run in that folder counted it, and the study goes without sizes
    that it found to be beyond a text; with `gpu`, models are trained on GPUs, on as many as `gpus` gives a rule.
    """
    texts = estimate_texts(settings, results)
    read = estimate_pretraining_texts(settings, texts)
    jobs = list_jobs(settings, texts, reach_of(texts, costs), assume)
    trainings = pretraining_jobs(settings, texts, read, gpu, assume)
    grid = make_grid(settings.finetuning, made_models(settings, assume), assume)
    study = plan_study(settings.correlation, settings.finetuning, texts, assume)
    downloads = download_jobs(settings, [plan.supply for plan in (grid, study) if plan.supply])
    tunings = finetuning_jobs(settings, grid, gpu)
    found = results / "correlation" / "sizes.tsv" if results else None
    absent = holes(read_sizes(found)) if found and found.exists() else {}
    studied = correlation_jobs(settings, texts, read, gpu, absent, study)
    jobs[-1:-1] = [*downloads, *trainings, *tunings, *studied]  # before the report
    jobs = [replace(job, gpus=(gpus or {}).get(job.rule, 1) if job.features.get("gpu") else 1) for job in jobs]
    return Forecast(jobs, {job.name: cost_of(job, costs) for job in jobs}, texts)


def local_schedule(forecast: Forecast, costs: Costs, cores: int) -> Schedule:
    """On one machine: Snakemake's start, then the jobs on `cores` cores, each with Snakemake's time around it."""
    return _schedule(forecast, costs, cores, None)


def cluster_schedule(forecast: Forecast, costs: Costs, places: int) -> Schedule:
    """On a cluster that runs `places` jobs at once and has them waiting no longer than an idle SLURM does.

    Light jobs run beside Snakemake, on the `local-cores` of `slurm/config.yaml`.
    """
    return _schedule(forecast, costs, LOCAL_CORES, places)


def submitted(forecast: Forecast) -> list[Job]:
    """The jobs that a cluster gets."""
    return [job for job in forecast.jobs if not job.local]


def _schedule(forecast: Forecast, costs: Costs, cores: int, places: int | None) -> Schedule:
    local, slurm = costs.overhead["local"], costs.overhead["slurm"]

    def around(job: Job) -> float:
        return local.job_s if places is None or job.local else slurm.job_s

    schedule = simulate(
        forecast.jobs,
        {job.name: forecast.costs[job.name].wall_s + around(job) for job in forecast.jobs},
        {name: cost.memory_mb for name, cost in forecast.costs.items()},
        cores,
        places,
        slurm.submit_s,
    )
    before = local.start_s + local.planning_s * len(forecast.jobs)
    return Schedule(schedule.wall_s + before, schedule.longest_chain_s + before, schedule.memory_mb)


def as_json(forecast: Forecast, costs: Costs, schedule: Schedule) -> dict:
    """The forecast as plain values: `stages`, `rules`, `total`, `schedule`, and the texts it rests on."""
    rules = list(dict.fromkeys(job.rule for job in forecast.jobs))

    def part(jobs: Sequence[Job]) -> dict:
        return {"jobs": len(jobs), **asdict(total(forecast.costs[job.name] for job in jobs))}

    return {
        "stages": {stage: {"jobs": count, **asdict(cost)} for stage, (count, cost) in forecast.stages().items()},
        "rules": {rule: part([job for job in forecast.jobs if job.rule == rule]) for rule in rules},
        "total": part(forecast.jobs),
        "schedule": asdict(schedule),
        "beyond_fit": beyond_fit(forecast, costs),
        "texts": {lang: asdict(text) for lang, text in forecast.texts.items()},
        "fitted_on": costs.fitted_on,
    }
