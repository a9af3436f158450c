"""The forecast of a run from its configuration, and the cost that a finished run
measured beside it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from pandas import DataFrame

from vocap.config import Settings, load, read_files
from vocap.errors import VocapError
from vocap.files.io import read_tsv
from vocap.finetuning.settings import make_grid
from vocap.forecast.costs import PARTS, cost_of, reach_of, read_costs, sum_costs
from vocap.forecast.jobs import FeatureInputs, PlannedJob, read_jobs, with_features
from vocap.forecast.texts import (
    LanguageText,
    check_files,
    check_totals,
    estimate_pretraining_texts,
    estimate_texts,
    warn_of_lines,
    warn_of_totals,
)

SOURCES, DEFAULT = Path("config/sources.yaml"), Path("config/config.yaml")  # as in the Snakefile

# Snakemake samples a job every half second, after 31 samples every 30 s
# (`ScheduledPeriodicTimer`): the time after the last sample is in no column but `s`.
SHORT_S, SHORT_SAMPLES, LONG_S = 0.5, 31, 30.0
SEEN_S = 1.0  # a shorter job ends before its memory has been seen
MISSING = ("NA", "-", "")


@dataclass(frozen=True, repr=False)
class RunForecast:
    """The forecast of one run.

    `jobs` : with their features, by stage and name
    `costs` : a row a job, by its name; columns `rule`, `stage` and `PARTS`
    `texts` : the text of each language, that features are computed from
    `warnings` : of lines of uneven length, where an allocation counts lines, and of a T
        that the text does not reach
    `spread` : measured over forecast processor time, `low` and `high`, of other runs
    `fitted_on` : the runs that the coefficients were fitted on, in words
    """

    settings: Settings
    jobs: Sequence[PlannedJob]
    costs: DataFrame
    texts: Mapping[str, LanguageText]
    warnings: Sequence[str]
    spread: Mapping[str, float]
    fitted_on: Sequence[str]

    @property
    def largest_training(self) -> tuple[float, str]:
        """Megabytes on a GPU, and the job, of the training that takes most; 0 and "" on
        a CPU.
        """
        return max(
            ((job.features.get("gpu_memory_mb", 0.0), job.name) for job in self.jobs),
            default=(0.0, ""),
        )

    def as_plain(self) -> dict[str, Any]:
        """Plain values: costs by stage, by rule and in all, and the texts below them."""
        return {
            **_groups(self.costs),
            "largest_training": self.largest_training,
            "spread": self.spread,
            "texts": {lang: asdict(text) for lang, text in self.texts.items()},
            "fitted_on": self.fitted_on,
        }


def _groups(costs: DataFrame) -> dict[str, Any]:
    """The costs of each stage, of each rule, and of all jobs."""
    return {
        "stages": sum_costs(costs, "stage"),
        "rules": sum_costs(costs, "rule"),
        "total": sum_costs(costs.assign(all="total"), "all")["total"],
    }


def forecast_run(
    configuration: Mapping[str, Any] | Sequence[str | Path] = (),
    *,
    gpu: bool = False,
    costs: str | Path | None = None,
    from_results: bool = True,
) -> RunForecast:
    """Forecast jobs, processor and GPU time, memory and disk of a run, before anything
    runs. Call it in the project's root. It makes Snakemake's dry run.

    Parameters
    ----------
    configuration : configuration files, later ones over earlier ones, or the content of
        one; none for config/config.yaml
    gpu : whether models are trained on GPUs
    costs : file of coefficients; those of the package unless given
    from_results : whether text is counted as an earlier run in the folder of the
        results counted it

    Raises
    ------
    UsageError : for a configuration that cannot be used, and a rule without features or
        coefficients
    VocapError : where files of a language's text are missing, T is too small for the
        characters of the text, or the dry run fails
    """
    coefficients = read_costs(costs)
    with TemporaryDirectory() as folder:
        if isinstance(configuration, Mapping):
            configfiles = [Path(folder, "configuration.yaml")]
            configfiles[0].write_text(yaml.safe_dump(dict(configuration)), "utf-8")
        else:
            configfiles = [Path(path) for path in configuration]
        files = [SOURCES, *(configfiles or [DEFAULT])]
        settings = load(read_files(files), files)
        check_files(settings)
        texts = estimate_texts(settings)
        check_totals(settings, texts)
        warnings = warn_of_lines(settings, texts)
        jobs = read_jobs(configfiles)
    if from_results:
        texts = estimate_texts(settings, Path(settings.results))
    reach = reach_of(texts, coefficients)
    jobs = add_features(settings, jobs, texts, reach, gpu)
    return RunForecast(
        settings=settings,
        jobs=jobs,
        costs=_table(jobs, [cost_of(job, coefficients) for job in jobs]),
        texts=texts,
        warnings=[*warnings, *warn_of_totals(settings, reach)],
        spread=coefficients["spread"],
        fitted_on=coefficients["fitted_on"],
    )


def disk_mb(settings: Settings, jobs: Iterable[PlannedJob]) -> float:
    """Megabytes that some jobs of a run write. Raises UsageError for a rule without
    features or coefficients.
    """
    costs = read_costs(None)
    texts = estimate_texts(settings, Path(settings.results))
    jobs = add_features(settings, list(jobs), texts, reach_of(texts, costs), gpu=False)
    return sum(cost_of(job, costs)["disk_mb"] for job in jobs)


def add_features(
    settings: Settings,
    jobs: Sequence[PlannedJob],
    texts: Mapping[str, LanguageText],
    reach: Mapping[str, float],
    gpu: bool,
) -> list[PlannedJob]:
    """The jobs with the features that decide their costs; `reach`: the largest
    vocabulary of each language. Raises UsageError for a rule without features.
    """
    sizes = settings.vocabularies.sizes
    inputs = FeatureInputs(
        settings=settings,
        texts=texts,
        read=estimate_pretraining_texts(settings, texts),
        reached={lang: [size for size in sizes if size <= reach[lang]] for lang in texts},
        grid=make_grid(settings.finetuning, settings.pretraining.masked, assume=True),
        gpu=gpu,
    )
    return [with_features(job, inputs) for job in jobs]


def _table(jobs: Sequence[PlannedJob], costs: Sequence[Mapping[str, float]]) -> DataFrame:
    """A row a job, by its name: its rule, its stage and its cost."""
    table = DataFrame(costs, index=[job.name for job in jobs])
    return table.assign(rule=[job.rule for job in jobs], stage=[job.stage for job in jobs])


def read_benchmarks(jobs: Iterable[PlannedJob], logs: Path) -> DataFrame:
    """Measured costs of the jobs with a benchmark file, of the run in the current
    folder that logged to `logs`: a table as `RunForecast.costs`, with memory 0 of a job
    too short to be seen.

    Raises VocapError, naming file and remedy, for a file that is no benchmark, and
    where there is none.
    """
    folder = logs / "benchmarks"
    found = [job for job in jobs if (folder / f"{job.name}.tsv").exists()]
    if not found:
        raise VocapError(
            f"{folder}: no benchmark of this configuration's jobs; let it run first (snakemake "
            "--cores all), and give the same --configfile here"
        )
    costs = [_read_benchmark(folder / f"{job.name}.tsv", job.threads) for job in found]
    return _table(found, costs)


def _read_benchmark(path: Path, threads: int) -> dict[str, float]:
    """The processor time and memory of one job; a benchmark knows no others."""
    try:
        row = next(read_tsv(path, ("s", "max_rss", "cpu_time")))
        wall_s = float(row["s"])
        cpu_s = None if row["cpu_time"] in MISSING else float(row["cpu_time"])
        memory_mb = 0.0 if row["max_rss"] in MISSING else float(row["max_rss"])
    except (ValueError, StopIteration):
        raise VocapError(
            f"{path}: not the numbers of a benchmark; delete it, and run its job again"
        ) from None
    return {
        "cpu_s": processor_seconds(wall_s, cpu_s, threads),
        "gpu_s": 0.0,
        "memory_mb": memory_mb if wall_s >= SEEN_S else 0.0,
        "disk_mb": 0.0,
    }


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


def compare_costs(forecast: RunForecast) -> dict[str, Any]:
    """The forecast beside the benchmark files of the finished run in the current
    folder, as plain values.

    `rules`, `stages` and `total` have the costs of the jobs that were measured and
    `factor`, forecast over measured; `missing` and `foreign`: jobs without a benchmark,
    and benchmarks of no job. Raises VocapError as `read_benchmarks`.
    """
    folder = Path(forecast.settings.logs, "benchmarks")
    measured = read_benchmarks(forecast.jobs, folder.parent)
    expected = forecast.costs.loc[measured.index]
    # the memory of a job that was not seen counts on neither side
    expected = expected.assign(
        memory_mb=expected["memory_mb"].where(measured["memory_mb"] > 0, 0.0)
    )
    ours, theirs = _groups(expected), _groups(measured)
    known = set(forecast.costs.index)
    names = {
        path.relative_to(folder).as_posix().removesuffix(".tsv") for path in folder.rglob("*.tsv")
    }
    groups = {
        group: {name: _beside(ours[group][name], row) for name, row in theirs[group].items()}
        for group in ("stages", "rules")
    }
    return {
        **groups,
        "total": _beside(ours["total"], theirs["total"]),
        "missing": sorted(known.difference(measured.index)),
        "foreign": sorted(names - known),
    }


def _beside(forecast: Mapping[str, float], measured: Mapping[str, float]) -> dict[str, Any]:
    factors = {part: forecast[part] / measured[part] if measured[part] else None for part in PARTS}
    return {
        "jobs": measured["jobs"],
        "forecast": forecast,
        "measured": measured,
        "factor": factors,
    }
