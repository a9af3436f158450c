"""The forecast and the comparison as tables to read, and as JSON."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from vocap.files.tsv import aligned
from vocap.plan.forecast import Cost, Costs, Forecast, beyond_fit
from vocap.plan.jobs import Schedule
from vocap.plan.measured import Comparison, Row, span

DAY_S, YEAR_S = 86_400, 365.25 * 86_400
BASES = {
    "earlier run": "counted by an earlier run (results/corpora)",
    "files": "from the sizes of your files, and the lines at the beginning of each",
    "starter table": "from the table of the starter corpus that ships with vocap",
    "guess": "guessed from the paper's sizes: nothing was downloaded",
}


def forecast_text(forecast: Forecast, costs: Costs, schedule: Schedule, cores: int, places: int | None) -> str:
    """The whole forecast, for a terminal: on `cores` of one machine, or on so many `places` of a cluster."""
    rows = [(stage, count, cost) for stage, (count, cost) in forecast.stages().items()]
    rows.append(("total", len(forecast.jobs), forecast.total()))
    gpu = any(cost.gpu_s for _, _, cost in rows)
    header = ["stage", "jobs", "CPU", *(["GPU"] if gpu else []), "largest job", "disk"]
    lines = aligned([header, *([name, f"{count:,}", *_cells(cost, gpu)] for name, count, cost in rows)], left=[0])
    lines.append("")
    if places is not None:
        lines += _on_cluster(forecast, costs, schedule, places)
    else:
        machine = f"On {cores} cores{' and one GPU' if gpu else ''}"
        lines += [
            f"{machine}: {duration(schedule.wall_s)}, {size(schedule.memory_mb)} of memory at most.",
            f"On any number of cores: {duration(schedule.longest_chain_s)}, the longest chain of jobs.",
        ]
    if gpu:
        largest = max(forecast.jobs, key=lambda job: job.features.get("gpu_memory_mb", 0.0))
        if memory_mb := largest.features.get("gpu_memory_mb", 0.0):  # of a pre-training: fine-tuning holds less
            lines.append(f"On a GPU at most {size(memory_mb)}, of {largest.name}.")
    counted = Counter(text.basis for text in forecast.texts.values())
    lines += [
        "",
        f"Text: {'; '.join(f'{count} languages {BASES[basis]}' for basis, count in counted.items())}.",
        f"Cost model: fitted on {len(costs.fitted_on)} runs; its errors: docs/cluster.md.",
    ]
    if far := beyond_fit(forecast, costs):
        rules = ", ".join(f"{rule} ({_times(times)})" for rule, times in far.items())
        lines.append(f"Much larger jobs than any that the model was fitted on, so rough: {rules}.")
    return "\n".join(lines)


def _on_cluster(forecast: Forecast, costs: Costs, schedule: Schedule, places: int) -> list[str]:
    """The time of SLURM and Snakemake, beside the jobs themselves."""
    local, slurm = costs.overhead["local"], costs.overhead["slurm"]
    jobs, count = len(forecast.jobs), sum(not job.local for job in forecast.jobs)
    times = [local.start_s + local.planning_s * jobs, slurm.submit_s * count, slurm.job_cpu_s * count]
    planning, submitting, starting = map(duration, times)
    return [
        f"With {places} jobs at once: {duration(schedule.wall_s)}, if none waits for a free node.",
        f"{count:,} submissions; the other {jobs - count:,} jobs run beside Snakemake, which takes {planning} to "
        f"plan all, {submitting} to submit, and {starting} of CPU on the nodes to start itself in each.",
    ]


def comparison_text(comparison: Comparison, clock_s: float, cores: int) -> str:
    """Forecast, measured and their ratio, by rule, by stage and in all."""
    header = ["", "jobs", "CPU", "measured", "factor", "largest job", "measured", "factor"]
    header += ["disk", "measured", "factor"]
    rows = [_compared(row) for row in comparison.rules]
    rows += [[""] * len(header)] + [_compared(row) for row in [*comparison.stages, comparison.whole]]
    measured_s = span(comparison.measured.values())
    lines = [
        *aligned([header, *rows], left=[0]),
        "",
        f"By the clock: forecast for {cores} cores {duration(clock_s)}, measured {duration(measured_s)} from the "
        f"first job's start to the last one's end (factor {clock_s / max(measured_s, 1e-9):.2f}; it means "
        "something only for one run without a break).",
        "Factor: forecast over measured. Forecasts use only information from before the run. Memory is that of "
        "jobs of a second and more; shorter ones end unseen.",
    ]
    if comparison.missing:
        lines.append(f"{len(comparison.missing)} jobs have no benchmark: {_some(comparison.missing)}.")
    if comparison.foreign:
        count = len(comparison.foreign)
        lines.append(f"{count} benchmarks are of no job of this configuration: {_some(comparison.foreign)}.")
    return "\n".join(lines)


def comparison_json(comparison: Comparison, clock_s: float, cores: int) -> dict:
    """The same, as plain values."""

    def plain(row: Row) -> dict:
        factors = {name: row.factor(name) for name in ("cpu_s", "wall_s", "memory_mb", "disk_mb")}
        costs = {"forecast": asdict(row.forecast), "measured": asdict(row.measured)}
        return {"jobs": row.jobs, **costs, "factor": factors}

    return {
        "rules": {row.name: plain(row) for row in comparison.rules},
        "stages": {row.name: plain(row) for row in comparison.stages},
        "total": plain(comparison.whole),
        "clock": {"cores": cores, "forecast_s": clock_s, "measured_s": span(comparison.measured.values())},
        "missing": comparison.missing,
        "foreign": comparison.foreign,
    }


def _compared(row: Row) -> list[str]:
    cells = [row.name, f"{row.jobs:,}"]
    for quantity, shown in (("cpu_s", duration), ("memory_mb", size), ("disk_mb", size)):
        factor = row.factor(quantity)
        measured = getattr(row.measured, quantity)
        cells += [shown(getattr(row.forecast, quantity)), shown(measured), f"{factor:.2f}" if factor else "-"]
    return cells


def _cells(cost: Cost, gpu: bool) -> list[str]:
    times = [cost.cpu_s, cost.gpu_s] if gpu else [cost.cpu_s]
    return [*map(duration, times), size(cost.memory_mb), size(cost.disk_mb)]


def _times(factor: float) -> str:
    """The factor as text; beyond a thousand the figure is meaningless.

    >>> _times(12.3), _times(4e7)
    ('12 times', 'over 1,000 times')
    """
    return f"{factor:.0f} times" if factor < 1000 else "over 1,000 times"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def duration(seconds: float) -> str:
    """Seconds to years, two or three digits.

    >>> duration(0.31), duration(42), duration(600), duration(36000)
    ('0.3 s', '42 s', '10.0 min', '10.0 h')
    >>> duration(30 * 86400), duration(2.2e10)
    ('30 days', '697 years')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    if seconds < 5 * DAY_S:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / DAY_S:.0f} days" if seconds < 2 * YEAR_S else f"{seconds / YEAR_S:,.0f} years"


def size(megabytes: float) -> str:
    """Megabytes or gigabytes.

    >>> size(0.25), size(312), size(45678)
    ('0.2 MB', '312 MB', '45.7 GB')
    """
    if megabytes < 10:
        return f"{megabytes:.1f} MB"
    return f"{megabytes:.0f} MB" if megabytes < 10_000 else f"{megabytes / 1000:,.1f} GB"
