"""The ladder of one text: models of all sizes at once, and their ALP."""

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from vocap.errors import UsageError, VocapError, log
from vocap.files.io import write_json
from vocap.section import ConfigSection
from vocap.tables.curve import Point, mean_counts, write_characters, write_points
from vocap.tables.ladder import Ladder
from vocap.tables.piece_index import NAME as INDEX
from vocap.tables.piece_index import PieceIndex, build, build_numbered, save_index
from vocap.text_files.text import (
    SENTENCES,
    Text,
    text_blocks,
    text_sha256,
    warn_of_memory,
)
from vocap.tokenizer_files.model_file import USER_DEFINED
from vocap.unigram.counts import Counts
from vocap.unigram.ladder import Rung, train_sizes
from vocap.unigram.text_settings import TextSettings
from vocap.unigram.training_settings import text_words
from vocap.unigram.word_types import WordTypes, load_word_types
from vocap.vocabularies import REVISION
from vocap.vocabularies.models import index_models, write_model
from vocap.vocabularies.settings import LadderTraining

# threads that wait for the disk: on a busy one, each model takes as long as its training
WRITERS = 4
RECORD = "ladder.json"  # beside the models: their points, and what they are made of
MOST_WRITES = 8  # models that wait at a time: each takes a megabyte or two
# bytes of memory for a byte of much text: dev/measurements.md
MEMORY = 10


def train_ladder(
    train: Text,
    output: str | Path | None = None,
    *,
    sizes: str | Sequence[int] | None = None,
    heldout: Text | None = None,
    settings: ConfigSection | None = None,
    **fields: object,
) -> Ladder:
    """Train unigram models of all sizes on a text at once, and measure their ALP.

    Every model equals the one that SentencePiece 0.2.1 trains for that size with one
    thread. A size that the text cannot reach has no model, and the curve states the
    reason.

    Parameters
    ----------
    train
        The text, of which all lines are used.
    output
        Folder to write models/, curve.tsv, characters.tsv and pieces.npz to. Models
        that an earlier call with the same texts and arguments wrote there are kept.
        Without it nothing is written, and the result has the models.
    sizes
        Numbers of ids of the models, <unk>, <s> and </s> included, as a rising list or
        as "first:last:step". By default those of `settings`.
    heldout
        Held-out text, whose ALP is measured under every model.
    settings, **fields
        A `LadderTraining`, or `Vocabularies` of a configuration, and fields of
        `LadderTraining` in the place of its own: coverage, threads, memory, text, counts.

    Returns
    -------
    Ladder
        `curve` is a data frame, with ALP (Equation 1) in nats per line.

    Raises
    ------
    UsageError
        For sizes that do not rise, or are too small or too large.
    VocapError
        For a file that is missing, or not UTF-8.
    """
    given = {} if sizes is None else {"sizes": sizes}
    own = LadderTraining.given(settings, **given, **fields)
    numbers = own.sizes
    texts = {"train": train} | ({} if heldout is None else {"heldout": heldout})
    blocks = {part: text_blocks(text) for part, text in texts.items()}
    for path in texts.values():
        if isinstance(path, str | Path) and not Path(path).is_file():
            raise VocapError(f"{path}: no such file; check the path")
    name = train if isinstance(train, str | Path) else SENTENCES
    warn_of_memory(name, [train], MEMORY, own.memory)
    counted = None if own.counts is None else Counts.open(own.counts, texts)
    words = load_word_types(blocks, own.coverage, own.text, counted, own.memory)
    lines = words.sentences["train"]
    if not lines and name == SENTENCES:  # a language of a run may have none
        raise UsageError("train: a text without a line; give sentences, or the path of a file")
    log.info("%s: %d lines, %d word types", name, lines, words.trained)
    how = {"coverage": own.coverage, "threads": own.threads, "memory": own.memory}
    if output is None:
        return _in_memory(words, numbers, how)
    output = Path(output)
    models = output / "models"
    models.mkdir(parents=True, exist_ok=True)
    hashes = [text_sha256(text, blocks[part]) for part, text in texts.items()]
    made_of = [REVISION, *hashes, own.coverage, *text_words(own.text)]
    kept, trained = _train_missing(words, numbers, how, models, made_of)
    points = sorted([*kept, *(rung.point for rung in trained)], key=lambda point: point.size)
    # tables, the curve last: without it there is no whole result
    index = index_models(points, models) if kept else _index_rungs(trained, own.text)
    save_index(index, output / INDEX)
    write_characters(output / "characters.tsv", words.characters, lines)
    write_points(output / "curve.tsv", points)
    reached = sum(point.ok for point in points)
    log.info("%s: %d of %d sizes in reach; %s", name, reached, len(points), models)
    return Ladder(points, index, mean_counts(words.characters, lines), lines, folder=output)


