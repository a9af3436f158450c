"""Models by SentencePiece's own trainer, one size after another, and their joint curve.

Nothing here imports numba: a workflow starts a process for each language and size.
"""

from collections.abc import Iterable
from pathlib import Path

import sentencepiece

from vocap.command import at_once
from vocap.tables.curve import Point, read_points, write_characters, write_points
from vocap.tables.piece_index import save_index
from vocap.text_files.records import read_blocks
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.unigram import sentencepiece_trainer
from vocap.unigram.alp import corpus_alp
from vocap.unigram.text_settings import COVERAGE, XLM_R, TextSettings
from vocap.unigram.training_text import count_characters
from vocap.vocabularies.models import index_models


def train_size(
    train: Path,
    heldout: Path,
    size: int,
    *,
    coverage: float = COVERAGE,
    threads: int = 1,
    text: TextSettings = XLM_R,
) -> tuple[Point, bytes | None]:
    """Train one model and measure its ALP on all lines of both files.

    Returns the curve's row of this size and the bytes of the model, None where the text
    cannot reach the size. Raises UsageError where the installed SentencePiece is not
    the reference.
    """
    sentencepiece_trainer.require_reference()
    try:
        with at_once():
            model = sentencepiece_trainer.train(train, size, coverage, threads, settings=text)
    except sentencepiece_trainer.Unreachable as unreachable:
        return Point(size, status=unreachable.reason), None
    encoder = SentencePieceEncoder(sentencepiece.SentencePieceProcessor(model_proto=model))
    on_train = corpus_alp(encoder, read_blocks(train))
    assert on_train is not None  # a text without lines reaches no size
    on_heldout = corpus_alp(encoder, read_blocks(heldout))
    heldout_alp = on_heldout.alp if on_heldout else None
    point = Point(size, encoder.size, on_train.alp, heldout_alp, on_train.tokens_per_sentence)
    return point, model


def join_sizes(
    train: Path,
    models: Path,
    points: Iterable[Path],
    *,
    output: Path,
    characters: Path,
    index: Path,
    text: TextSettings = XLM_R,
) -> None:
    """Join the tables `points` of one language's sizes into the curve `output`; write
    the index of the pieces of all `models`, and the counts of the `characters` of `train`.

    Raises VocapError for a model that is missing, or not that of its point.
    """
    found = {row.size: (row, path) for path in points for row in read_points(path)}
    rows = [found[size][0] for size in sorted(found)]
    indexed = index_models(rows, models, {size: path for size, (_, path) in found.items()})
    counts, lines = count_characters(train, text)
    write_characters(characters, counts, lines)  # written last, after all errors of the input
    save_index(indexed, index)
    write_points(output, rows)
