"""The forecast and the comparison as tables to read."""

from collections import Counter
from typing import Any

from vocap.files.tsv import aligned
from vocap.plan.forecast import Cost, Costs, Forecast, Spread, beyond_fit, total
from vocap.plan.jobs import Schedule
from vocap.wording import duration, listed

BASES = {
    "earlier run": "counted by an earlier run (results/corpora)",
    "files": "from the sizes of your files, and the lines at the beginning of each",
    "starter table": "from the table of the starter corpus that ships with vocap",
    "guess": "guessed from the paper's sizes: nothing was downloaded",
}


def forecast_text(forecast: Forecast, costs: Costs, schedule: Schedule, cores: int, places: int | None) -> str:
    """The whole forecast, for a terminal: on `cores` of one machine, or on so many `places` of a cluster."""
    # the table of stages
    rows = [(stage, count, cost) for stage, (count, cost) in forecast.stages().items()]
    rows.append(("total", len(forecast.jobs), total(forecast.costs.values())))
    gpu = any(cost.gpu_s for _, _, cost in rows)
    header = ["stage", "jobs", "CPU", *(["GPU"] if gpu else []), "largest job", "disk"]
    lines = aligned([header, *([name, f"{count:,}", *_cells(cost, gpu)] for name, count, cost in rows)], left=[0])
    # time by the clock
    clock, chain = (
        duration_range(seconds, costs.spread) for seconds in (schedule.wall_s, schedule.longest_chain_s)
    )
    lines.append("")
    if places is not None:
        lines += [
            f"With {places} jobs at once: {clock}, if none waits for a free node.",
            _on_cluster(forecast, costs),
        ]
    else:
        machine = f"On {cores} cores{' and one GPU' if gpu else ''}"
        lines += [
            f"{machine}: {clock}, {size(schedule.memory_mb)} of memory at most.",
            f"On any number of cores: {chain}, the longest chain of jobs.",
        ]
    if gpu:
        largest = max(forecast.jobs, key=lambda job: job.features.get("gpu_memory_mb", 0.0))
        if memory_mb := largest.features.get("gpu_memory_mb", 0.0):  # of a pre-training: fine-tuning holds less
            lines.append(f"On a GPU at most {size(memory_mb)}, of {largest.name}.")
    # what it rests on
    counted = Counter(text.basis for text in forecast.texts.values())
    lines += [
        "",
        f"Text: {'; '.join(f'{count} languages {BASES[basis]}' for basis, count in counted.items())}.",
        f"Cost model: fitted on {len(costs.fitted_on)} runs; its errors: docs/cluster.md.",
    ]
    if far := beyond_fit(forecast, costs):
        rules = ", ".join(
            f"{rule} ({f'{times:.0f}' if times < 1000 else 'over 1,000'} times)" for rule, times in far.items()
        )
        lines.append(f"Much larger jobs than any that the model was fitted on, so rough: {rules}.")
    return "\n".join(lines)


def _on_cluster(forecast: Forecast, costs: Costs) -> str:
    """The time of SLURM and Snakemake, beside the jobs themselves."""
    local, slurm = costs.overhead["local"], costs.overhead["slurm"]
    jobs, count = len(forecast.jobs), sum(not job.local for job in forecast.jobs)
    times = [local.start_s + local.planning_s * jobs, slurm.submit_s * count, slurm.job_cpu_s * count]
    planning, submitting, starting = map(duration, times)
    return (
        f"{count:,} submissions; the other {jobs - count:,} jobs run beside Snakemake, which takes {planning} to "
        f"plan all, {submitting} to submit, and {starting} of CPU on the nodes to start itself in each."
    )


def comparison_text(comparison: dict[str, Any]) -> str:
    """Forecast, measured and their ratio, by rule, by stage and in all, from `measured.compare`."""
    header = ["", "jobs", "CPU", "measured", "factor", "largest job", "measured", "factor"]
    header += ["disk", "measured", "factor"]
    rows = [_compared(name, row) for name, row in comparison["rules"].items()] + [[""] * len(header)]
    rows += [_compared(name, row) for name, row in comparison["stages"].items()]
    rows.append(_compared("total", comparison["total"]))
    clock = comparison["clock"]
    forecast_s, measured_s = clock["forecast_s"], max(clock["measured_s"], 1e-9)
    lines = [
        *aligned([header, *rows], left=[0]),
        "",
        f"By the clock: forecast for {clock['cores']} cores {duration(forecast_s)}, measured "
        f"{duration(measured_s)} from the first job's start to the last one's end (factor "
        f"{forecast_s / measured_s:.2f}; it means something only for one run without a break).",
        "Factor: forecast over measured. Forecasts use only information from before the run. Memory is that of "
        "jobs of a second and more; shorter ones end unseen.",
    ]
    if names := comparison["missing"]:
        lines.append(f"{len(names)} jobs have no benchmark: {listed(names, 3)}.")
    if names := comparison["foreign"]:
        lines.append(f"{len(names)} benchmarks are of no job of this configuration: {listed(names, 3)}.")
    return "\n".join(lines)


def _compared(name: str, row: dict[str, Any]) -> list[str]:
    cells = [name, f"{row['jobs']:,}"]
    for quantity, shown in (("cpu_s", duration), ("memory_mb", size), ("disk_mb", size)):
        factor = row["factor"][quantity]
        cells += [shown(row[side][quantity]) for side in ("forecast", "measured")]
        cells.append(f"{factor:.2f}" if factor else "-")
    return cells


def _cells(cost: Cost, gpu: bool) -> list[str]:
    times = [cost.cpu_s, cost.gpu_s] if gpu else [cost.cpu_s]
    return [*map(duration, times), size(cost.memory_mb), size(cost.disk_mb)]


def duration_range(seconds: float, spread: Spread) -> str:
    """The least and the most that a time may be.

    >>> duration_range(1000, Spread(low=0.75, high=1.5)), duration_range(100, Spread(low=0.5, high=2))
    ('12.5 to 25.0 min', '50 s to 3.3 min')
    """
    low, high = duration(spread.low * seconds), duration(spread.high * seconds)
    number, unit = low.rsplit(" ", 1)
    return f"{number if high.endswith(f' {unit}') else low} to {high}"


def size(megabytes: float) -> str:
    """Megabytes or gigabytes.

    >>> size(0.25), size(312), size(45678)
    ('0.2 MB', '312 MB', '45.7 GB')
    """
    if megabytes < 10:
        return f"{megabytes:.1f} MB"
    return f"{megabytes:.0f} MB" if megabytes < 10_000 else f"{megabytes / 1000:,.1f} GB"
