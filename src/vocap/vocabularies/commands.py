"""`vocap train`, `vocap curve`, `vocap alp` and `vocap ladder`.

Imports inside functions are of numba's kernels, which take a second that short jobs
save.
"""

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import sentencepiece

from vocap import options
from vocap.errors import VocapError, log
from vocap.files.io import aligned, file_sha256, replacing, write_json
from vocap.tables.curve import (
    Point,
    outline,
    parse_option,
    read_points,
    write_characters,
    write_points,
)
from vocap.tables.piece_index import NAME as INDEX
from vocap.tables.piece_index import PieceIndex, build, save_index, text_pieces
from vocap.text_files.records import read_blocks
from vocap.tokenizer_files.encoders import SentencePieceEncoder, load_encoders
from vocap.tokenizer_files.model_file import Pieces, read_pieces
from vocap.unigram import sentencepiece_trainer
from vocap.unigram.alp import corpus_alp
from vocap.unigram.text_settings import COVERAGE
from vocap.unigram.training_text import count_characters
from vocap.vocabularies import REVISION

if TYPE_CHECKING:
    from vocap.unigram.ladder import Rung

file = click.Path(dir_okay=False, path_type=Path)
folder = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.option(
    "--size",
    type=int,
    required=True,
    help="Ids of the model; <unk>, <s> and </s> are three of them.",
)
@click.option("--train", "train_path", type=file, required=True, help="Text, a sentence a line.")
@click.option("--heldout", type=file, required=True, help="Held-out text; may be empty.")
@click.option("--models", type=folder, required=True, help="Folder that gets {size}.model.")
@click.option(
    "--point", type=file, required=True, help="Table to write: the curve's row of this size."
)
@options.coverage(COVERAGE, "Share of characters that must be pieces.")
@options.threads("Another number can change pieces.")
@options.text_options
def train(size, train_path, heldout, models, point, coverage, threads, settings):
    """Train one unigram model, and give its ALP on all train and held-out lines.

    A size that the text cannot reach is no error: the table says why.
    """
    sentencepiece_trainer.require_reference()
    if not heldout.exists():
        raise VocapError(f"{heldout}: no such file; give held-out lines, or an empty file")
    try:
        model = sentencepiece_trainer.train(train_path, size, coverage, threads, settings=settings)
    except sentencepiece_trainer.Unreachable as unreachable:
        log.info("%s: size %d: %s", train_path, size, unreachable.reason)
        models.mkdir(parents=True, exist_ok=True)
        _write_model(models / f"{size}.model", None)
        write_points(point, [Point(size, status=unreachable.reason)])
        return
    encoder = SentencePieceEncoder(sentencepiece.SentencePieceProcessor(model_proto=model))
    on_train = corpus_alp(encoder, read_blocks(train_path))
    assert on_train is not None  # a text without lines reaches no size
    on_heldout = corpus_alp(encoder, read_blocks(heldout))
    _write_model(models / f"{size}.model", model)
    heldout_alp = on_heldout.alp if on_heldout else None
    row = Point(size, encoder.size, on_train.alp, heldout_alp, on_train.tokens_per_sentence)
    write_points(point, [row])
    log.info("%s: size %d: ALP %.3f, held-out %s", train_path, size, row.alp, row.alp_heldout)


@click.command()
@click.option(
    "--train",
    "train_path",
    type=file,
    required=True,
    help="The text that the models were trained on.",
)
@click.option("--models", type=folder, required=True, help="Folder with {size}.model.")
@click.option("-o", "--output", type=file, required=True, help="Table to write: the curve.")
@click.option(
    "--characters",
    type=file,
    required=True,
    help="Table to write: characters of the normalised text.",
)
@click.option("--index", type=file, required=True, help="Index of all models' pieces to write.")
@click.argument("points", nargs=-1, required=True, type=file)
@options.text_options
def curve(train_path, models, output, characters, index, points, settings):
    """Join the POINTS of one language's sizes into its curve; index its pieces, count
    its characters.
    """
    found = {row.size: (row, path) for path in points for row in read_points(path)}
    rows = [found[size][0] for size in sorted(found)]
    indexed = _index(rows, models, {size: path for size, (_, path) in found.items()})
    counts, lines = count_characters(train_path, settings)
    write_characters(characters, counts, lines)  # written last, after all errors of the input
    save_index(indexed, index)
    write_points(output, rows)


