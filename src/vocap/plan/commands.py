"""`vocap plan`."""

import json
import os
import shutil
from contextlib import chdir
from pathlib import Path

import click

from vocap.errors import UsageError, VocapError

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
@click.option("--refit", type=click.Path(path_type=Path), help="Write coefficients fitted on RUNS to this file.")
@click.option(
    "--costs", "costs_file", type=click.Path(path_type=Path), help="Coefficients other than the package's."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path))
def plan(configfiles, cores, profile, places, gpu, compare, refit, costs_file, as_json, runs):
    """Forecast the jobs, time, memory and disk of a configuration, before anything runs.

    Call it in the project's root. Numbers come from the cost model of docs/cluster.md. RUNS are for --refit: roots
    of the project where this configuration has run (this folder, if none is named).
    """
    from vocap.plan import forecast, writing
    from vocap.plan.jobs import read_jobs

    if runs and not refit:
        raise click.UsageError("folders of runs are for --refit")
    if sum((compare, bool(refit), profile is not None)) > 1:
        raise click.UsageError("--compare, --refit and --profile exclude each other")
    cores = cores or len(os.sched_getaffinity(0))
    gpu = gpu if gpu is not None else profile is not None or shutil.which("nvidia-smi") is not None
    costs = forecast.read_costs(costs_file)
    if refit:
        _refit(refit, runs or (Path(),), configfiles, cores, gpu, costs)
        return
    settings = _settings(configfiles)
    _name_absent_files(settings)
    jobs = read_jobs(configfiles)
    if compare:
        from vocap.plan import measured

        expected = forecast.make_forecast(settings, costs, jobs, gpu=gpu)
        comparison = measured.compare(expected, Path(settings.logs))
        clock_s = forecast.schedule_jobs(expected, costs, cores).wall_s
        show = writing.comparison_json if as_json else writing.comparison_text
        content = show(comparison, clock_s, cores)
    else:
        gpus = forecast.gpus_of_profile(Path(PROFILE)) if profile else {}
        expected = forecast.make_forecast(settings, costs, jobs, Path(settings.results), gpu, gpus)
        place = (forecast.LOCAL_CORES, places) if profile else (cores, None)
        schedule = forecast.schedule_jobs(expected, costs, *place)
        if as_json:
            content = forecast.as_json(expected, costs, schedule)
        else:
            content = writing.forecast_text(expected, costs, schedule, *place)
    click.echo(json.dumps(content, ensure_ascii=False, indent=1) if as_json else content)


def _settings(configfiles):
    from vocap.config import load, read_files

    return load(read_files([SOURCES, *(configfiles or [DEFAULT])]))


def _name_absent_files(settings) -> None:
    """Name the languages that a forecast leaves out; raises VocapError where none is left."""
    from vocap.plan.texts import absent_files

    if not (absent := absent_files(settings)):
        return
    files = [f"{code}: no file {path}" for code, paths in absent.items() for path in paths]
    lines = files[:SHOWN] + [f"and {len(files) - SHOWN} files more"] * (len(files) > SHOWN)
    listed = "".join(f"\n  {line}" for line in lines)
    count = len(settings.selected())
    if len(absent) == count:
        raise VocapError(f"no language has its text; correct corpora.sources, or bring the files:{listed}")
    for name, entry in settings.tokenizers.items():
        if entry.kind == "mono" and entry.language in absent:
            raise VocapError(f"tokenizers.{name} needs text in {entry.language!r}; bring the files:{listed}")
    click.echo(f"left out: {len(absent)} of {count} languages, whose files are not there:{listed}", err=True)


def _refit(output, folders, configfiles, cores, gpu, costs) -> None:
    """Fit on finished runs; each is read in its own folder, so that the paths of its configuration hold."""
    from vocap.files.atomic import write_text
    from vocap.plan.forecast import as_yaml, make_forecast
    from vocap.plan.jobs import read_jobs
    from vocap.plan.measured import Run, busy_share, measure, processor_name, refit

    configfiles = [path.absolute() for path in configfiles]
    fitted, sources = [], []
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such folder; name the root of a finished run")
        with chdir(folder):
            settings = _settings(configfiles)
            logs = Path(settings.logs)
            expected = make_forecast(settings, costs, read_jobs(configfiles), Path(settings.results), gpu)
            measured = measure(expected.jobs, logs)
        if not measured:
            raise VocapError(
                f"{folder / logs}/benchmarks: no benchmark of this configuration's jobs; let the run finish, and "
                "give its --configfile here"
            )
        if missing := [job.name for job in expected.jobs if job.name not in measured]:
            click.echo(f"{folder}: {len(missing)} jobs have no benchmark, as {missing[0]}; left out", err=True)
        fitted.append(Run(expected.jobs, measured, expected.texts, cores))
        busy = busy_share(expected.jobs, measured)
        sources.append(
            f"{len(measured)} jobs, {cores} cores of {processor_name()}, computing {busy:.0%} of their time"
        )
        if busy < 0.9:
            click.echo(
                f"{folder}: its jobs computed {busy:.0%} of their time only: other programs ran beside it, "
                "and times by the clock will be too long",
                err=True,
            )
    write_text(output, as_yaml(refit(costs, fitted, sources)))
    click.echo(f"{output}: coefficients of {len(folders)} runs; use them with --costs {output}", err=True)
