"""The verb of the ladder."""

import logging
from pathlib import Path

import click

from vocap import options
from vocap.errors import UsageError, VocapError
from vocap.vocabularies import COVERAGE, SEEDS

logger = logging.getLogger(__name__)

WRITERS = 4  # threads that wait for the disk: on a busy one, each model takes as long as its training
MOST_WRITES = 8  # models that wait at a time: each takes a megabyte or two

SHOWN = 12  # sizes in reach that are printed

_NUMBERS = ("ALP", "held-out", "tokens/line")

file = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("train", type=file)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder that gets models/{size}.model and curve.tsv.",
)
@click.option(
    "--sizes",
    default="1000:50000:1000",
    show_default=True,
    help="Ids of the models, as FIRST:LAST:STEP or as a list with commas.",
)
@click.option("--heldout", type=file, help="Held-out text, for its ALP under every model.")
@click.option(
    "--threads", type=options.THREADS, default=1, show_default=True, help="The results do not depend on it."
)
@options.coverage(COVERAGE, "Share of characters that must be pieces.")
@click.option(
    "--arithmetic",
    type=click.Choice(["exact", "fast"]),
    default="exact",
    show_default=True,
    help="Every bit as in SentencePiece, or near it in less time.",
)
@click.option(
    "--seeds",
    type=click.Choice(SEEDS),
    default=SEEDS[0],
    show_default=True,
    help="Pieces to begin with: those of SentencePiece 0.1.99 to 0.2.1, or those of 0.2.2.",
)
@click.option(
    "--points",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that gets the curve as {size}.tsv, a table a size, in place of curve.tsv.",
)
def ladder(train, output, sizes, heldout, threads, coverage, arithmetic, seeds, points):
    """Train unigram models of all sizes on TRAIN at once, and measure their ALP.

    TRAIN is text, a sentence a line; all its lines are used. Every model is the one that SentencePiece 0.2.1
    trains for that size with one thread (with --arithmetic fast, one near it); with --seeds words, its pieces and
    scores are those of 0.2.2. A size that the text cannot reach is no error: curve.tsv says why.
    """
    numbers = _parse_sizes(sizes)
    for path in filter(None, (train, heldout)):
        if not path.is_file():
            raise VocapError(f"{path}: no such file; check the path")

    from contextlib import closing

    files = {"train": train} | ({"heldout": heldout} if heldout else {})
    words, sorted_text, train_sizes = _count_words(files, coverage, threads, seeds)
    from vocap.vocabularies.curve import write_points
    from vocap.vocabularies.text import read_blocks

    logger.info("%s: %d lines, %d word types", train, words.sentences["train"], words.trained)
    ending = None
    if seeds == "words":
        from vocap.vocabularies.ladder.text_end import frequencies_at_the_end

        ending = frequencies_at_the_end(read_blocks(train), words.required)
    models = output / "models"
    models.mkdir(parents=True, exist_ok=True)
    tables = [points / f"{size}.tsv" for size in numbers] if points else [output / "curve.tsv"]
    for table in tables:
        table.unlink(missing_ok=True)  # written last: no curve, no whole result
    rungs = train_sizes(words, numbers, coverage, threads, arithmetic, ending=ending, sorted_text=sorted_text)
    with closing(rungs):
        rows = _write_models(rungs, models)
    rows.sort(key=lambda point: point.size)
    for table, lines in zip(tables, [[row] for row in rows] if points else [rows], strict=True):
        write_points(table, lines)
    logger.info("%s: %d of %d sizes in reach; %s", train, sum(row.ok for row in rows), len(rows), models)
    click.echo("\n\n".join(filter(None, (_curve(rows, tables), _outline(rows)))))