def _in_memory(words: WordTypes, sizes: Sequence[int], how: dict[str, Any]) -> Ladder:
    rungs = sorted(train_sizes(words, sizes, **how), key=lambda rung: rung.point.size)
    models = {rung.point.size: rung.model for rung in rungs if rung.model is not None}
    index = _index_rungs(rungs, words.settings)
    lines = words.sentences["train"]
    points = [rung.point for rung in rungs]
    return Ladder(points, index, mean_counts(words.characters, lines), lines, models)


def _index_rungs(rungs: Iterable[Rung], settings: TextSettings) -> PieceIndex:
    """The index of all pieces of models of one ladder that represent text."""
    trained = {rung.point.size: rung.pieces for rung in rungs if rung.pieces is not None}
    if not trained:
        return build([], [])
    # pieces of every model too
    symbols = [name for name, kind in settings.metas if kind == USER_DEFINED]
    members = [
        np.concatenate([np.arange(len(symbols)), len(symbols) + pieces.ids])
        for _, pieces in sorted(trained.items())
    ]

    def strings(numbers: np.ndarray) -> list[str]:
        ids = numbers[numbers >= len(symbols)] - len(symbols)
        return symbols + next(iter(trained.values())).strings(ids)

    return build_numbered(sorted(trained), members, strings)


def _train_missing(
    words: WordTypes,
    sizes: Sequence[int],
    how: dict[str, Any],
    models: Path,
    made_of: list[Any],
) -> tuple[list[Point], list[Rung]]:
    """Train the sizes that are not recorded beside the `models`; the points of those
    that are, and the others without the bytes of their models.
    """
    points = _kept_points(models, made_of)
    kept = [points[size] for size in sizes if size in points]
    trained: list[Rung] = []
    if missing := [size for size in sizes if size not in points]:
        # they are of other models, should this end before its last size
        (models / RECORD).unlink(missing_ok=True)
        (models.parent / "curve.tsv").unlink(missing_ok=True)
        with closing(train_sizes(words, missing, **how)) as rungs:
            trained = _write_models(rungs, models)
        points |= {rung.point.size: rung.point for rung in trained}
        record = {"made_of": made_of, "points": [asdict(points[size]) for size in sorted(points)]}
        write_json(models / RECORD, record)
    return kept, trained


def _kept_points(models: Path, made_of: list[Any]) -> dict[int, Point]:
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


def _write_models(rungs: Iterable[Rung], models: Path) -> list[Rung]:
    """Write each model as it comes; returns the rungs without models. A full disk ends
    it after some sizes, not after the last one.
    """
    written: list[Rung] = []
    writes: list[Future[None]] = []
    with ThreadPoolExecutor(WRITERS) as writers:
        for rung in rungs:
            path = models / f"{rung.point.size}.model"
            writes.append(writers.submit(write_model, path, rung.model))
            written.append(replace(rung, model=None))
            for write in writes[:-MOST_WRITES]:
                write.result()
    for write in writes:
        write.result()
    return written
