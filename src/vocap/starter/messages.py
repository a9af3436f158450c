"""The table that `vocap starter-extract` writes and `vocap starter-merge` reads, one for each package.

Columns `language key text`, English first, then by code. Its first rows, of language `-`, describe it:
`package`, and `missing` with the reason where the package could not be had.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter

from vocap.errors import VocapError
from vocap.files.atomic import replacing
from vocap.files.tsv import escape, unescape
from vocap.starter.extraction import ENGLISH

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
            file.write(f"{language}\t{key}\t{escape(sentence)}\n")


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
        notes[row[1]] = row[2]
    if "package" not in notes:
        raise VocapError(f"{path}: names no package; make it again with: vocap starter-extract")
    remaining = chain([first], rows) if first else iter(())
    return MessageFile(str(path), notes["package"], notes.get("missing"), groupby(remaining, key=itemgetter(0)))


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
                yield cells[0], cells[1], unescape(cells[2])
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; {remedy}") from None
    except UnicodeDecodeError as error:
        raise VocapError(f"{path}: not UTF-8 ({error.reason}); {remedy}") from None


@dataclass
class Text:
    """The merged sentences of one language and how many each package gave."""

    language: str
    sentences: list[str] = field(default_factory=list)
    by_package: dict[str, int] = field(default_factory=dict)


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

    def take(self, language: str) -> Iterator[tuple[str, str]]:
        while self.language is not None and _place(self.language) < _place(language):
            self._advance()  # a language that is not wanted
        if self.language == language:
            for _, key, sentence in self.rows:
                yield key, sentence
            self._advance()


def _place(language: str) -> tuple[int, str]:
    return (language != ENGLISH, language)


def merge(files: Sequence[MessageFile], languages: Iterable[str]) -> Iterator[Text]:
    """Yield the text of every language: of equal keys the earliest file's sentence stays.

    English comes first (and is read even where `languages` lacks it), then the codes in order; English text of
    any package is left out of the other languages. Holds one language and the English keys in memory.
    """
    groups = [_Groups(file) for file in files]
    languages = set(languages)
    english: set[str] = set()
    for language in sorted(languages | {ENGLISH}, key=_place):
        text, keys = Text(language), set()
        for group in groups:
            before = len(text.sentences)
            for key, sentence in group.take(language):
                if key not in keys and key not in english:
                    keys.add(key)
                    text.sentences.append(sentence)
            text.by_package[group.file.package] = len(text.sentences) - before
        if language == ENGLISH:
            english = keys
        if language in languages:
            yield text
