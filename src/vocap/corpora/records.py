"""Lines of text out of plain, JSON Lines and tab-separated files."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from vocap.corpora.reading import open_blocks
from vocap.corpora.sentences import split_sentences
from vocap.corpora.settings import check_format
from vocap.errors import UsageError, VocapError
from vocap.files import naming

LONGEST_LINE = 1 << 20  # a longer line of text is passed over without being kept whole in memory
LONGEST_RECORD = 1 << 26

# What a file starts with that is no text, and what to do about it.
_NOT_TEXT = {
    b"\xff\xfe": "UTF-16; convert it: iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "UTF-16; convert it: iconv -f UTF-16 -t UTF-8",
    b"\0\0\xfe\xff": "UTF-32; convert it: iconv -f UTF-32 -t UTF-8",
    b"PAR1": "a Parquet file; write its text column as one sentence a line first",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"%PDF": "a PDF; extract its text first",
    b"7z\xbc\xaf": "a 7-Zip archive; unpack it first",
}


@dataclass(frozen=True)
class Layout:
    """How text lies in a file: `kind` text, jsonl or tsv; `field` the name (jsonl) or column (tsv)."""

    kind: str = "text"
    field: str = ""
    split_sentences: bool = False
    escaped_newlines: bool = False

    @classmethod
    def parse(cls, text: str, split_sentences: bool = False, escaped_newlines: bool = False) -> "Layout":
        """From `text`, `jsonl:FIELD` or `tsv:COLUMN`; raises UsageError for anything else."""
        try:
            kind, _, field = check_format(text).partition(":")
        except ValueError as error:
            raise UsageError(f"format {text!r}: {error}") from None
        if kind == "tsv" and field.isdecimal() and int(field) == 0:
            raise UsageError(f"format {text!r}: columns are counted from 1")
        return cls(kind, field, split_sentences, escaped_newlines)


class TextFile:
    r"""The lines of one file, as blocks of whole lines (bytes, each line ended by `\n`); iterate once.

    A field of a record may hold several lines. Counts what never becomes a line: `no_field`, records without the
    field (the index lines of Wikipedia's search dumps); `passed_over`, lines too long for memory, of
    `passed_bytes` together; `undecodable`, records that are not UTF-8 or hold half a surrogate pair. `consumed`,
    `size`, `ended`: see `Blocks`. Where the reading stops before the end of the text, the last, partial line is
    dropped. Raises VocapError, naming file and line, for a malformed record, a missing column, or a file that is
    not text.
    """

    def __init__(
        self, path: str | os.PathLike, layout: Layout, limit_bytes: int | None = None, cut: bool = False
    ) -> None:
        self.path, self.layout = path, layout
        self._blocks = open_blocks(path, limit_bytes, cut)
        self._column = int(layout.field) if layout.kind == "tsv" and layout.field.isdecimal() else 0
        self._line = 0  # lines of the file handed on so far, for messages
        self.no_field = self.passed_over = self.passed_bytes = self.undecodable = 0

    consumed = property(lambda self: self._blocks.consumed)
    size = property(lambda self: self._blocks.size)
    ended = property(lambda self: self._blocks.ended)

    def __iter__(self) -> Iterator[bytes]:
        with naming(self.path):
            yield from self._converted()

    def _converted(self) -> Iterator[bytes]:
        convert = {"text": self._plain, "jsonl": self._jsonl, "tsv": self._tsv}[self.layout.kind]
        for block in self._whole_lines():
            converted = convert(block)
            self._line += block.count(b"\n")
            if converted:
                yield converted

    def _whole_lines(self) -> Iterator[bytes]:
        records = self.layout.kind == "jsonl" or self.layout.split_sentences
        longest = LONGEST_RECORD if records else LONGEST_LINE
        waiting: list[bytes] = []
        length = 0
        first = True
        for block in self._blocks:
            if first:
                block = self._checked_start(block)
                first = False
            end = block.rfind(b"\n") + 1
            if end and length <= longest:
                yield b"".join([*waiting, block[:end]])
            elif end:
                start = block.find(b"\n") + 1
                self._pass_over(length + start)
                if start < end:
                    yield block[start:end]
            if end:
                waiting, length = [], 0
            length += len(block) - end
            if length <= longest:
                waiting.append(block[end:])
            elif records:
                raise VocapError(
                    f"{self.path}, line {self._line + 1}: longer than {longest >> 20} MiB; give one record a line"
                )
            else:
                waiting = []
        if length and self.ended:
            if length <= longest:
                yield b"".join([*waiting, b"\n"])
            else:
                self._pass_over(length + 1)

    def _pass_over(self, length: int) -> None:
        self.passed_over += 1
        self.passed_bytes += length
        self._line += 1

    def _checked_start(self, block: bytes) -> bytes:
        for start, what in _NOT_TEXT.items():
            if block.startswith(start):
                raise VocapError(f"{self.path}: not UTF-8 text but {what}")
        if block[257:262] == b"ustar":
            raise VocapError(f"{self.path}: a tar archive, not text; unpack it and give the files inside")
        return block.removeprefix(b"\xef\xbb\xbf")

    def _plain(self, block: bytes) -> bytes:
        if not self.layout.split_sentences and not self.layout.escaped_newlines:
            return block
        try:
            lines = [block[:-1].decode()]
        except UnicodeDecodeError:
            return b"".join(map(self._plain_line, block[:-1].split(b"\n")))  # and not at \r, as splitlines does
        return self._joined(lines)

    def _plain_line(self, line: bytes) -> bytes:
        try:
            return self._joined([line.decode()])
        except UnicodeDecodeError:
            return line + b"\n"

    def _joined(self, texts: list[str]) -> bytes:
        if self.layout.escaped_newlines:
            texts = [text.replace("\\n", "\n") for text in texts]
        if self.layout.split_sentences:
            texts = [sentence for text in texts for sentence in split_sentences(text)]
        return "\n".join([*texts, ""]).encode() if texts else b""

    def _jsonl(self, block: bytes) -> bytes:
        field, loads = self.layout.field, orjson.loads
        texts = []
        for number, line in enumerate(block[:-1].split(b"\n"), start=self._line + 1):
            try:
                text = loads(line).get(field)
            except (orjson.JSONDecodeError, AttributeError):
                text = self._odd_record(line, number)
            if text.__class__ is str:
                texts.append(text[:-1] if text[-1:] == "\n" else text)
            elif text is None:
                self.no_field += 1
            elif text is not _NOTHING:
                raise VocapError(
                    f"{self.path}, line {number}: field {field!r} is not text but {str(text)[:40]!r}; "
                    "name another field in the format"
                )
        return self._joined(texts)

    def _odd_record(self, line: bytes, number: int) -> object:
        """Blank lines and records that are not Unicode are no error; the rest is."""
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
                "JSON Lines has one object a line: mend or remove this line"
            ) from None
        if not isinstance(record, dict):
            found = str(record)[:40]
            raise VocapError(f"{self.path}, line {number}: not a JSON object with fields but {found!r}")
        text = record.get(self.layout.field)
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
