"""The curve of a ladder as text: a table of some sizes, and where it begins, bends and ends."""

from collections.abc import Sequence
from pathlib import Path

from vocap.files.tsv import aligned
from vocap.tables.curve import Point, outline

SHOWN = 12  # sizes in reach that are printed

_NUMBERS = ("ALP", "held-out", "tokens/line")


def print_curve(points: Sequence[Point], tables: Sequence[Path]) -> str:
    """The table and the outline; `tables`: the files that hold all sizes."""
    return "\n\n".join(filter(None, (_curve(points, tables), _outline(points))))


def _curve(points: Sequence[Point], tables: Sequence[Path]) -> str:
    """At most `SHOWN` of the sizes in reach, evenly spaced, and the first of those out of reach."""
    ok = [point for point in points if point.ok]
    chosen = {ok[round(number * (len(ok) - 1) / (SHOWN - 1))].size for number in range(SHOWN)} if ok else set()
    shown = [
        point
        for before, point in zip([None, *points], points, strict=False)
        if (point.size in chosen if point.ok else before is None or _kind(before) != _kind(point))
    ]
    rows = [("size", *_NUMBERS, "status"), *((*_cells(point), point.status) for point in shown)]
    table = "\n".join(aligned(rows, left=[len(rows[0]) - 1]))
    where = tables[0] if len(tables) == 1 else tables[0].parent
    return table if len(shown) == len(points) else f"{table}\n{len(shown)} of {len(points)} sizes; all: {where}"


def _kind(point) -> str:
    """The status without its numbers."""
    return point.status.partition(":")[0]


def _outline(points) -> str:
    """Start, knee and end of the curve."""
    found = outline(points)
    if found is None:
        return ""
    points = [
        ("start", found.start, found.start_reason),
        ("knee", found.knee, "farthest above the line from start to end"),
        ("end", found.end, found.end_reason),
    ]
    rows = [("", "size", *_NUMBERS, "why")]
    rows += [(name, *_cells(point), why) for name, point, why in points if point]
    return "\n".join(aligned(rows, left=[len(rows[0]) - 1]))


def _cells(point) -> tuple[str, ...]:
    numbers = (point.alp, point.alp_heldout, point.tokens_per_sentence)
    return str(point.size), *("" if x is None else f"{x:.3f}" for x in numbers)
