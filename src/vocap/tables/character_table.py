"""`characters.tsv`: the counts of each character in a language's text, in total and per line."""

import math
import os
from collections.abc import Iterator, Mapping

from vocap.errors import VocapError
from vocap.files.tsv import number, read_tsv, write_tsv

COLUMNS = ("character", "count", "per_line")


def write_characters(path: str | os.PathLike, counts: Mapping[str, int], lines: int) -> None:
    """Write the counts of a text of `lines` lines, the most frequent character first, then by code point."""
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    write_tsv(path, COLUMNS, [(character, count, count / lines) for character, count in ordered])


def read_characters(path: str | os.PathLike) -> dict[str, float]:
    """The mean count of each character per line of the text (`per_line`), in the file's order."""
    return {character: per_line for character, _, per_line in _read(path)}


def count_lines(path: str | os.PathLike) -> int:
    """The number of lines that the characters were counted in; 0 for no row."""
    return next((round(count / per_line) for _, count, per_line in _read(path)), 0)


def _read(path: str | os.PathLike) -> Iterator[tuple[str, int, float]]:
    """The rows. Raises VocapError, naming file and line, for one that is not one new character and its numbers."""
    seen = set()
    for line, row in enumerate(read_tsv(path, COLUMNS), start=2):
        character, count, per_line = (row[column] for column in COLUMNS)
        frequency = number(per_line)
        if len(character) != 1 or character in seen or not count.isdecimal() or not 0 < frequency < math.inf:
            raise VocapError(
                f"{path}, line {line}: {character!r} {count!r} {per_line!r} is not one new character, its count "
                "and its count per line; make the file again (vocap curve)"
            )
        seen.add(character)
        yield character, int(count), frequency
