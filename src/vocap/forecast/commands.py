"""`vocap plan`."""

import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import click

from vocap.config import load, read_files
from vocap.errors import duration, listed
from vocap.files.io import aligned, read_yaml
from vocap.forecast import costs as forecast
from vocap.forecast.jobs import read_jobs
from vocap.forecast.texts import check_files, check_totals, estimate_texts, warn_of_lines

SOURCES, DEFAULT = Path("config/sources.yaml"), Path("config/config.yaml")  # as in the Snakefile
PROFILE = "slurm/config.yaml"
BASES = {
    "earlier run": "counted by an earlier run (results/corpora)",
    "files": "from the sizes of your files, and the lines at the beginning of each",
    "starter table": "from the table of the starter corpus that ships with vocap",
    "guess": "guessed from the paper's sizes: nothing was downloaded",
}


@click.command()
@click.option(
    "--configfile",
    "configfiles",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Configuration; of several, the later over the earlier.  [default: config/config.yaml]",
)
@click.option(
    "--cores",
    type=click.IntRange(min=1),
    help="Of the machine that runs it.  [default: this machine's]",
)
@click.option(
    "--profile", type=click.Choice(["slurm"]), help="Forecast a run through SLURM instead."
)
@click.option(
    "--jobs", "places", type=click.IntRange(min=1), default=100, help="At once, on SLURM."
)
@click.option(
    "--gpu/--no-gpu",
    default=None,
    help="Train models on a GPU.  [default: on SLURM, and where this machine has one]",
)
@click.option(
    "--compare", is_flag=True, help="Compare the forecast with the finished run in this folder."
)
@click.option(
    "--costs",
    "costs_file",
    type=click.Path(path_type=Path),
    help="Coefficients other than the package's.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(
    configfiles: tuple[Path, ...],
    cores: int | None,
    profile: str | None,
    places: int,
    gpu: bool | None,
    compare: bool,
    costs_file: Path | None,
    as_json: bool,
) -> None:
    """Forecast the jobs, time, memory and disk of a configuration, before anything runs.

    Call it in the project's root. Numbers come from the cost model of docs/cluster.md.
    """
    if compare and profile:
        raise click.UsageError("--compare and --profile exclude each other")
    cores = cores or len(os.sched_getaffinity(0))
    gpu = gpu if gpu is not None else profile is not None or shutil.which("nvidia-smi") is not None
    costs = forecast.read_costs(costs_file)
    files = [SOURCES, *(configfiles or [DEFAULT])]
    settings = load(read_files(files), files)
    check_files(settings)
    texts = estimate_texts(settings)
    check_totals(settings, texts)
    for warning in warn_of_lines(settings, texts):
        click.echo(f"vocap: warning: {warning}", err=True)
    jobs = read_jobs(configfiles)
    if compare:
        expected = forecast.make_forecast(settings, costs, jobs, gpu=gpu)
        clock_s = forecast.schedule_jobs(expected, costs, cores).wall_s
        content = forecast.compare(expected, Path(settings.logs), clock_s, cores)
        text = comparison_text(content)
    else:
        gpus = _gpus_of(Path(PROFILE)) if profile else {}
        expected = forecast.make_forecast(settings, costs, jobs, Path(settings.results), gpu, gpus)
        here, there = (forecast.LOCAL_CORES, places) if profile else (cores, None)
        schedule = forecast.schedule_jobs(expected, costs, here, there)
        content = forecast.as_plain(expected, costs, schedule)
        text = forecast_text(content, here, there)
    click.echo(json.dumps(content, ensure_ascii=False, indent=1) if as_json else text)


def _gpus_of(profile: Path) -> dict[str, int]:
    """GPUs of a job of each rule that a SLURM profile gives some: those of all its
    nodes.
    """
    rules = read_yaml(profile, "call from the project's root").get("set-resources", {})
    found = {}
    for rule, requested in rules.items():
        named = re.fullmatch(r"gpu(?::[^:]+)?:(\d+)", str(requested.get("gres", "")))
        if count := int(requested.get("gpu", named[1] if named else 0)):
            found[rule] = count * int(requested.get("nodes", 1))
    return found


