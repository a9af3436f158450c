"""Lines of text out of plain, JSON Lines, tab-separated and Parquet files."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from vocap.errors import UsageError, VocapError
from vocap.files.atomic import naming
from vocap.progress import Progress
from vocap.text_files import documents
from vocap.text_files.content import (
    field_of,
    field_remedy,
    json_as_text,
    known_fields,
    listed,
    not_text,
    text_fields,
)
from vocap.text_files.lines import split_sentences
from vocap.text_files.parquet import ParquetBlocks
from vocap.text_files.patterns import check_format
from vocap.text_files.reading import LONGEST_LINE, LONGEST_RECORD, Blocks, LineBlocks

DOCUMENTS = ("jsonl", "parquet")  # formats whose records may hold line ends
PATIENCE = 10_000  # records without the field, from the first on, before the format is refused


@dataclass(frozen=True)
class Layout:
    """How text is stored in a file: `kind` text, jsonl, tsv or parquet; `field` the field or column.

    The name of a nested field is dotted: `doc.text`.
    """

    kind: str = "text"
    field: str = ""
    split_sentences: bool = False
    escaped_newlines: bool = False
    documents: bool = False

    @classmethod
    def parse(
        cls, text: str, split_sentences: bool = False, escaped_newlines: bool = False, documents: bool = False
    ) -> "Layout":
        """From `text`, `jsonl:FIELD`, `tsv:COLUMN` or `parquet:COLUMN`; raises UsageError for anything else."""
        try:
            kind, _, field = check_format(text).partition(":")
        except ValueError as error:
            raise UsageError(f"format {text!r}: {error}") from None
        if kind == "tsv" and field.isdecimal() and int(field) == 0:
            raise UsageError(f"format {text!r}: columns are counted from 1")
        if documents and (kind not in DOCUMENTS or split_sentences or escaped_newlines):
            raise UsageError(
                f"documents: whole records of {' or '.join(DOCUMENTS)}, neither of format {text!r} nor cut into "
                "sentences"
            )
        return cls(kind, field, split_sentences, escaped_newlines, documents)


class TextFile:
    r"""The lines of one file, as blocks of whole lines (bytes, each line ended by `\n`); iterate once.

    A field of a record may hold several lines; with `documents` in the layout it is cut into parts as by
    `documents.parts`, and these are the lines. Counts of input without a line: `no_field`, records without the
    field (the index lines of Wikipedia's search dumps); `passed_over`, lines too long for memory, of
    `passed_bytes` together; `undecodable`, records that are not UTF-8 or hold half a surrogate pair. `consumed`,
    `size`, `ended`: see `Blocks`. Where the reading stops before the end of the text, the last, partial line is
    dropped. Raises VocapError, naming file and line, for a malformed record, a field or column that no record has,
    a file that is not text, and JSON Lines read as plain text.
    """

    def __init__(
        self, path: str | os.PathLike, layout: Layout, limit_bytes: int | None = None, cut: bool = False
    ) -> None:
        self.path, self.layout = path, layout
        records = layout.kind == "jsonl" or layout.split_sentences or layout.documents
        longest = LONGEST_RECORD if records else LONGEST_LINE
        if layout.kind == "parquet":
            self._blocks = ParquetBlocks(path, layout.field, limit_bytes, cut, layout.documents)
        else:
            self._blocks = Blocks(path, limit_bytes, cut)
        self._lines = LineBlocks(self._blocks, longest, records, Progress(path), layout.kind != "parquet")
        self._column = int(layout.field) if layout.kind == "tsv" and layout.field.isdecimal() else 0
        self._line = 0  # lines of the file before the block at hand, for messages
        self.no_field = self.undecodable = 0
        self._found = 0  # records with the field
        self._head = b""  # the first block

    consumed = property(lambda self: self._lines.consumed)
    size = property(lambda self: self._lines.size)
    ended = property(lambda self: self._lines.ended)
    passed_over = property(lambda self: self._lines.passed_over)
    passed_bytes = property(lambda self: self._lines.passed_bytes)

    def __iter__(self) -> Iterator[bytes]:
        with naming(self.path):
            yield from self._converted()

    def _converted(self) -> Iterator[bytes]:
        convert = {"jsonl": self._jsonl, "tsv": self._tsv}.get(self.layout.kind, self._plain)
        for block in self._lines:
            self._line = self._lines.lines - block.count(b"\n")
            if not self._head:
                self._head = block = block.removeprefix(b"\xef\xbb\xbf")
                if self.layout.kind != "parquet" and (problem := not_text(block)):
                    raise VocapError(f"{self.path}: not UTF-8 text but {problem}")
                if self.layout.kind == "text" and (problem := json_as_text(block)):
                    raise VocapError(f"{self.path}: {problem}")
            if converted := convert(block):
                yield converted
        if self.layout.kind == "parquet":
            self.no_field = self._blocks.nulls
        else:
            self._check_found()

    def _check_found(self) -> None:
        """Raises VocapError where records lack the field and none has had it."""
        if self.no_field and not self._found:
            raise VocapError(
                f"{self.path}: none of the first {self.no_field:,} records has text in the field "
                f"{self.layout.field!r}; {field_remedy(known_fields(self._head))}"
            )

    def _plain(self, block: bytes) -> bytes:
        layout = self.layout
        if not (layout.split_sentences or layout.escaped_newlines or layout.documents):
            return block
        if layout.documents:
            return b"".join(map(self._plain_line, block[:-1].split(b"\n")))
        try:
            lines = [block[:-1].decode()]
        except UnicodeDecodeError:
            return b"".join(map(self._plain_line, block[:-1].split(b"\n")))  # and not at \r, as splitlines does
        return self._joined(lines)

    def _plain_line(self, line: bytes) -> bytes:
        try:
            text = line.decode()
            return self._joined([documents.unescape(text) if self.layout.documents else text])
        except UnicodeDecodeError:
            return line + b"\n"

    def _joined(self, texts: list[str]) -> bytes:
        if self.layout.documents:
            texts = [part for text in texts for part in documents.parts(text)]
        if self.layout.escaped_newlines:
            texts = [text.replace("\\n", "\n") for text in texts]
        if self.layout.split_sentences:
            texts = [sentence for text in texts for sentence in split_sentences(text)]
        return "\n".join([*texts, ""]).encode() if texts else b""

    def _jsonl(self, block: bytes) -> bytes:
        field, loads = self.layout.field, orjson.loads
        nested = "." in field
        texts = []
        for number, line in enumerate(block[:-1].split(b"\n"), start=self._line + 1):
            try:
                text = field_of(loads(line), field) if nested else loads(line).get(field)
            except (orjson.JSONDecodeError, AttributeError):
                text = self._odd_record(line, number)
            if text.__class__ is str:
                texts.append(text[:-1] if text[-1:] == "\n" and not self.layout.documents else text)
            elif text is None:
                self.no_field += 1
            elif text is not _NOTHING:
                raise VocapError(
                    f"{self.path}, line {number}: field {field!r} is not text but {str(text)[:40]!r}; "
                    f"name another field in the format: {listed(text_fields([json.loads(line)]))}"
                )
        self._found += len(texts)
        if self.no_field >= PATIENCE:
            self._check_found()
        return self._joined(texts)

    def _odd_record(self, line: bytes, number: int) -> object:
        """Blank lines and records that are not Unicode are no errors; others are."""
        if not line.strip():
            return _NOTHING
        try:
            record = json.loads(line)  # unlike orjson, takes NaN and half a surrogate pair
        except UnicodeDecodeError:
            self.undecodable += 1
            return _NOTHING
        except (ValueError, RecursionError) as error:
            raise VocapError(
                f"{self.path}, line {number}: not a JSON object ({error}); "
                "JSON Lines has one object a line: correct or remove this line"
            ) from None
        if not isinstance(record, dict):
            found = str(record)[:40]
            raise VocapError(f"{self.path}, line {number}: not a JSON object with fields but {found!r}")
        text = field_of(record, self.layout.field)
        if isinstance(text, str):
            try:
                text.encode()
            except UnicodeEncodeError:
                self.undecodable += 1
                return _NOTHING
        return text

    def _tsv(self, block: bytes) -> bytes:
        lines = block[:-1].split(b"\n")
        first = self._line + 1
        if not self._column:
            header = [name.strip() for name in lines.pop(0).decode(errors="replace").split("\t")]
            first += 1
            if self.layout.field not in header:
                raise VocapError(
                    f"{self.path}, line 1: no column {self.layout.field!r}; it has: {', '.join(header)[:400]} "
                    "(a file without a header: give the column's number)"
                )
            self._column = header.index(self.layout.field) + 1
        column = self._column
        try:
            cells = [line.split(b"\t", column)[column - 1] for line in lines]
        except IndexError:
            cells = [self._cell(line, number) for number, line in enumerate(lines, start=first)]
        return self._plain(b"\n".join([*cells, b""])) if cells else b""

    def _cell(self, line: bytes, number: int) -> bytes:
        cells = line.split(b"\t")
        if not line.strip():
            return b""
        if len(cells) < self._column:
            raise VocapError(
                f"{self.path}, line {number}: {len(cells)} columns, column {self._column} was asked for; "
                "columns are separated by single tabs"
            )
        return cells[self._column - 1]


_NOTHING = object()