def _index(points: Sequence[Point], models: Path, origins: Mapping[int, Path]) -> PieceIndex:
    """The index of the models' pieces. `origins`: by size, the files that a workflow
    makes a model from again.
    """
    trained = [point for point in points if point.ok]
    # one at a time: the names of five hundred models' pieces would take a gigabyte
    vocabularies = (
        text_pieces(_checked_model(models / f"{point.size}.model", point, origins.get(point.size)))
        for point in trained
    )
    return build([point.size for point in trained], vocabularies)


def _checked_model(path: Path, point: Point, origin: Path | None) -> Pieces:
    remedy = f"delete {origin or path} and run again, and it is trained anew"
    try:
        model = read_pieces(path)
    except VocapError as error:
        raise VocapError(f"{error}; or {remedy}") from None
    if len(model.pieces) != point.pieces:
        raise VocapError(
            f"{path}: {len(model.pieces)} pieces, but its point says {point.pieces}; {remedy}"
        )
    return model


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("text", type=file)
@options.split
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Also tokens, sentences, unknown rate, as one JSON object.",
)
def alp(model, text, splits, as_json):
    """Average log probability of a TEXT under any SentencePiece or Hugging Face
    tokenizer (Equation 1).

    MODEL is a .model, a tokenizer.json, tiktoken's ranks, a tekken.json or a folder that
    holds one. Every line of TEXT
    counts; natural logarithm.
    """
    (encoder,) = load_encoders({model.name: model}, splits).values()
    result = corpus_alp(encoder, read_blocks(text))
    if result is None:
        raise VocapError(f"{text}: no lines, so no mean; give a text with a sentence a line")
    if not as_json:
        click.echo(repr(result.alp))
        return
    unknown = 0 if encoder.unk_id is None else int(result.counts[encoder.unk_id])
    found = {
        name: getattr(result, name)
        for name in ("alp", "tokens", "sentences", "tokens_per_sentence")
    }
    rate = unknown / result.tokens if result.tokens else 0.0
    click.echo(json.dumps({**found, "vocabulary": encoder.size, "unk_rate": rate}))


SHOWN = 12  # sizes in reach that are printed
WRITERS = (
    4  # threads that wait for the disk: on a busy one, each model takes as long as its training
)
RECORD = "ladder.json"  # beside the models: their points, and what they are made of
MOST_WRITES = 8  # models that wait at a time: each takes a megabyte or two


@click.command()
@click.argument("train", type=file)
@click.option(
    "-o",
    "--output",
    type=folder,
    required=True,
    help="Gets models/, curve.tsv and two more tables.",
)
@click.option(
    "--sizes",
    default="1000:50000:1000",
    help="Ids of the models, as FIRST:LAST:STEP or as a list with commas.",
)
@click.option("--heldout", type=file, help="Held-out text, for its ALP under every model.")
@options.threads("The results do not depend on it.")
@options.coverage(COVERAGE, "Share of characters that must be pieces.")
@click.option(
    "--arithmetic",
    type=click.Choice(["exact", "fast"]),
    default="exact",
    help="Every bit as in SentencePiece, or near it in less time.",
)
@options.text_options
def ladder(train, output, sizes, heldout, threads, coverage, arithmetic, settings):
    """Train models of all sizes on TRAIN at once, and measure their ALP.

    TRAIN is text, a sentence a line, or records by the ending of its name; all are
    used. Every model is the one that SentencePiece 0.2.1 trains for that size with one
    thread (with --arithmetic fast, one near it). A size that the text cannot reach has
    no model, and the reason stands in the curve. Models of an earlier call with the
    same texts and options are kept. Prints the curve, with its knee.
    """
    # Check the call
    numbers = parse_option("--sizes", sizes, "1000:50000:1000 or 1000,2000")
    files = {"train": train} | ({"heldout": heldout} if heldout else {})
    for path in files.values():
        if not path.is_file():
            raise VocapError(f"{path}: no such file; check the path")
    # Count the words
    from vocap.unigram.ladder import train_sizes
    from vocap.unigram.word_types import load_word_types

    words = load_word_types(
        {name: partial(read_blocks, path) for name, path in files.items()}, coverage, settings
    )
    log.info("%s: %d lines, %d word types", train, words.sentences["train"], words.trained)
    # Models, but for those that are there
    models = output / "models"
    models.mkdir(parents=True, exist_ok=True)
    read = map(file_sha256, [*files.values(), *filter(None, [settings.rules_path])])
    made_of = [REVISION, *read, coverage, arithmetic, *options.text_words(settings)]
    rows = _kept_points(models, made_of)
    if missing := [size for size in numbers if size not in rows]:
        for path in (
            models / RECORD,
            output / "curve.tsv",
        ):  # of other models, should this end before its last size
            path.unlink(missing_ok=True)
        with closing(train_sizes(words, missing, coverage, threads, arithmetic)) as rungs:
            rows |= {point.size: point for point in _write_models(rungs, models)}
        record = {"made_of": made_of, "points": [asdict(rows[size]) for size in sorted(rows)]}
        write_json(models / RECORD, record)
    # Tables, the curve last: without it there is no whole result
    points = [rows[size] for size in sorted(numbers)]
    save_index(_index(points, models, {}), output / INDEX)
    write_characters(output / "characters.tsv", words.characters, words.sentences["train"])
    write_points(output / "curve.tsv", points)
    log.info(
        "%s: %d of %d sizes in reach; %s", train, sum(row.ok for row in points), len(points), models
    )
    click.echo(_print_curve(points, output / "curve.tsv"))


