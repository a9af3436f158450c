"""`vocap train`, `vocap curve`, `vocap alp` and `vocap ladder`.

Imports inside functions are of numba's kernels, which take a second that short jobs
save.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from vocap import options
from vocap.errors import log
from vocap.files.io import aligned
from vocap.options import ANY_FOLDER, FILE, PATH
from vocap.tables.curve import Point, outline, write_points
from vocap.unigram.training_settings import UnigramTraining
from vocap.vocabularies.settings import LadderTraining

SHOWN = 12  # sizes in reach that are printed
NUMBERS = ("ALP", "held-out", "tokens/line")


@click.command("train")
@click.option(
    "--size",
    type=int,
    required=True,
    help="Number of ids of the model, <unk>, <s> and </s> included.",
)
@options.path("--train", FILE, "Training text with one sentence on each line.", required=True)
@options.path(
    "--heldout", click.Path(True, path_type=Path), "Held-out text. It may be empty.", required=True
)
@options.path("--models", ANY_FOLDER, "Folder to write {size}.model to.", required=True)
@options.path("--point", FILE, "Table to write, with the curve's row of this size.", required=True)
@options.of(UnigramTraining, "coverage")
@options.threads("Number of threads. Another number can change the pieces.")
@options.text_options
def train_one_size(
    size: int, train: Path, heldout: Path, models: Path, point: Path, **given: Any
) -> None:
    """Train one unigram model, and measure its ALP on all training and held-out lines.

    A size that the text cannot reach is not an error. The table then states the reason.
    """
    from vocap.vocabularies.models import write_model
    from vocap.vocabularies.single_size import train_size

    row, model = train_size(train, heldout, size, **given)
    models.mkdir(parents=True, exist_ok=True)
    write_model(models / f"{size}.model", model)
    write_points(point, [row])
    found = f"ALP {row.alp:.3f}, held-out {row.alp_heldout}" if row.ok else row.status
    log.info("%s: size %d: %s", train, size, found)


@click.command()
@options.path("--train", FILE, "The text that the models were trained on.", required=True)
@options.path("--models", ANY_FOLDER, "Folder with {size}.model.", required=True)
@options.output(FILE, "Table to write the curve to.")
@options.path(
    "--characters",
    FILE,
    "Table to write, with the counts of the characters of the normalised text.",
    required=True,
)
@options.path(
    "--index", FILE, "File to write, an index of the pieces of all models.", required=True
)
@click.argument("points", nargs=-1, required=True, type=FILE)
@options.text_options
def curve(**given: Any) -> None:
    """Join the tables of one language's sizes into its curve. The command also indexes
    its pieces and counts its characters. POINTS are the tables of vocap train.
    """
    from vocap.vocabularies.single_size import join_sizes

    join_sizes(**given)


@click.command()
@click.argument("model", type=PATH)
@click.argument("text")
@options.split
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object, with the number of tokens too. An unknown character "
    "counts as its bytes.",
)
def alp(model: Path, text: str, splits: tuple[str, ...], as_json: bool) -> None:
    """Measure the ALP (average log probability, Equation 1) of a text under a
    tokenizer.

    MODEL is a .model of SentencePiece, a tokenizer.json, tiktoken's ranks, a
    tekken.json, or a folder that holds one of them. TEXT is a file, or a path or
    pattern on another machine (hf://, s3://, https://). Every line counts. The
    logarithm is natural.
    """
    from vocap.vocabularies.measurement import measure_text

    found = measure_text(model, text, split=splits)
    click.echo(json.dumps(asdict(found)) if as_json else repr(found.alp))


@click.command()
@click.argument("train", type=FILE)
@options.output(ANY_FOLDER, "Folder to write models/, curve.tsv and two more tables to.")
@click.option(
    "--sizes",
    default="1000:50000:1000",
    help="Numbers of ids of the models, as FIRST:LAST:STEP or as a list with commas.",
)
@options.path("--heldout", FILE, "Held-out text, whose ALP is measured under every model.")
@options.of(LadderTraining, "threads", "memory", "coverage", "text", "counts")
def ladder(train: Path, output: Path, **given: Any) -> None:
    """Train models of all sizes on TRAIN at once, and measure their ALP.

    TRAIN is text with one sentence on each line, or a file of records, which the ending
    of its name tells. All lines are used. Every model equals the one that SentencePiece
    0.2.1 trains for that size with one thread. A size that the text cannot reach has no
    model, and the curve states the reason. Models of an earlier call with the same texts
    and options are kept. The command prints the curve and its knee.
    """
    from vocap.vocabularies.ladder import train_ladder

    trained = train_ladder(train, output, **given)
    for line in (*_curve_lines(trained.points, output / "curve.tsv"), *_outline(trained.points)):
        click.echo(line)


def _cells(point: Point) -> tuple[str, ...]:
    found = (point.alp, point.alp_heldout, point.tokens_per_sentence)
    numbers = ["" if number is None else f"{number:.3f}" for number in found]
    return (str(point.size), *numbers)


def _curve_lines(points: Sequence[Point], table: Path) -> Iterator[str]:
    """At most `SHOWN` of the sizes in reach, and the first of each reason out of
    reach.
    """
    ok = [point.size for point in points if point.ok]
    chosen = {ok[round(number * (len(ok) - 1) / (SHOWN - 1))] for number in range(SHOWN) if ok}
    shown, before = [], None
    for point in points:
        reason = point.status.partition(":")[0]  # without its numbers
        if point.size in chosen if point.ok else reason != before:
            shown.append(point)
        before = reason
    rows = [("size", *NUMBERS, "status"), *((*_cells(point), point.status) for point in shown)]
    yield from aligned(rows, left=[len(rows[0]) - 1])
    if len(shown) < len(points):
        yield f"{len(shown)} of {len(points)} sizes; all: {table}"


def _outline(points: Sequence[Point]) -> Iterator[str]:
    """Start, knee and end of a curve."""
    found = outline(points)
    if found is None:
        return
    rows = [("", "size", *NUMBERS, "why"), ("start", *_cells(found.start), found.start_reason)]
    if found.knee:
        rows.append(("knee", *_cells(found.knee), "farthest above the line from start to end"))
    rows.append(("end", *_cells(found.end), found.end_reason))
    yield ""
    yield from aligned(rows, left=[len(rows[0]) - 1])
