"""`vocap plan`."""

import json
import shutil
from pathlib import Path
from typing import Any

import click

from vocap.forecast.run import compare_costs, forecast_run
from vocap.forecast.wording import comparison_text, forecast_text
from vocap.options import PATH


@click.command()
@click.option(
    "--configfile",
    "configfiles",
    multiple=True,
    type=PATH,
    help="Configuration. May be repeated, and then a later file overrides the earlier "
    "ones.  [default: config/config.yaml]",
)
@click.option(
    "--gpu/--no-gpu",
    default=None,
    help="Forecast training on a GPU.  [default: whether this machine has one]",
)
@click.option(
    "--compare", is_flag=True, help="Compare the forecast with the finished run in this folder."
)
@click.option(
    "--costs",
    type=PATH,
    help="File of cost coefficients, in place of the package's.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the forecast as JSON.")
def plan(
    configfiles: tuple[Path, ...],
    gpu: bool | None,
    compare: bool,
    costs: Path | None,
    as_json: bool,
) -> None:
    """Forecast the jobs, time, memory and disk of a configuration, before anything runs.

    Call it in the project's root. docs/cluster.md describes the cost model.
    """
    if gpu is None:
        gpu = shutil.which("nvidia-smi") is not None
    forecast = forecast_run(configfiles, gpu=gpu, costs=costs, from_results=not compare)
    for warning in forecast.warnings:
        click.echo(f"vocap: warning: {warning}", err=True)
    content: dict[str, Any]
    if compare:
        content = compare_costs(forecast)
        text = comparison_text(content)
    else:
        content, text = forecast.as_plain(), forecast_text(forecast)
    click.echo(json.dumps(content, ensure_ascii=False, indent=1) if as_json else text)
