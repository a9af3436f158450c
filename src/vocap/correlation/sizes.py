"""The sizes of the study's vocabularies: those that a language's text gives, and holes, that it does not reach."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from vocap.errors import VocapError
from vocap.tsv import read_tsv, write_tsv
from vocap.vocabularies.curve import OK
from vocap.vocabularies.curve import read_points as read_curve


@dataclass(frozen=True)
class Size:
    """A size that the study asks for: the ALP of its vocabulary, or in `status` why there is none."""

    language: str
    size: int  # as its curve counts it
    alp: float | None  # of the training text, nats per line (Equation 1)
    status: str  # ok, or the reason, as in the curve

    @property
    def hole(self) -> bool:
        return self.status != OK


COLUMNS = tuple(field.name for field in fields(Size))


def find_sizes(vocabularies: Path, languages: Iterable[str], sizes: Sequence[int]) -> list[Size]:
    """What LANGUAGE/curve.tsv under `vocabularies` says of these sizes; VocapError for one that is not in it."""
    found = []
    for language in languages:
        path = vocabularies / language / "curve.tsv"
        curve = {point.size: point for point in read_curve(path)}
        for size in sizes:
            if size not in curve:
                raise VocapError(
                    f"{path}: no size {size}; add it to vocabularies.sizes, or take it out of the study"
                )
            found.append(Size(language, size, curve[size].alp, curve[size].status))
    return found


def write_sizes(path: str | os.PathLike, sizes: Iterable[Size]) -> None:
    """Write the sizes as a table, whole or not at all."""
    write_tsv(path, COLUMNS, map(astuple, sizes))


def read_sizes(path: str | os.PathLike) -> list[Size]:
    """What `write_sizes` wrote. Raises VocapError, naming file and line, for what is no number."""
    found = []
    for line, row in enumerate(read_tsv(path, COLUMNS), start=2):
        try:
            alp = float(row["alp"]) if row["alp"] else None
            found.append(Size(row["language"], int(row["size"]), alp, row["status"]))
        except ValueError as error:
            raise VocapError(f"{path}, line {line}: {error}; delete the file and run its stage again") from None
    return found


def holes(sizes: Iterable[Size]) -> dict[str, list[int]]:
    """The sizes that a language's text does not reach; a language without one is left out."""
    found: dict[str, list[int]] = {}
    for size in sizes:
        if size.hole:
            found.setdefault(size.language, []).append(size.size)
    return found
