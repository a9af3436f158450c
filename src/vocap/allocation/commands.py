"""`vocap allocate`, and `vocap trunk`, the part of rule pieces that all T share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from vocap import options
from vocap.allocation import stage
from vocap.allocation.settings import LARGEST, AllocationRun
from vocap.allocation.solution import allocation_lines
from vocap.errors import UsageError
from vocap.options import ANY_FOLDER, FILE, PATH

Command = Callable[..., Any]
# the options of both commands
SHARED: tuple[Callable[[Command], Command], ...] = (
    # files
    options.path(
        "--vocabularies",
        PATH,
        "Folder with LANG/curve.tsv, LANG/characters.tsv and LANG/models/SIZE.model. The "
        "index LANG/pieces.npz is made where it is missing.",
        required=True,
    ),
    options.path(
        "--weights",
        PATH,
        "Table with the columns language and n (lines of text, or any other weight).",
        required=True,
    ),
    options.path("--corpora", PATH, "Folder with LANG/train.txt, which rule pieces reads."),
    # settings
    options.of(
        AllocationRun,
        *("alpha", "beta", "per", "coverage", "without", "threads", "memory", "text", "counts"),
    ),
)


def _shared(command: Command) -> Command:
    """The options of both commands."""
    # as if written above the command one by one: --help shows this order
    for decorate in reversed(SHARED):
        command = decorate(command)
    return command


@click.command()
@_shared
@click.option(
    "--total",
    "totals",
    type=int,
    required=True,
    multiple=True,
    metavar="T",
    help="T, the number of all ids, special tokens included. May be repeated, and then -o "
    "must contain {total}.",
)
@options.of(
    AllocationRun,
    *("rule", "fairness", "core", "token_fairness", "other_rows", "special_tokens"),
)
@options.path("--trunk", PATH, "File that vocap trunk wrote, for rule pieces.")
@click.option(
    "--development",
    metavar="PATTERN",
    help="Parallel text for --token-fairness, as a path of line-aligned files with {lang} in it.",
)
@options.output(ANY_FOLDER, "Folder OUT to write, in which {total} stands for T.")
def allocate(totals: tuple[int, ...], **given: Any) -> None:
    """Divide the T ids of a tokenizer among languages (Algorithm 1, or another rule).

    The command writes OUT/allocation.tsv (the size of each language),
    OUT/vocabulary.tsv (the merged pieces) and OUT/summary.json. It prints the sizes and
    the objective. Rule pieces also writes OUT/vocabularies, with a model of each
    language on the pieces that it holds, for vocap fit.
    """
    found = stage.allocate(total=totals, **given)
    for result in found.values():
        for line in allocation_lines(result.settings, result.solution):
            click.echo(line)


@click.command()
@_shared
@click.option(
    "--largest",
    type=click.IntRange(min=1),
    default=LARGEST,
    help="Largest T that the file is for. A larger one takes longer.",
)
@options.output(FILE, "File to write.")
def trunk(corpora: Path | None, **given: Any) -> None:
    """Learn the tokens of byte-pair encoding that rule pieces needs for every T, from
    the text of all languages.

    Give the written file to vocap allocate --rule pieces --trunk FILE.
    """
    if corpora is None:
        raise UsageError("a trunk is made from the languages' text; add --corpora DIR")
    stage.make_trunk_file(corpora=corpora, **given)