def _count_words(files: dict[str, Path], coverage: float, threads: int, seeds: str):
    """The word types of texts, their seed text sorted (or None, for later), and the function that trains on them.

    To start numba takes half a second. With more than one of `threads`, another process reads the texts meanwhile,
    and what trains is imported while words are counted and sorted.
    """
    import gc
    from concurrent.futures import ThreadPoolExecutor

    gc.disable()  # what imports make stays: to look for garbage in it, again and again, takes a tenth of a second
    try:
        from vocap.vocabularies.ladder.sentences import Reading, texts_of

        texts = Reading(files).texts if threads > 1 else texts_of(files)
        count_word_types = _load("word_types").count_word_types
        with ThreadPoolExecutor(1) as loader:
            early = ("suffixes", "sizes") if threads > 1 else ()
            coming = {name: loader.submit(_load, name) for name in early}
            words = count_word_types(texts, coverage)
            sorted_text = None
            if coming and seeds == SEEDS[0] and words.required:
                sorted_text = coming["suffixes"].result().sort_text(words)
            sizes = coming["sizes"].result() if coming else _load("sizes")
        gc.freeze()
    finally:
        gc.enable()
    return words, sorted_text, sizes.train_sizes


def _load(name: str):
    """A module of the ladder, with its kernels."""
    from importlib import import_module

    from vocap.vocabularies.ladder.kernels import one_compiler

    with one_compiler():
        return import_module(f"vocap.vocabularies.ladder.{name}")


def _write_models(rungs, models: Path) -> list:
    """Write each model as it comes; returns the points. A full disk ends it at once, not after the last size."""
    from collections import deque
    from concurrent.futures import ThreadPoolExecutor

    points, writes = [], deque()
    with ThreadPoolExecutor(WRITERS) as writers:
        for rung in rungs:
            while writes and (writes[0].done() or len(writes) == MOST_WRITES):
                writes.popleft().result()
            writes.append(writers.submit(_write_model, models / f"{rung.point.size}.model", rung.model))
            points.append(rung.point)
    for write in writes:
        write.result()
    return points


def _write_model(path: Path, model: bytes | None) -> None:
    """Write a model, or remove an older one of a size that is out of reach now."""
    from vocap.files import replacing

    if model is None:
        path.unlink(missing_ok=True)
        return
    with replacing(path, "wb") as target:
        target.write(model)


def _parse_sizes(text: str) -> list[int]:
    from vocap.vocabularies.curve import parse_sizes

    try:
        return parse_sizes(text if ":" in text else [int(number) for number in text.split(",")])
    except ValueError as error:
        raise UsageError(f"--sizes {text}: {error}; write 1000:50000:1000 or 1000,2000") from None


def _curve(points, tables: list[Path]) -> str:
    """At most `SHOWN` of the sizes in reach, evenly spaced, and the first of those that are not, for the eye."""
    ok = [point for point in points if point.ok]
    chosen = {ok[round(number * (len(ok) - 1) / (SHOWN - 1))].size for number in range(SHOWN)} if ok else set()
    shown = [
        point
        for before, point in zip([None, *points], points, strict=False)
        if (point.size in chosen if point.ok else before is None or _kind(before) != _kind(point))
    ]
    table = _table([("size", *_NUMBERS, "status"), *((*_cells(point), point.status) for point in shown)])
    where = tables[0] if len(tables) == 1 else tables[0].parent
    return table if len(shown) == len(points) else f"{table}\n{len(shown)} of {len(points)} sizes; all: {where}"


def _kind(point) -> str:
    """The status without its numbers."""
    return point.status.partition(":")[0]


def _outline(points) -> str:
    """Where the curve starts, bends and ends."""
    from vocap.vocabularies.knee import outline

    found = outline(points)
    if found is None:
        return ""
    rows = [
        ("start", found.start, found.start_reason),
        ("knee", found.knee, "farthest above the line from start to end"),
        ("end", found.end, found.end_reason),
    ]
    return _table(
        [("", "size", *_NUMBERS, "why"), *((name, *_cells(point), why) for name, point, why in rows if point)]
    )


def _cells(point) -> tuple[str, ...]:
    numbers = (point.alp, point.alp_heldout, point.tokens_per_sentence)
    return str(point.size), *("" if x is None else f"{x:.3f}" for x in numbers)


def _table(rows) -> str:
    """Columns side by side, the last one to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([*(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False)), row[-1]])
        for row in rows
    )
