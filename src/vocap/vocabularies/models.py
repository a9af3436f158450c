"""The files of the models of one language, `{size}.model`, and the index of their
pieces.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from vocap.errors import VocapError
from vocap.files.io import replacing
from vocap.tables.curve import Point
from vocap.tables.piece_index import PieceIndex, build, text_pieces
from vocap.tokenizer_files.model_file import Pieces, read_pieces


def write_model(path: Path, model: bytes | None) -> None:
    """Write a model, or remove an older one of a size that is out of reach now."""
    if model is None:
        path.unlink(missing_ok=True)
        return
    with replacing(path, "wb") as target:
        target.write(model)


def index_models(
    points: Sequence[Point], models: Path, origins: Mapping[int, Path] | None = None
) -> PieceIndex:
    """The index of the pieces of `models/{size}.model`, of the points that are ok.

    `origins`: by size, the files that a workflow makes a model from again. Raises
    VocapError, naming what to delete, for a model that is damaged, or not the point's.
    """
    trained = [point for point in points if point.ok]
    # one at a time: the names of five hundred models' pieces would take a gigabyte
    vocabularies = (
        text_pieces(_read_checked(models / f"{point.size}.model", point, (origins or {})))
        for point in trained
    )
    return build([point.size for point in trained], vocabularies)


def _read_checked(path: Path, point: Point, origins: Mapping[int, Path]) -> Pieces:
    remedy = f"delete {origins.get(point.size, path)} and run again, and it is trained anew"
    try:
        model = read_pieces(path)
    except VocapError as error:
        raise VocapError(f"{error}; or {remedy}") from None
    if len(model.pieces) != point.pieces:
        raise VocapError(
            f"{path}: {len(model.pieces)} pieces, but its point says {point.pieces}; {remedy}"
        )
    return model
