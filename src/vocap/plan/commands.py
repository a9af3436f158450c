"""`vocap plan`."""

import json
import os
import shutil
from pathlib import Path

import click

from vocap.errors import VocapError
from vocap.wording import listed

SOURCES, DEFAULT = Path("config/sources.yaml"), Path("config/config.yaml")  # as in the Snakefile
SHOWN = 10  # missing files in a message
PROFILE = "slurm/config.yaml"


@click.command()
@click.option(
    "--configfile",
    "configfiles",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Configuration; of several, the later over the earlier.  [default: config/config.yaml]",
)
@click.option(
    "--cores", type=click.IntRange(min=1), help="Of the machine that runs it.  [default: this machine's]"
)
@click.option("--profile", type=click.Choice(["slurm"]), help="Forecast a run through SLURM instead.")
@click.option(
    "--jobs", "places", type=click.IntRange(min=1), default=100, show_default=True, help="At once, on SLURM."
)
@click.option(
    "--gpu/--no-gpu",
    default=None,
    help="Train models on a GPU.  [default: on SLURM, and where this machine has one]",
)
@click.option("--compare", is_flag=True, help="Compare the forecast with the finished run in this folder.")
@click.option(
    "--costs", "costs_file", type=click.Path(path_type=Path), help="Coefficients other than the package's."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(configfiles, cores, profile, places, gpu, compare, costs_file, as_json):
    """Forecast the jobs, time, memory and disk of a configuration, before anything runs.

    Call it in the project's root. Numbers come from the cost model of docs/cluster.md.
    """
    from vocap.config import load, read_files  # they keep `vocap --help` fast
    from vocap.plan import forecast, measured, writing
    from vocap.plan.jobs import read_jobs

    if compare and profile:
        raise click.UsageError("--compare and --profile exclude each other")
    cores = cores or len(os.sched_getaffinity(0))
    gpu = gpu if gpu is not None else profile is not None or shutil.which("nvidia-smi") is not None
    costs = forecast.read_costs(costs_file)
    settings = load(read_files([SOURCES, *(configfiles or [DEFAULT])]))
    _name_absent_files(settings)
    jobs = read_jobs(configfiles)
    if compare:
        expected = forecast.make_forecast(settings, costs, jobs, gpu=gpu)
        clock_s = forecast.schedule_jobs(expected, costs, cores).wall_s
        content = measured.compare(expected, Path(settings.logs), clock_s, cores)
        text = writing.comparison_text(content)
    else:
        gpus = forecast.gpus_of_profile(Path(PROFILE)) if profile else {}
        expected = forecast.make_forecast(settings, costs, jobs, Path(settings.results), gpu, gpus)
        place = (forecast.LOCAL_CORES, places) if profile else (cores, None)
        schedule = forecast.schedule_jobs(expected, costs, *place)
        content = forecast.as_plain(expected, costs, schedule)
        text = writing.forecast_text(expected, costs, schedule, *place)
    click.echo(json.dumps(content, ensure_ascii=False, indent=1) if as_json else text)


def _name_absent_files(settings) -> None:
    """Name the languages that a forecast leaves out; raises VocapError where none is left."""
    from vocap.plan.texts import absent_files

    if not (absent := absent_files(settings)):
        return
    files = [f"{code}: no file {path}" for code, paths in absent.items() for path in paths]
    shown = "\n  " + listed(files, SHOWN, separator="\n  ")
    count = len(settings.selected())
    if len(absent) == count:
        raise VocapError(f"no language has its text; correct corpora.sources, or bring the files:{shown}")
    for name, entry in settings.tokenizers.items():
        if entry.kind == "mono" and entry.language in absent:
            raise VocapError(f"tokenizers.{name} needs text in {entry.language!r}; bring the files:{shown}")
    click.echo(f"left out: {len(absent)} of {count} languages, whose files are not there:{shown}", err=True)
