"""The effect of each number of new pieces, before any is added: the table of `vocap extend --pieces A:B:C`.

Of the tokenizer only its encoder is used: any kind will do whose new pieces have the ids behind all old ones.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np

from vocap.files.atomic import replacing_directory
from vocap.files.tsv import aligned, write_tsv
from vocap.tables.curve import find_knee
from vocap.unigram.alp import CorpusAlp

TABLE, CHART = "sweep.tsv", "sweep.svg"
OK, KNEE = "ok", "knee"


@dataclass(frozen=True)
class Point:
    """One number of new pieces. The row of 0 pieces is the tokenizer as it is; None where a value is not measured.

    Of the added language's text: `tokens_per_line`, `saved_share` (of the tokens without new pieces), `never_used`
    (new pieces that do not occur) and `alp` (Equation 1, nats a line). Of the other languages' lines:
    `changed_lines` and `changed_share`. `rows`: those that the model gains, fewer than pieces where it has spare
    ones; `memory_mb`: theirs, in millions of bytes.
    """

    pieces: int
    total: int
    tokens_per_line: float | None = None
    saved_share: float | None = None
    changed_lines: int | None = None
    changed_share: float | None = None
    never_used: int | None = None
    rows: int | None = None
    memory_mb: float | None = None
    alp: float | None = None
    status: str = OK


def round_up(before: int, pieces: int, multiple: int) -> int:
    """The least number of new pieces, at least `pieces`, with which the number of ids is a multiple.

    >>> round_up(1000, 20, 128)
    24
    """
    return pieces + -(before + pieces) % multiple


def round_down(before: int, pieces: int, multiple: int) -> int:
    """The largest number of new pieces, at most `pieces`, with which the ids are a multiple; 0 if none."""
    return max(0, pieces - (before + pieces) % multiple)


def count_changed(
    encode_batch: Callable[[list[str]], list[list[int]]], first_new: int, blocks: Iterable[list[str]]
) -> int:
    """The lines that the extended tokenizer segments otherwise than the one without ids from `first_new` on.

    Those are the lines whose segmentation has a new id. A line without one keeps its path, which is one of the old
    ones and has won over these and more; of equals the one that is found first wins in both.
    """
    return sum(max(ids, default=-1) >= first_new for lines in blocks for ids in encode_batch(lines))


def measure(
    before: CorpusAlp,
    after: CorpusAlp,
    total: int,
    changed: int | None,
    lines: int,
    table: tuple[int, int] | None,
) -> Point:
    """The row of one extended tokenizer.

    `before`, `after`: the added language's text under both tokenizers; `total`: ids of the old one. `changed` of
    `lines` lines of other languages (None without any); `table`: rows of the model, if there is one, and the bytes
    of a row.
    """
    pieces = len(after.counts) - total
    rows, row_bytes = (pieces, None) if table is None else (total + pieces - table[0], table[1])
    return Point(
        pieces,
        total + pieces,
        after.tokens_per_sentence,
        1 - after.tokens / before.tokens if before.tokens else None,
        changed,
        changed / lines if lines and changed is not None else None,
        int(np.count_nonzero(after.counts[total:] == 0)),
        rows,
        None if row_bytes is None else rows * row_bytes / 1e6,
        after.alp,
    )


def mark_knee(points: Sequence[Point]) -> list[Point]:
    """The points, the status of one of them `KNEE`: the farthest above the line from no new piece to the last.

    In the curve of `saved_share` over `pieces` (`find_knee`); points without a value are left out.
    """
    known = [place for place, point in enumerate(points) if point.saved_share is not None]
    knee = find_knee(*(np.array([getattr(points[n], key) for n in known]) for key in ("pieces", "saved_share")))
    return [
        replace(point, status=KNEE) if knee is not None and place == known[knee] else point
        for place, point in enumerate(points)
    ]


def write_sweep(out: Path, points: Sequence[Point], chart: bytes | None) -> None:
    """Write `TABLE`, and `CHART` where there is one, to the folder `out`, whole or not at all."""
    with replacing_directory(out, owned=(TABLE, CHART)) as folder:
        columns = tuple(field.name for field in fields(Point))
        write_tsv(folder / TABLE, columns, [tuple(asdict(point).values()) for point in points])
        if chart is not None:
            (folder / CHART).write_bytes(chart)


HEADER = ("pieces", "total", "tokens/line", "saved", "lines changed", "never used", "memory MB", "ALP", "status")


def shown(points: Sequence[Point]) -> list[str]:
    """The table as lines: columns to the right, the status to the left."""
    rows = [HEADER, *map(_cells, points)]
    kept = [n for n in range(len(HEADER)) if any(row[n] for row in rows[1:])]
    left = [place for place, n in enumerate(kept) if HEADER[n] == "status"]
    return aligned([[row[n] for n in kept] for row in rows], left)


def _cells(point: Point) -> tuple[str, ...]:
    def cell(value, form: str, unit: str = "") -> str:
        return "" if value is None else f"{value:{form}}{unit}"

    changed = cell(point.changed_lines, ",")
    if point.changed_share is not None:
        changed += f" ({100 * point.changed_share:.2f} %)"
    return (
        f"{point.pieces:,}",
        f"{point.total:,}",
        cell(point.tokens_per_line, ".2f"),
        cell(None if point.saved_share is None else 100 * point.saved_share, ".1f", " %"),
        changed,
        cell(point.never_used, ","),
        cell(point.memory_mb, ".1f"),
        cell(point.alp, ".2f"),
        "" if point.status == OK else point.status,
    )
