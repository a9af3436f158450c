"""`vocap studied-sizes`, `correlate`: the sizes and points of the correlation study."""

import logging
from pathlib import Path

import click

from vocap import options
from vocap.correlation.study import (
    Coefficients,
    Measured,
    Size,
    correlations,
    find_sizes,
    holes,
    measure,
    read_records,
)
from vocap.files.tsv import write_tsv

FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
PATH = click.Path(path_type=Path)
logger = logging.getLogger(__name__)


@click.command("studied-sizes")
@click.option("--vocabularies", required=True, type=FOLDER, help="Holds LANGUAGE/curve.tsv.")
@click.option(
    "--language", "languages", required=True, multiple=True, type=options.Code(), help="May be repeated."
)
@click.option("--size", "sizes", required=True, multiple=True, type=int, help="Of a vocabulary; may be repeated.")
@click.option("-o", "--output", "out", required=True, type=PATH, help="Table to write.")
def studied_sizes(vocabularies, languages, sizes, out) -> None:
    """List the requested sizes that each language's text reaches, and the reason for the others."""
    found = find_sizes(vocabularies, languages, sizes)
    write_tsv(out, Size._fields, found)
    for language, unreached in holes(found).items():
        logger.warning("%s: its text does not reach %s", language, ", ".join(map(str, unreached)))


@click.command()
@click.option("--sizes", required=True, type=PATH, help="Table of vocap studied-sizes.")
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder for points.tsv, correlations.tsv.")
@click.argument("scored", nargs=-1, type=FOLDER)
def correlate(sizes, out, scored) -> None:
    """Correlate F1 with ALP and with the vocabulary's size (section 2.1).

    SCORED are folders LANGUAGE/SIZE/TASK that vocap score wrote, with LANGUAGE/SIZE/pretrained beside them.
    """
    asked = read_records(sizes, Size)
    points = measure(asked, scored)
    found = correlations(points, holes(asked))
    write_tsv(out / "points.tsv", Measured._fields, points)
    write_tsv(out / "correlations.tsv", Coefficients._fields, found)
    for one in found:
        values = ["none" if rho is None else f"{rho:.3f}" for rho in (one.rho_alp, one.rho_size)]
        described = (one.language, one.task, one.sizes, one.holes)
        logger.info("%s %s, %d sizes, %d not reached: F1 with ALP %s, with |V| %s", *described, *values)
