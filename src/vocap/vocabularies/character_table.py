"""`characters.tsv`: how often each character stands in a language's text, in all and in a line."""

import math
import os
from collections.abc import Mapping

from vocap.errors import VocapError
from vocap.tsv import read_tsv, write_tsv

COLUMNS = ("character", "count", "per_line")


def write_characters(path: str | os.PathLike, counts: Mapping[str, int], lines: int) -> None:
    """Write the counts of a text of `lines` lines, the most frequent character first, then by code point."""
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    write_tsv(path, COLUMNS, [(character, count, count / lines) for character, count in ordered])


def read_characters(path: str | os.PathLike) -> dict[str, float]:
    """How often each character stands in a line of the text, on average (`per_line`), in the file's order.

    Raises as `read_counts`.
    """
    return _read(path)[1]


def read_counts(path: str | os.PathLike) -> dict[str, int]:
    """How often each character stands in the text, in the file's order.

    Raises VocapError, naming file and line, for a row that is not one new character and its two numbers, or whose
    numbers belong to another number of lines than those of the first row.
    """
    return _read(path)[0]


def count_lines(path: str | os.PathLike) -> int:
    """The number of lines that the characters were counted in; 0 for no row. Raises as `read_counts`."""
    counts, frequencies = _read(path)
    return next((round(counts[one] / frequencies[one]) for one in counts), 0)


def _read(path: str | os.PathLike) -> tuple[dict[str, int], dict[str, float]]:
    """`count` and `per_line` of each character."""
    counts: dict[str, int] = {}
    frequencies: dict[str, float] = {}
    lines = None
    for number, row in enumerate(read_tsv(path, COLUMNS), start=2):
        character, count, per_line = (row[column] for column in COLUMNS)
        where = f"{path}, line {number}: {character!r} {count!r} {per_line!r}"
        frequency = _positive(per_line)
        if len(character) != 1 or character in frequencies or not _whole(count) or frequency is None:
            raise VocapError(
                f"{where} is not one new character, its count and its count per line; "
                "make the file again (vocap curve)"
            )
        lines = lines or int(count) / frequency
        if not math.isclose(int(count) / frequency, lines, rel_tol=1e-6):
            raise VocapError(
                f"{where}: a text of {int(count) / frequency:g} lines, and of {lines:g} in line 2; "
                "make the file again (vocap curve)"
            )
        counts[character], frequencies[character] = int(count), frequency
    return counts, frequencies


def _whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20 and int(text) > 0


def _positive(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < math.inf else None
