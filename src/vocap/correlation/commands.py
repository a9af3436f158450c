"""`vocap own-files`, `studied-sizes`, `correlate`: a language's files of XTREME, the study's sizes and points."""

import logging
from pathlib import Path

import click

from vocap import options

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
PATH = click.Path(path_type=Path)
logger = logging.getLogger(__name__)


@click.command("own-files")
@click.option("--xtreme", required=True, type=FOLDER, help="XTREME's download folder, or xTune's.")
@click.option("--language", required=True, type=options.Code(), help="Its code.")
@click.option(
    "--task",
    "tasks",
    required=True,
    multiple=True,
    type=click.Choice(["udpos", "panx"]),
    help="Task whose files are copied; may be repeated.",
)
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder to write, replaced whole.")
def own_files(xtreme, language, tasks, out) -> None:
    """Copy the tagging files of one language, its own training file in the place of the English one.

    Fine-tuning on the new folder trains, selects and tests in this language alone.
    """
    from vocap.correlation.planning import make_folder

    make_folder(xtreme, language, tasks, out)


@click.command("studied-sizes")
@click.option("--vocabularies", required=True, type=FOLDER, help="Holds LANGUAGE/curve.tsv.")
@click.option(
    "--language", "languages", required=True, multiple=True, type=options.Code(), help="Its code; may be repeated."
)
@click.option(
    "--size",
    "sizes",
    required=True,
    multiple=True,
    type=click.IntRange(min=1),
    help="Size of a vocabulary; may be repeated.",
)
@click.option("-o", "--output", "out", required=True, type=PATH, help="Table to write.")
def studied_sizes(vocabularies, languages, sizes, out) -> None:
    """List the requested sizes that each language's text reaches, and the reason for the others."""
    from vocap.correlation.points import find_sizes, holes, write_sizes

    found = find_sizes(vocabularies, languages, sizes)
    write_sizes(out, found)
    for language, unreached in holes(found).items():
        logger.warning("%s: its text does not reach %s", language, ", ".join(map(str, unreached)))


@click.command()
@click.option("--sizes", required=True, type=FILE, help="Table of vocap studied-sizes.")
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder for points.tsv, correlations.tsv.")
@click.argument("scored", nargs=-1, type=FOLDER)
def correlate(sizes, out, scored) -> None:
    """Correlate F1 with ALP and with the vocabulary's size (section 2.1).

    SCORED are folders LANGUAGE/SIZE/TASK that vocap score wrote, with LANGUAGE/SIZE/pretrained beside them.
    """
    from dataclasses import astuple, fields

    from vocap.correlation.points import Correlation, correlations, holes, measure, read_sizes, write_points
    from vocap.files.tsv import write_tsv

    asked = read_sizes(sizes)
    points = measure(asked, scored)
    found = correlations(points, holes(asked))
    write_points(out / "points.tsv", points)
    write_tsv(out / "correlations.tsv", [field.name for field in fields(Correlation)], map(astuple, found))
    for one in found:
        values = ["none" if rho is None else f"{rho:.3f}" for rho in (one.rho_alp, one.rho_size)]
        described = (one.language, one.task, one.sizes, one.holes)
        logger.info("%s %s, %d sizes, %d not reached: F1 with ALP %s, with |V| %s", *described, *values)