def _kept_points(models: Path, made_of: list) -> dict[int, Point]:
    """The points, by size, that an earlier ladder recorded beside its models, if it was
    made of the same.
    """
    try:
        record = json.loads((models / RECORD).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    points = [Point(**row) for row in record["points"]] if record["made_of"] == made_of else []
    return {
        row.size: row for row in points if not row.ok or (models / f"{row.size}.model").is_file()
    }


def _write_models(rungs: "Iterable[Rung]", models: Path) -> list[Point]:
    """Write each model as it comes; returns the points. A full disk ends it at once,
    not after the last size.
    """
    points: list[Point] = []
    writes: deque[Future[None]] = deque()
    with ThreadPoolExecutor(WRITERS) as writers:
        for rung in rungs:
            while writes and (writes[0].done() or len(writes) == MOST_WRITES):
                writes.popleft().result()
            writes.append(
                writers.submit(_write_model, models / f"{rung.point.size}.model", rung.model)
            )
            points.append(rung.point)
    for write in writes:
        write.result()
    return points


def _write_model(path: Path, model: bytes | None) -> None:
    """Write a model, or remove an older one of a size that is out of reach now."""
    if model is None:
        path.unlink(missing_ok=True)
        return
    with replacing(path, "wb") as target:
        target.write(model)


def _print_curve(points: Sequence[Point], table: Path) -> str:
    """At most `SHOWN` of the sizes in reach, the first of each reason out of reach;
    start, knee and end.
    """
    numbers = ("ALP", "held-out", "tokens/line")

    def cells(point: Point) -> tuple[str, ...]:
        found = (point.alp, point.alp_heldout, point.tokens_per_sentence)
        return str(point.size), *("" if number is None else f"{number:.3f}" for number in found)

    # the table: of sizes out of reach the first of each reason
    ok = [point for point in points if point.ok]
    chosen = (
        {ok[round(number * (len(ok) - 1) / (SHOWN - 1))].size for number in range(SHOWN)}
        if ok
        else set()
    )
    reasons = [point.status.partition(":")[0] for point in points]  # without their numbers
    shown = [
        point
        for before, point, reason in zip([None, *reasons], points, reasons, strict=False)
        if (point.size in chosen if point.ok else before != reason)
    ]
    rows = [("size", *numbers, "status"), *((*cells(point), point.status) for point in shown)]
    said = "\n".join(aligned(rows, left=[len(rows[0]) - 1]))
    if len(shown) < len(points):
        said += f"\n{len(shown)} of {len(points)} sizes; all: {table}"
    found = outline(points)
    if found is None:
        return said
    # start, knee and end
    rows = [("", "size", *numbers, "why"), ("start", *cells(found.start), found.start_reason)]
    if found.knee:
        rows.append(("knee", *cells(found.knee), "farthest above the line from start to end"))
    rows.append(("end", *cells(found.end), found.end_reason))
    return said + "\n\n" + "\n".join(aligned(rows, left=[len(rows[0]) - 1]))
