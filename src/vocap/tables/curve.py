"""Tables by size: of a language `curve.tsv`, its ALP with the knee, and
`characters.tsv`; tokens and ALP by T.

The table by T, which `vocap size` reads, is of any kind of tokenizer and has a row for
each T and language: the lines and UTF-8 bytes of its held-out text, their tokens under
the vocabulary of T ids, and their ALP (Equation 1, p_uni counted on these lines). A
text is the same for all T.
"""

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from operator import attrgetter
from pathlib import Path

import numpy as np

from vocap.errors import VocapError
from vocap.files.io import as_number, number, read_tsv, whole_number, write_tsv
from vocap.files.written import read_records, written_by

CHARACTER_COLUMNS = ("character", "count", "per_line")
COLUMNS = ("size", "pieces", "alp", "alp_heldout", "tokens_per_sentence", "status")
OK = "ok"
LEAST_SIZE = 5  # with a piece or two
# far above any text; from 1,952,257,863 SentencePiece overflows and never returns
MAX_SIZE = 100_000_000
MOST_SIZES = 50_000  # far above any use; the index of pieces counts sizes in 16 bits
_FLAT = 1e-9  # of the curve's range: below, a point lies on the chord
SIZE_COLUMNS = ("total", "language", "lines", "bytes", "tokens", "alp")


