"""The models of all sizes of one language, with their curve, pieces and characters: in
memory, or in the folder that `vocap ladder` writes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vocap.result import Result
from vocap.tables.curve import Point, read_characters, read_points
from vocap.tables.piece_index import NAME, PieceIndex, load_or_build
from vocap.tokenizer_files.model_file import Pieces, read_pieces

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Ladder(Result):
    """The models of one language.

    Attributes
    ----------
    points : the rows of the curve, by rising size
    index : the pieces of the models of the sizes that are ok
    characters : mean count of each character in a line of the text, most frequent
        first; None where it is not known
    lines : those of the text, 0 where they are not known
    models : bytes of a .model by size; empty where they lie in `folder`
    folder : that of `vocap ladder`; None for a ladder in memory
    """

    points: list[Point]
    index: PieceIndex
    characters: dict[str, float] | None
    lines: int = 0
    models: Mapping[int, bytes] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def curve(self) -> "pd.DataFrame":
        """The curve: a row a size, columns as those of curve.tsv; ALP in nats a line."""
        from vocap.tables.frames import frame_of

        return frame_of(Point, self.points)

    @property
    def alp(self) -> NDArray[np.float64]:
        """ALP of the sizes that are ok, nats a line."""
        return np.array([point.alp for point in self.points if point.ok], np.float64)

    def read_pieces(self, size: int) -> Pieces:
        """The pieces of the model of a size that is ok."""
        return read_pieces(self.model(size))

    def model(self, size: int) -> bytes | Path:
        """The model of a size, or its file."""
        return self.models[size] if self.folder is None else self.folder / f"models/{size}.model"


CHARACTERS = "characters.tsv"
# the ladders of languages, or a folder with one for each
Vocabularies = str | Path | Mapping[str, Ladder]


def model_of(vocabularies: Vocabularies, language: str, size: int) -> bytes | Path:
    """A language's model of a size, or its file."""
    if isinstance(vocabularies, Mapping):
        return vocabularies[language].model(size)
    return Path(vocabularies) / language / "models" / f"{size}.model"


def read_ladder(folder: Path) -> Ladder:
    """The ladder of a folder with curve.tsv, models/ and, if it is known, characters.tsv.

    Raises VocapError for a file that is missing or damaged.
    """
    points = read_points(folder / "curve.tsv")
    sizes = [point.size for point in points if point.ok]
    index = load_or_build(folder / NAME, folder / "models", sizes)
    return Ladder(points, index, *known_characters(folder), folder=folder)


def known_characters(folder: Path) -> tuple[dict[str, float] | None, int]:
    """`Ladder.characters` and `Ladder.lines` of a folder; None and 0 without its table."""
    table = folder / CHARACTERS
    characters, lines = read_characters(table) if table.exists() else ({}, 0)
    return characters or None, lines
