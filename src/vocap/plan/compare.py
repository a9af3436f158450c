"""The forecast against what a finished run took."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vocap.errors import VocapError
from vocap.plan.costs import Cost, total
from vocap.plan.forecast import STAGES, Forecast
from vocap.plan.jobs import Job
from vocap.plan.measured import Measured, measure


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


def compare(forecast: Forecast, results: Path, logs: Path) -> Comparison:
    """Hold the forecast against the benchmark files of the run that wrote to `results` and logged to `logs`.

    Only jobs with a benchmark count on either side. Raises VocapError where none has one.
    """
    measured = measure(forecast.jobs, results, logs)
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
