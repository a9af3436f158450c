"""`characters.tsv`: the counts of each character in a language's text, in total and per line."""

import math
import os
from collections.abc import Mapping

from vocap.errors import VocapError
from vocap.files.tsv import number, read_tsv, write_tsv

COLUMNS = ("character", "count", "per_line")


def write_characters(path: str | os.PathLike, counts: Mapping[str, int], lines: int) -> None:
    """Write the counts of a text of `lines` lines, the most frequent character first, then by code point."""
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    write_tsv(path, COLUMNS, [(character, count, count / lines) for character, count in ordered])


def read_characters(path: str | os.PathLike) -> dict[str, float]:
    """The mean count of each character per line of the text (`per_line`), in the file's order.

    Raises as `read_counts`.
    """
    return _read(path)[1]


def read_counts(path: str | os.PathLike) -> dict[str, int]:
    """The count of each character in the text, in the file's order.

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
    for line, row in enumerate(read_tsv(path, COLUMNS), start=2):
        character, count, per_line = (row[column] for column in COLUMNS)
        where = f"{path}, line {line}: {character!r} {count!r} {per_line!r}"
        frequency = number(per_line)
        counted = count.isascii() and count.isdigit() and len(count) < 20 and int(count) > 0
        if len(character) != 1 or character in frequencies or not counted or not 0 < frequency < math.inf:
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
