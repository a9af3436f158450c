"""The ALP curve of a language: its sizes, one point for each, and the table that joins them."""

import itertools
import math
import os
from collections.abc import Iterable
from dataclasses import astuple, dataclass

from vocap.errors import VocapError
from vocap.tsv import read_tsv, write_tsv
from vocap.vocabularies import MAX_SIZE

COLUMNS = ("size", "pieces", "alp", "alp_heldout", "tokens_per_sentence", "status")
OK = "ok"
MOST_SIZES = 50_000  # far above any use; the index of pieces counts sizes in 16 bits


@dataclass(frozen=True)
class Point:
    """One row: a size, and what its model gave or, in `status`, why there is none.

    `pieces` counts all ids of the model; ALPs are in nats a line; `alp_heldout` is None without held-out text.
    """

    size: int
    pieces: int | None = None
    alp: float | None = None
    alp_heldout: float | None = None
    tokens_per_sentence: float | None = None
    status: str = OK

    @property
    def ok(self) -> bool:
        return self.status == OK


def parse_sizes(value: object) -> object:
    """Sizes as a list, or as the text `first:last:step` (both ends included).

    >>> parse_sizes("1000:3000:1000")
    [1000, 2000, 3000]

    Raises ValueError for sizes that are out of order, repeated, or too small to hold a piece.
    """
    if isinstance(value, str):
        try:
            first, last, step = (int(number) for number in value.split(":"))
        except ValueError:
            raise ValueError(f'write "first:last:step", as in "1000:50000:1000", not {value!r}') from None
        if step < 1 or last < first:
            raise ValueError(f"{value!r} names no size: last below first, or step below 1")
        if (last - first) // step >= MOST_SIZES:
            raise ValueError(f"{value!r} names more than {MOST_SIZES:,} sizes; take a larger step")
        value = list(range(first, last + 1, step))
    if not isinstance(value, list) or not value:
        raise ValueError('give a list such as [1000, 2000], or "1000:50000:1000"')
    for size in value:
        if isinstance(size, bool) or not isinstance(size, int):
            raise ValueError(f"{size!r} is not a whole number")
        if size < 5:
            raise ValueError(f"{size} is too small: three ids are <unk>, <s> and </s>")
        if size > MAX_SIZE:
            raise ValueError(f"{size} is too large: no text supports more than {MAX_SIZE:,} pieces")
    for lower, upper in itertools.pairwise(value):
        if lower == upper:
            raise ValueError(f"{upper} stands twice; remove one")
        if lower > upper:
            raise ValueError(f"{upper} comes after {lower}; sizes must rise")
    return value


def write_points(path: str | os.PathLike, points: Iterable[Point]) -> None:
    """Write rows in the order given, whole or not at all."""
    write_tsv(path, COLUMNS, map(astuple, points))


def read_points(path: str | os.PathLike) -> list[Point]:
    """The rows of a point's or a curve's file.

    Any text may stand in `status`; `size`, `alp` and `status` must be there, the other columns may be missing.
    Raises VocapError, naming file, line and column, for what is no number, sizes that do not rise, or a row that
    is `ok` and has no ALP.
    """
    points: list[Point] = []
    for number, row in enumerate(read_tsv(path, required=("size", "alp", "status")), start=2):
        where = f"{path}, line {number}"
        point = Point(
            size=_whole(where, "size", row["size"]),
            pieces=_whole(where, "pieces", row["pieces"]) if row.get("pieces") else None,
            alp=_real(where, "alp", row["alp"]),
            alp_heldout=_real(where, "alp_heldout", row.get("alp_heldout")),
            tokens_per_sentence=_real(where, "tokens_per_sentence", row.get("tokens_per_sentence")),
            status=row["status"],
        )
        if point.ok and point.alp is None:
            raise VocapError(f"{where}: status ok, but no alp; write the ALP, or the reason in status")
        for column in ("alp", "alp_heldout"):
            if (getattr(point, column) or 0) > 0:
                raise VocapError(f"{where}: {column} {row[column]} is above 0, so no mean of log probabilities")
        if points and point.size <= points[-1].size:
            raise VocapError(f"{where}: size {point.size} after {points[-1].size}; sort the rows, one for a size")
        points.append(point)
    return points


def _whole(where: str, column: str, cell: str) -> int:
    if not (cell.isascii() and cell.isdigit() and 0 < len(cell) < 16 and int(cell) > 0):
        raise VocapError(f"{where}: {column} {cell!r} is not a whole number above 0; correct it")
    return int(cell)


def _real(where: str, column: str, cell: str | None) -> float | None:
    if not cell:
        return None
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise VocapError(f"{where}: {column} {cell!r} is not a number; correct it, or leave the cell empty")
    return value
