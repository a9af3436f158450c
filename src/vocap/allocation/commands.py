"""`vocap allocate`, and `vocap trunk`, the part of rule pieces that all T share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click

from vocap import options
from vocap.allocation import stage
from vocap.allocation.settings import LARGEST, Allocation
from vocap.allocation.solution import allocation_lines
from vocap.errors import UsageError
from vocap.unigram.text_settings import COVERAGE

Command = Callable[..., Any]
FILE = click.Path(path_type=Path)


def _setting(name: str) -> Callable[[Command], Command]:
    """The option of a field of `Allocation`, with its values, default and
    description.
    """
    field = Allocation.model_fields[name]
    description = field.description or ""
    # of a Literal; the types of one that may be None
    values = get_args(field.annotation) or [field.annotation]
    return click.option(
        f"--{name.replace('_', '-')}",
        type=values[0] if isinstance(values[0], type) else click.Choice(values),
        default=field.default,
        help=f"{description[0].upper()}{description[1:]}.",
    )


# the options of both commands
SHARED: tuple[Callable[[Command], Command], ...] = (
    # files
    click.option(
        "--vocabularies",
        type=FILE,
        required=True,
        metavar="DIR",
        help="Holds LANG/curve.tsv, characters.tsv, models/SIZE.model; LANG/pieces.npz, an "
        "index, is made if "
        "missing.",
    ),
    click.option(
        "--weights",
        type=FILE,
        required=True,
        metavar="FILE.tsv",
        help="Columns language and n (lines of text, or any other weight).",
    ),
    click.option(
        "--corpora",
        type=FILE,
        metavar="DIR",
        help="Holds LANG/train.txt: rule pieces reads it.",
    ),
    # settings
    *map(_setting, ("alpha", "beta", "per")),
    options.coverage(
        COVERAGE, "Share of the multilingual sample's characters that must be pieces."
    ),
    options.without,
    options.threads("Languages at a time, of rule pieces; the results do not depend on it."),
    options.text_options,
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
    help="Rows of the tokenizer, special tokens included; may be repeated, then -o must hold "
    "{total}.",
)
@_setting("rule")
@_setting("fairness")
@click.option(
    "--trunk",
    type=FILE,
    metavar="FILE",
    help="Of rule pieces: the file of vocap trunk, used again.",
)
@_setting("core")
@_setting("token_fairness")
@click.option(
    "--development",
    metavar="PATTERN",
    help="Parallel text for --token-fairness: aligned files with {lang}.",
)
@click.option(
    "--other-rows",
    type=click.IntRange(0),
    help="Rows of T that byte fallback and symbols take; without it those of the text options.",
)
@_setting("special_tokens")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="OUT",
    help="Folder to write; {total} stands for T.",
)
def allocate(
    vocabularies: Path,
    weights: Path,
    without: list[str],
    totals: tuple[int, ...],
    output: Path,
    **options_of_function: Any,
) -> None:
    """Allocate a vocabulary of T to languages (Algorithm 1, or another rule).

    Writes OUT/allocation.tsv (the size of each language), OUT/vocabulary.tsv (the
    merged pieces) and OUT/summary.json, and prints the optimality gap: the distance
    from a bound on all unions of whole lists. Rule pieces also writes OUT/vocabularies,
    each language's model on the pieces it holds, as vocap fit reads them.
    """
    found = stage.allocate(
        vocabularies,
        weights,
        totals,
        output,
        without=without,
        **options_of_function,
    )
    for result in found.values():
        for line in allocation_lines(result.settings, result.solution):
            click.echo(line)


@click.command()
@_shared
@click.option(
    "--largest",
    type=click.IntRange(min=1),
    default=LARGEST,
    help="The largest T that it is for: more tokens of byte-pair encoding take longer.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="File to write.",
)
def trunk(
    vocabularies: Path,
    weights: Path,
    corpora: Path | None,
    without: list[str],
    output: Path,
    **options_of_function: Any,
) -> None:
    """Learn tokens of byte-pair encoding from the text of all languages: the part of rule
    pieces that all T share.

    OUTPUT is for vocap allocate --rule pieces --trunk OUTPUT.
    """
    if corpora is None:
        raise UsageError("a trunk is made from the languages' text; add --corpora DIR")
    stage.make_trunk_file(
        vocabularies, weights, corpora, output, without=without, **options_of_function
    )
