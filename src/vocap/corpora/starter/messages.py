"""The table that `vocap starter-extract` writes and `vocap starter-merge` reads, one for each package.

Columns `language key text`, English first, then by code. Its first rows, of language `-`, say what it is:
`package`, and `missing` with the reason where the package could not be had.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter

from vocap.errors import VocapError
from vocap.files import replacing
from vocap.tsv import escape, unescape

HEADER = "language\tkey\ttext\n"
NOTE = "-"


def write_messages(
    path: str | os.PathLike, package: str, rows: Iterable[tuple[str, str, str]], missing: str | None = None
) -> None:
    """Write the (language, key, sentence) rows of one package, whole or not at all."""
    with replacing(path) as file:
        file.write(HEADER)
        file.write(f"{NOTE}\tpackage\t{package}\n")
        if missing:
            file.write(f"{NOTE}\tmissing\t{escape(missing)}\n")
        for language, key, sentence in rows:
            file.write(f"{language}\t{key}\t{sentence}\n")


@dataclass
class MessageFile:
    """A table open for reading; `groups` gives its languages in file order, one pass."""

    path: str
    package: str
    missing: str | None
    groups: Iterator[tuple[str, Iterator[tuple[str, str, str]]]]


def open_messages(path: str | os.PathLike) -> MessageFile:
    """Open one table; raises VocapError for a file that `vocap starter-extract` did not write."""
    rows = _rows(path)
    notes, first = {}, None
    for row in rows:
        if row[0] != NOTE:
            first = row
            break
        notes[row[1]] = unescape(row[2])
    if "package" not in notes:
        raise VocapError(f"{path}: names no package; make it again with: vocap starter-extract")
    rest = chain([first], rows) if first else iter(())
    return MessageFile(str(path), notes["package"], notes.get("missing"), groupby(rest, key=itemgetter(0)))


def _rows(path: str | os.PathLike) -> Iterator[tuple[str, str, str]]:
    remedy = "make it again with: vocap starter-extract"
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            if file.readline() != HEADER:
                raise VocapError(f"{path}, line 1: the columns are not language, key, text; {remedy}")
            for number, line in enumerate(file, start=2):
                cells = tuple(line.rstrip("\n").split("\t"))
                if len(cells) != 3 or not line.endswith("\n"):
                    raise VocapError(f"{path}, line {number}: not three cells and a line end; {remedy}")
                yield cells
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; {remedy}") from None
    except UnicodeDecodeError as error:
        raise VocapError(f"{path}: not UTF-8 ({error.reason}); {remedy}") from None
