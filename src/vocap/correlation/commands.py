"""`vocap own-files` and `vocap correlate`: one language's files of XTREME, and the study's points."""

import logging
from pathlib import Path

import click

FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
PATH = click.Path(path_type=Path)
logger = logging.getLogger(__name__)


@click.command("own-files")
@click.option("--xtreme", required=True, type=FOLDER, help="XTREME's download folder, or xTune's")
@click.option("--language", required=True, help="its code")
@click.option("--task", "tasks", required=True, multiple=True, type=click.Choice(["udpos", "panx"]))
@click.option("-o", "--output", "out", required=True, type=PATH, help="folder to write, replaced whole")
def own_files(xtreme, language, tasks, out) -> None:
    """Copy the tagging files of one language, its own training file in the place of the English one.

    What reads an XTREME folder then trains, chooses and tests in this language alone.
    """
    from vocap.correlation.files import make_folder

    make_folder(xtreme, language, tasks, out)


@click.command()
@click.option("--vocabularies", required=True, type=FOLDER, help="holds LANGUAGE/curve.tsv")
@click.option("-o", "--output", "out", required=True, type=PATH, help="folder for points.tsv, correlations.tsv")
@click.argument("scored", nargs=-1, required=True, type=FOLDER)
def correlate(vocabularies, out, scored) -> None:
    """Correlate F1 with ALP and with the vocabulary's size (section 2.1).

    SCORED are folders LANGUAGE/SIZE/TASK that vocap score wrote, with LANGUAGE/SIZE/pretrained beside them.
    """
    from dataclasses import astuple, fields

    from vocap.correlation.measuring import measure
    from vocap.correlation.points import Correlation, correlations, write_points
    from vocap.tsv import write_tsv

    points = measure(vocabularies, scored)
    found = correlations(points)
    write_points(out / "points.tsv", points)
    write_tsv(out / "correlations.tsv", [field.name for field in fields(Correlation)], map(astuple, found))
    for one in found:
        values = ["none" if rho is None else f"{rho:.3f}" for rho in (one.rho_alp, one.rho_size)]
        logger.info("%s %s, %d sizes: F1 with ALP %s, with |V| %s", one.language, one.task, one.sizes, *values)