def forecast_text(plain: dict[str, Any], cores: int, places: int | None) -> str:
    """The forecast of `as_plain`, for a terminal: on `cores` of one machine, or on
    `places` of a cluster.
    """
    # the table of stages
    rows = [*plain["stages"].items(), ("total", plain["total"])]
    gpu = bool(plain["total"]["gpu_s"])
    times = {"CPU": "cpu_s"}
    if gpu:
        times["GPU"] = "gpu_s"
    stages = [["stage", "jobs", *times, "largest job", "disk"]]
    for name, row in rows:
        cells = [
            *(duration(row[time]) for time in times.values()),
            size(row["memory_mb"]),
            size(row["disk_mb"]),
        ]
        stages.append([name, f"{row['jobs']:,}", *cells])
    lines = [*aligned(stages, left=[0]), ""]
    # time by the clock
    schedule, spread = plain["schedule"], plain["spread"]
    clock, chain = (
        f"{duration(spread['low'] * seconds)} to {duration(spread['high'] * seconds)}"
        for seconds in (schedule["wall_s"], schedule["longest_chain_s"])
    )
    if places is not None:
        submissions = f"{places} jobs at once, {plain['submissions']:,} submissions"
        lines.append(f"With {submissions}: {clock}, if none waits for a free node.")
    else:
        machine = f"On {cores} cores{' and one GPU' if gpu else ''}"
        lines.append(f"{machine}: {clock}, {size(schedule['memory_mb'])} of memory at most.")
        lines.append(f"On any number of cores: {chain}, the longest chain of jobs.")
    memory_mb, name = plain["largest_training"]
    if memory_mb:
        lines.append(f"On a GPU at most {size(memory_mb)}, of {name}.")
    # what it rests on
    counted = Counter(text["basis"] for text in plain["texts"].values())
    bases = [f"{count} languages {BASES[basis]}" for basis, count in counted.items()]
    return "\n".join(
        [
            *lines,
            "",
            f"Text: {'; '.join(bases)}.",
            f"Cost model: fitted on {len(plain['fitted_on'])} runs; its errors: docs/cluster.md.",
        ]
    )


def comparison_text(comparison: dict[str, Any]) -> str:
    """Forecast, measured and their ratio, by rule, by stage and in all, from
    `forecast.compare`.
    """
    header = ["", "jobs", "CPU", "measured", "factor", "largest job", "measured", "factor"]
    rows = [_compared(name, row) for name, row in comparison["rules"].items()]
    rows.append([""] * len(header))
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
        "Factor: forecast over measured. Forecasts use only information from before the run. "
        "Memory is that of "
        "jobs of a second and more; shorter ones end unseen.",
    ]
    if names := comparison["missing"]:
        lines.append(f"{len(names)} jobs have no benchmark: {listed(names, 3)}.")
    if names := comparison["foreign"]:
        lines.append(
            f"{len(names)} benchmarks are of no job of this configuration: {listed(names, 3)}."
        )
    return "\n".join(lines)


def _compared(name: str, row: dict[str, Any]) -> list[str]:
    cells = [name, f"{row['jobs']:,}"]
    for quantity, shown in (("cpu_s", duration), ("memory_mb", size)):
        factor = row["factor"][quantity]
        cells += [shown(row[side][quantity]) for side in ("forecast", "measured")]
        cells.append(f"{factor:.2f}" if factor else "-")
    return cells


def size(megabytes: float) -> str:
    """Megabytes or gigabytes.

    >>> size(0.25), size(312), size(45678)
    ('0.2 MB', '312 MB', '45.7 GB')
    """
    if megabytes < 10:
        return f"{megabytes:.1f} MB"
    return f"{megabytes:.0f} MB" if megabytes < 10_000 else f"{megabytes / 1000:,.1f} GB"
