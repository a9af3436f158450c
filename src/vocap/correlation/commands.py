"""`vocap correlate`: F1 with ALP and with the vocabulary's size."""

from pathlib import Path

import click

from vocap import options
from vocap.correlation.study import Coefficients, StudyPoint, correlate_scores
from vocap.errors import log
from vocap.files.io import write_tsv
from vocap.options import FOLDER, PATH


@click.command()
@options.path("--vocabularies", FOLDER, "Folder with LANGUAGE/curve.tsv.", required=True)
@click.option(
    "--size",
    "sizes",
    required=True,
    multiple=True,
    type=int,
    help="Size of a vocabulary in the study. May be repeated.",
)
@options.output(PATH, "Folder to write both tables to.")
@click.argument("scored", nargs=-1, type=FOLDER)
def correlate(
    vocabularies: Path, sizes: tuple[int, ...], output: Path, scored: tuple[Path, ...]
) -> None:
    """Correlate F1 with ALP and with the vocabulary's size (section 2.1).

    SCORED are folders LANGUAGE/SIZE/TASK that vocap score wrote, with
    LANGUAGE/SIZE/pretrained beside them. The command writes points.tsv and
    correlations.tsv.
    """
    points, found = correlate_scores(scored, vocabularies, sizes)
    write_tsv(output / "points.tsv", StudyPoint._fields, points)
    write_tsv(output / "correlations.tsv", Coefficients._fields, found)
    for one in found:
        values = ["none" if rho is None else f"{rho:.3f}" for rho in (one.rho_alp, one.rho_size)]
        described = (one.language, one.task, one.sizes, one.holes)
        log.info(
            "%s %s, %d sizes, %d not reached: F1 with ALP %s, with |V| %s", *described, *values
        )
