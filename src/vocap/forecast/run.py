"""The forecast of a run from its configuration."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from pandas import DataFrame

from vocap.config import Settings, load, read_files
from vocap.finetuning.settings import make_grid
from vocap.forecast.jobs import PlannedJob, Workload, read_jobs
from vocap.forecast.needs import needs_of
from vocap.forecast.texts import (
    LanguageText,
    check_totals,
    estimate_pretraining_texts,
    estimate_texts,
    reach_of,
    warn_of_lines,
    warn_of_totals,
)
from vocap.result import Result
from vocap.workflow.run_plan import plan_run

SOURCES, DEFAULT = Path("config/sources.yaml"), Path("config/config.yaml")  # as in the Snakefile
GPU_TFLOPS = 495.0  # half of what NVIDIA states for an H100 in 16 bits
CORE_TFLOPS = 0.1  # of one core, measured on small models
TERA = 1e12
DAY_S = 86_400  # of training on one core: beyond it GPUs are assumed


@dataclass(frozen=True, repr=False)
class RunForecast(Result):
    """The forecast of one run.

    `costs` : a row a job, by its name, in the order of stages and names; columns `rule`,
        `stage`, `cpu_s`, `gpu_s`, `memory_mb`, `disk_mb`, `fetched_mb` and
        `gpu_memory_mb`
    `texts` : the text of each language
    `warnings` : of lines of uneven length, where an allocation counts lines, and of a T
        that the text does not reach
    `operations` : floating-point ones of all trainings
    `gpu` : whether models are trained on GPUs; `tflops`: 10^12 operations of one in a second
    """

    settings: Settings
    jobs: Sequence[PlannedJob]
    costs: DataFrame
    texts: Mapping[str, LanguageText]
    warnings: Sequence[str]
    operations: float
    gpu: bool
    tflops: float

    @property
    def largest_training(self) -> tuple[float, str]:
        """Megabytes on a GPU, and the job, of the training that takes most; 0 and "" on
        a CPU.
        """
        held = self.costs["gpu_memory_mb"]
        return (float(held.max()), held.idxmax()) if self.gpu and held.any() else (0.0, "")

    def as_plain(self) -> dict[str, Any]:
        """Plain values: costs by stage, by rule and in all, and the texts below them."""
        return {
            "stages": sum_costs(self.costs, "stage"),
            "rules": sum_costs(self.costs, "rule"),
            "total": sum_costs(self.costs.assign(all="total"), "all")["total"],
            "largest_training": self.largest_training,
            "gpu": self.gpu,
            "tflops": self.tflops,
            "texts": {lang: asdict(text) for lang, text in self.texts.items()},
        }


def sum_costs(costs: DataFrame, by: str) -> dict[str, Any]:
    """Number of jobs, summed times, bytes on disk and fetched, and the largest memory, of
    the jobs with one value in the column `by`, in the order of the table.
    """
    columns = dict.fromkeys(("jobs", "cpu_s", "gpu_s", "memory_mb", "disk_mb", "fetched_mb"), "sum")
    groups = costs.assign(jobs=1).groupby(by, sort=False)
    return groups.agg(columns | {"memory_mb": "max"}).to_dict("index")


def forecast_run(
    configuration: Mapping[str, Any] | Sequence[str | Path] = (),
    *,
    gpu: bool | None = None,
    tflops: float = GPU_TFLOPS,
) -> RunForecast:
    """Forecast jobs, processor and GPU time, memory and disk of a run, before anything
    runs. Call it in the project's root. It makes Snakemake's dry run.

    Parameters
    ----------
    configuration : configuration files, later ones over earlier ones, or the content of
        one; none for config/config.yaml
    gpu : whether models are trained on GPUs; None: where one core would train them for
        more than a day
    tflops : 10^12 floating-point operations that a GPU computes in a second of training

    Raises
    ------
    UsageError : for a configuration that cannot be used
    VocapError : where files of a language's text are missing, T is too small for the
        characters of the text, or the dry run fails
    """
    with TemporaryDirectory() as folder:
        if isinstance(configuration, Mapping):
            configfiles = [Path(folder, "configuration.yaml")]
            configfiles[0].write_text(yaml.safe_dump(dict(configuration)), "utf-8")
        else:
            configfiles = [Path(path) for path in configuration]
        files = [SOURCES, *(configfiles or [DEFAULT])]
        settings = load(read_files(files), files)
        plan_run(settings, first=False)  # files of text that are missing
        texts = estimate_texts(settings)
        check_totals(settings, texts)
        warnings = warn_of_lines(settings, texts)
        jobs = read_jobs(configfiles)
    load_of = workload(settings)
    operations = [load_of.operations(job) for job in jobs]
    if gpu is None:
        gpu = sum(operations) > DAY_S * CORE_TFLOPS * TERA
    costs = _costs(load_of, jobs, operations, tflops if gpu else None)
    return RunForecast(
        settings=settings,
        jobs=jobs,
        costs=costs,
        texts=load_of.texts,
        warnings=[*warnings, *warn_of_totals(settings, reach_of(load_of.texts))],
        operations=sum(operations),
        gpu=gpu,
        tflops=tflops,
    )


def workload(settings: Settings) -> Workload:
    """What the jobs of a run read: counted by an earlier run, where there is one, else
    estimated.
    """
    texts = estimate_texts(settings, Path(settings.results))
    sizes = settings.vocabularies.sizes
    return Workload(
        settings=settings,
        texts=texts,
        read=estimate_pretraining_texts(settings, texts),
        reached={
            lang: [size for size in sizes if size <= reach]
            for lang, reach in reach_of(texts).items()
        },
        grid=make_grid(settings.finetuning, settings.pretraining.masked, assume=True),
    )


def disk_mb(settings: Settings, jobs: Iterable[PlannedJob]) -> float:
    """Millions of bytes that these jobs leave on the disk."""
    load_of = workload(settings)
    return sum(needs_of(job.rule).disk_mb.of(partial(load_of.amount, job)) for job in jobs)


def _costs(
    load_of: Workload,
    jobs: Sequence[PlannedJob],
    operations: Sequence[float],
    tflops: float | None,
) -> DataFrame:
    """A row a job, by its name. `operations`: of its training; `tflops`: of a GPU, None
    on a CPU.
    """
    rows = []
    for job, training in zip(jobs, operations, strict=True):
        needs, amount = needs_of(job.rule), partial(load_of.amount, job)
        seconds = training / TERA / (tflops or CORE_TFLOPS)
        rows.append(
            {
                "rule": job.rule,
                "stage": job.stage,
                "cpu_s": needs.seconds.of(amount) + (0.0 if tflops else seconds),
                "gpu_s": seconds if tflops else 0.0,
                "memory_mb": needs.memory(load_of.settings.memory, amount),
                "disk_mb": needs.disk_mb.of(amount),
                "fetched_mb": load_of.fetched_mb(job),
                "gpu_memory_mb": load_of.gpu_memory_mb(job),
            }
        )
    return DataFrame(rows, index=[job.name for job in jobs])
