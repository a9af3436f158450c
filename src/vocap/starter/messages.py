"""The table that `vocap starter-extract` writes and `vocap starter-merge` reads, one for each package.

Columns `language key message text`, English first, then by code: the key that equal sentences share, the key of
the message that is this sentence alone (else empty), the sentence. The first rows, of language `-`, describe the
table: `package`, and `missing` with the reason where the package could not be had.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter

from vocap.errors import VocapError
from vocap.files.atomic import replacing
from vocap.files.tsv import escape, unescape
from vocap.starter.extraction import ENGLISH, Row

HEADER = "language\tkey\tmessage\ttext\n"
NOTE = "-"
Sentence = tuple[str, str, str]  # duplicate key, message key or "", the sentence


def write_messages(path: str | os.PathLike, package: str, rows: Iterable[Row], missing: str | None = None) -> None:
    """Write the (language, key, message key, sentence) rows of one package, whole or not at all."""
    with replacing(path) as file:
        file.write(HEADER)
        file.write(f"{NOTE}\tpackage\t\t{package}\n")
        if missing:
            file.write(f"{NOTE}\tmissing\t\t{escape(missing)}\n")
        for language, key, message, sentence in rows:
            file.write(f"{language}\t{key}\t{message}\t{escape(sentence)}\n")


@dataclass
class MessageFile:
    """A table open for reading; `groups` gives its languages in file order, one pass."""

    path: str
    package: str
    missing: str | None
    groups: Iterator[tuple[str, Iterator[Row]]]


def open_messages(path: str | os.PathLike) -> MessageFile:
    """Open one table; raises VocapError for a file that `vocap starter-extract` did not write."""
    rows = _rows(path)
    notes, first = {}, None
    for row in rows:
        if row[0] != NOTE:
            first = row
            break
        notes[row[1]] = row[3]
    if "package" not in notes:
        raise VocapError(f"{path}: names no package; make it again with: vocap starter-extract")
    remaining = chain([first], rows) if first else iter(())
    return MessageFile(str(path), notes["package"], notes.get("missing"), groupby(remaining, key=itemgetter(0)))


def _rows(path: str | os.PathLike) -> Iterator[Row]:
    remedy = "make it again with: vocap starter-extract"
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            if file.readline() != HEADER:
                raise VocapError(f"{path}, line 1: the columns are not {', '.join(HEADER.split())}; {remedy}")
            for number, line in enumerate(file, start=2):
                cells = tuple(line.rstrip("\n").split("\t"))
                if len(cells) != 4 or not line.endswith("\n"):
                    raise VocapError(f"{path}, line {number}: not four cells and a line end; {remedy}")
                yield cells[0], cells[1], cells[2], unescape(cells[3])
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; {remedy}") from None
    except UnicodeDecodeError as error:
        raise VocapError(f"{path}: not UTF-8 ({error.reason}); {remedy}") from None


class _Groups:
    """The languages of one table, asked for in its own order; a language that it lacks has no rows."""

    def __init__(self, file: MessageFile) -> None:
        self.file = file
        self.language, self.rows, self.place = None, None, (-1, "")
        self._advance()

    def _advance(self) -> None:
        self.language, self.rows = next(self.file.groups, (None, None))
        if self.language is not None:
            place = _place(self.language)
            if place <= self.place:
                raise VocapError(
                    f"{self.file.path}: {self.language!r} is out of order; "
                    "make it again with: vocap starter-extract"
                )
            self.place = place

    def take(self, language: str) -> list[Sentence]:
        while self.language is not None and _place(self.language) < _place(language):
            self._advance()  # a language that is not wanted
        if self.language != language:
            return []
        rows = [row[1:] for row in self.rows]
        self._advance()
        return rows


def _place(language: str) -> tuple[int, str]:
    return (language != ENGLISH, language)


def by_language(
    files: Sequence[MessageFile], languages: Iterable[str]
) -> Iterator[tuple[str, dict[str, list[Sentence]]]]:
    """Yield every language with its rows by package, the packages in the order of `files`.

    English comes first (and is read even where `languages` lacks it), then the codes in order. Holds one language
    in memory.
    """
    groups = [_Groups(file) for file in files]
    for language in sorted({*languages, ENGLISH}, key=_place):
        yield language, {group.file.package: group.take(language) for group in groups}
