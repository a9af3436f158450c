r"""Tab-separated tables: a header, UTF-8, `\n`, no quoting.

A tab, newline, carriage return or backslash inside a cell is written `\t`, `\n`, `\r`, `\\`.
"""

import math
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

from vocap.errors import VocapError
from vocap.files.atomic import replacing

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPED = re.compile(r"[\\\t\n\r]")
_ORIGINALS = {escaped: original for original, escaped in _ESCAPES.items()}


def escape(cell: str) -> str:
    r"""Make a cell safe for one column of one line.

    >>> escape("a\tb")
    'a\\tb'
    """
    # most cells hold none of them, and a search alone takes a third of the time
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], cell) if _ESCAPED.search(cell) else cell


def unescape(cell: str) -> str:
    """Undo `escape`."""
    return re.sub(r"\\[\\tnr]", lambda match: _ORIGINALS[match[0]], cell) if "\\" in cell else cell


def number(cell: str) -> float:
    """The number in a cell; NaN for any other text."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def whole_number(where: str, column: str, cell: str) -> int:
    """The number in a cell. Raises VocapError, naming its place, unless it is a whole one above 0."""
    if not (cell.isascii() and cell.isdigit() and 0 < len(cell) < 16 and int(cell) > 0):
        raise VocapError(f"{where}: {column} {cell!r} is not a whole number above 0; correct it")
    return int(cell)


def format_cell(value: object) -> str:
    """One cell: None is empty, floats keep all the digits that matter (`repr`), text is escaped."""
    if type(value) is str:  # the most frequent kind first
        return escape(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(float(value))
    return escape(str(value))


def write_tsv(path: str | Path, columns: Sequence[str], rows: Iterable[Sequence]) -> None:
    """Write `rows` (sequences in the order of `columns`), whole or not at all."""
    with replacing(path) as file:
        file.writelines(table_lines(columns, rows))


def table_lines(columns: Sequence[str], rows: Iterable[Sequence]) -> Iterator[str]:
    r"""The lines of a table, its header first.

    >>> list(table_lines(("piece", "score"), [("a\tb", -1.5)]))
    ['piece\tscore\n', 'a\\tb\t-1.5\n']
    """
    yield "\t".join(columns) + "\n"
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"a row of {len(row)} cells under {len(columns)} columns: {row!r}")
        yield "\t".join(map(format_cell, row)) + "\n"


def read_tsv(path: str | Path, required: Sequence[str] = ()) -> Iterator[dict[str, str]]:
    """Yield each line as a dict, column to cell.

    Raises VocapError, naming file and line, for a missing file or column, a folder, invalid UTF-8, a short line.
    """
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            header = file.readline().rstrip("\r\n").split("\t")
            missing = [column for column in required if column not in header]
            if missing:
                raise VocapError(f"{path}, line 1: no column {', '.join(missing)}; it has: {', '.join(header)}")
            for number, line in enumerate(file, start=2):
                cells = line.rstrip("\r\n").split("\t")
                if len(cells) != len(header):
                    raise VocapError(
                        f"{path}, line {number}: {len(cells)} cells, the header has {len(header)}; "
                        "separate columns by single tabs"
                    )
                if "\\" in line:
                    cells = map(unescape, cells)
                yield dict(zip(header, cells, strict=True))
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise VocapError(f"{path}: a folder, not a table; name the file") from None
    except UnicodeDecodeError as error:
        raise VocapError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None


def aligned(rows: Sequence[Sequence[str]], left: Container[int] = ()) -> list[str]:
    """A table as lines for a terminal: columns `left` begin below each other, the others end so.

    >>> aligned([["a", "12"], ["bcd", "3"]], left=[0])
    ['a    12', 'bcd   3']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
