"""`vocap plan`."""

import json
from pathlib import Path
from typing import Any

import click

from vocap.forecast.run import GPU_TFLOPS, forecast_run
from vocap.forecast.wording import forecast_text
from vocap.options import PATH, Number


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
    help="Whether models are trained on GPUs.  [default: where one core would take more "
    "than a day]",
)
@click.option(
    "--tflops",
    default=GPU_TFLOPS,
    type=Number(0.001, 1e6),
    help="10^12 floating-point operations of a GPU in a second of training.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the forecast as JSON.")
def plan(configfiles: tuple[Path, ...], as_json: bool, **given: Any) -> None:
    """Forecast the jobs, time, memory and disk of a configuration, before anything runs.

    Call it in the project's root. docs/cluster.md says what the columns are.
    """
    forecast = forecast_run(configfiles, **given)
    for warning in forecast.warnings:
        click.echo(f"vocap: warning: {warning}", err=True)
    plain = json.dumps(forecast.as_plain(), ensure_ascii=False, indent=1)
    click.echo(plain if as_json else forecast_text(forecast))