@dataclass(frozen=True)
class Point:
    """One row: a size, and the results of its model or, in `status`, the reason for its
    absence.

    `pieces` counts all ids of the model; ALPs are in nats a line; `alp_heldout` is None
    without held-out text.
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


def parse_sizes(value: object) -> list[int]:
    """Sizes as a list, or as the text `first:last:step` (both ends included) or `1000,2000`.

    >>> parse_sizes("1000:3000:1000")
    [1000, 2000, 3000]

    Raises ValueError for sizes that are out of order, repeated, or too small to hold a
    piece.
    """
    if isinstance(value, str):
        value = _sizes_of(value)
    if isinstance(value, tuple | range):
        value = list(value)
    if not isinstance(value, list) or not value:
        raise ValueError('give a list such as [1000, 2000], or "1000:50000:1000"')
    value = list(map(as_number, value))
    for size in value:
        if type(size) is not int or not LEAST_SIZE <= size <= MAX_SIZE:
            raise ValueError(
                f"{size!r} is no whole number from {LEAST_SIZE} to {MAX_SIZE:,}; three ids are "
                "<unk>, <s> and </s>"
            )
    for lower, upper in itertools.pairwise(value):
        if lower >= upper:
            raise ValueError(f"{upper} comes after {lower}; sizes must rise")
    return value


def _sizes_of(text: str) -> list[int]:
    """The sizes that a text names; ValueError for any other text."""
    try:
        numbers = [int(as_number(part)) for part in re.split("[:,]", text)]
        if ":" not in text:
            return numbers
        first, last, step = numbers
    except ValueError:
        raise ValueError(
            f'write "first:last:step", as in "1000:50000:1000", or "1000,2000", not {text!r}'
        ) from None
    if step < 1 or last < first:
        raise ValueError(f"{text!r} names no size: last below first, or step below 1")
    if (last - first) // step >= MOST_SIZES:
        raise ValueError(f"{text!r} names more than {MOST_SIZES:,} sizes; take a larger step")
    return list(range(first, last + 1, step))


def write_points(path: str | Path, points: Iterable[Point]) -> None:
    """Write rows in the order given, whole or not at all."""
    write_tsv(path, COLUMNS, map(astuple, points))


def read_points(path: str | Path) -> list[Point]:
    """The rows of a point's or a curve's file.

    Any text may stand in `status`; `size`, `alp` and `status` must be there, the other
    columns may be missing. Raises VocapError, naming file, line and column, for a cell
    that is no number, sizes that do not rise, or a row that is `ok` and has no ALP.
    """
    points: list[Point] = []
    for line, row in enumerate(read_tsv(path, required=("size", "alp", "status")), start=2):
        where = f"{path}, line {line}"
        alp, heldout, tokens = (_real(where, column, row.get(column)) for column in COLUMNS[2:5])
        point = Point(
            whole_number(where, "size", row["size"]),
            whole_number(where, "pieces", row["pieces"]) if row.get("pieces") else None,
            alp,
            heldout,
            tokens,
            row["status"],
        )
        if (point.ok and alp is None) or max(alp or 0, heldout or 0) > 0:
            raise VocapError(
                f"{where}: alp {row['alp']!r}, status {row['status']!r}; an ALP, which status ok "
                "has, is at most 0: correct it, or write the reason in status"
            )
        if points and point.size <= points[-1].size:
            raise VocapError(
                f"{where}: size {point.size} after {points[-1].size}; sort the rows, one for a size"
            )
        points.append(point)
    return points


def _real(where: str, column: str, cell: str | None) -> float | None:
    if not cell:
        return None
    value = number(cell)
    if not math.isfinite(value):
        raise VocapError(
            f"{where}: {column} {cell!r} is not a number; correct it, or leave the cell empty"
        )
    return value


@dataclass(frozen=True)
class Outline:
    """The first and last point with a model, the point at the bend (None: there is
    none), and the reasons.

    `best_heldout` is the point with the highest ALP on held-out lines, the smallest of
    equals; None without them.
    """

    start: Point
    knee: Point | None
    end: Point
    best_heldout: Point | None
    start_reason: str
    end_reason: str


def find_knee(size: np.ndarray, alp: np.ndarray) -> int | None:
    """Index of the point that lies farthest above the straight line from a curve's
    first point to its last.

    `size` [n] rises, `alp` [n]. Of equals the first. Up to there a piece brings more
    ALP than on average over the curve, from there on less. As the point does not change
    when an axis is scaled, this is the knee of Kneedle (Satopää et al. 2011) without
    smoothing. It depends on where the curve ends: knees of curves that end at different
    sizes do not compare. None with fewer than three points, or where none lies above
    the line.
    """
    size, alp = np.asarray(size, float), np.asarray(alp, float)
    if len(size) < 3:
        return None
    above = alp - alp[0] - (alp[-1] - alp[0]) * (size - size[0]) / (size[-1] - size[0])
    farthest = int(np.argmax(above))
    return farthest if above[farthest] > _FLAT * np.ptp(alp) else None


def outline(points: Sequence[Point]) -> Outline | None:
    """The outline of a curve of all sizes asked for, in rising order; None where no
    size has a model.
    """
    reached = [point for point in points if point.ok]
    if not reached:
        return None
    first, last = points.index(reached[0]), points.index(reached[-1])
    knee = find_knee(
        np.array([point.size for point in reached]), np.array([point.alp for point in reached])
    )
    measured = [point for point in reached if point.alp_heldout is not None]
    return Outline(
        start=points[first],
        knee=None if knee is None else reached[knee],
        end=points[last],
        best_heldout=max(measured, key=attrgetter("alp_heldout"), default=None),
        start_reason=points[first - 1].status if first else "the smallest size asked for",
        end_reason=points[last + 1].status
        if last + 1 < len(points)
        else "the largest size asked for",
    )


@dataclass(frozen=True)
class CharacterCount:
    """A row of characters.tsv: a character of a text and its mean count in a line."""

    character: str
    count: int
    per_line: float


def write_characters(path: str | Path, counts: Mapping[str, int], lines: int) -> None:
    """Write the counts of a text's characters, over `lines` lines, the most frequent
    first, then by code point.
    """
    means = mean_counts(counts, lines)
    write_tsv(
        path, CHARACTER_COLUMNS, [(one, counts[one], per_line) for one, per_line in means.items()]
    )


def mean_counts(counts: Mapping[str, int], lines: int) -> dict[str, float]:
    """The mean count of each character in a line, of its counts in `lines` lines: the
    most frequent first, then by code point.
    """
    ordered = sorted(counts, key=lambda character: (-counts[character], character))
    return {character: counts[character] / lines for character in ordered}


def read_characters(path: str | Path) -> tuple[dict[str, float], int]:
    """The mean count of each character per line of the text (`per_line`), in the file's
    order, and the number of lines that they were counted in; 0 for no row.
    """
    rows = read_records(path, CharacterCount, "curve")
    lines = round(rows[0].count / rows[0].per_line) if rows else 0
    return {row.character: row.per_line for row in rows}, lines


@dataclass(frozen=True)
class Measured:
    """One T on one language's held-out lines; `alp` in nats a line."""

    total: int
    language: str
    lines: int
    bytes: int
    tokens: int
    alp: float

    @property
    def tokens_per_byte(self) -> float:
        return self.tokens / self.bytes


Sizes = dict[int, dict[str, Measured]]  # by T, then language


def write_sizes(path: str | Path, rows: Iterable[Measured]) -> None:
    """Write rows by rising T, the languages of each in the order given; whole or not at
    all.
    """
    write_tsv(path, SIZE_COLUMNS, map(astuple, sorted(rows, key=attrgetter("total"))))


def read_sizes(path: str | Path) -> Sizes:
    """The rows by T, rising, and by language, of a table of `vocap joint` or `vocap bpe`.

    Raises VocapError as `read_records`, and where a T lacks a language of another.
    """
    sizes: Sizes = {}
    with written_by("joint --curve", path):
        for row in sorted(read_records(path, Measured, "joint --curve"), key=attrgetter("total")):
            sizes.setdefault(row.total, {})[row.language] = row
        if len(set(map(frozenset, sizes.values()))) > 1:
            raise ValueError("a T without all languages")
    return sizes
