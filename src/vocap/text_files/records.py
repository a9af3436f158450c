"""Lines of text out of plain, JSON Lines, tab-separated and Parquet files, the reader
of text of all commands (`read_blocks`), and the files of one language.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from vocap.errors import VocapError, listed
from vocap.storage.remote import Shard, address_of
from vocap.text_files import RECORDS, Layout, kind_of
from vocap.text_files.lines import (
    LineFile,
    Place,
    check_encoding,
    decode_line,
    decoded,
    document_lines,
    escape_line,
    holds_documents,
    path_of,
    split_sentences,
    survey,
    unescape_line,
)
from vocap.text_files.parquet import Footer, open_parquet, text_columns

PATIENCE = 10_000  # records without the field, from the first on, before the format is refused
PARQUET_ROWS = 256  # read at a time
# usual for a field of text
NAMES = (
    "text",
    "sentence",
    "content",
    "body",
    "raw_content",
    "document",
    "article",
)

if TYPE_CHECKING:
    from vocap.text_files.filters import RecordFilter  # pydantic

_HEAD = 200  # lines or records that tell the fields of a file
_PROBE_BYTES = 1 << 24  # of a file as stored, for a first block of lines
_LONG_SHARE = 0.1  # of overlong lines, from which the lines are whole documents


class TextFile(LineFile):
    r"""The text of one file by its layout, as blocks of whole lines (bytes, each ended
    by `\n`); iterate once.

    A field of a record may hold several lines; with `documents` in the layout it is cut
    into `document_lines`, and these are the lines. What is no Unicode, half a surrogate pair
    too, becomes a line that is not UTF-8. `no_field` counts records without the field
    (the index lines of Wikipedia's search dumps). `aligned`: each record is one line,
    with `escape_line`, empty where it has no text. `row_groups`: the footer of a Parquet
    file, and the numbers of those that are read. `chosen`: filters that leave out
    records. Raises VocapError, naming file and line, for a malformed record, a field or
    column that no record has, a damaged file, and one whose name tells another format.
    """

    def __init__(
        self,
        place: Place,
        layout: Layout,
        limit_bytes: int | None = None,
        cut: bool = False,
        aligned: bool = False,
        row_groups: tuple[Footer, Sequence[int]] | None = None,
        chosen: "RecordFilter | None" = None,
    ) -> None:
        super().__init__(place, limit_bytes, cut)
        self.row_groups = row_groups
        self.layout, self.aligned, self.no_field = layout, aligned, 0
        self.chosen = chosen
        # the fields of conditions, and those that a record had
        self._asked = chosen.filters.fields if chosen else []
        self._answered: set[str] = set()
        self.undecoded = 0 if layout.kind == "jsonl" else None
        self._column = int(layout.field) if layout.kind == "tsv" and layout.field.isdecimal() else 0
        self._found = 0  # records with the field
        self._head = b""  # the first block

    def __iter__(self) -> Iterator[bytes]:
        if self.layout.kind == "parquet":
            yield from self._parquet()
            return
        named = kind_of(self.path)
        if self.layout.kind == "text" and named in RECORDS:
            format = f"{named}:FIELD"
            with suppress(VocapError):
                format = detect_file(self.place).format
            raise VocapError(f'{self.path}: {named} by its name; write format: "{format}"')
        convert = {"jsonl": self._jsonl, "tsv": self._tsv}.get(self.layout.kind, self._plain)
        for block in super().__iter__():
            self._head = self._head or block
            if converted := convert(block):
                yield converted
        self._check_found()

    def _joined(self, texts: list[str]) -> bytes:
        """The texts as lines; one line end that a text has itself is not doubled."""
        if self.chosen:
            texts = self.chosen.keep_texts(texts)
        if self.aligned:
            texts = list(map(escape_line, texts))
        elif self.layout.documents:
            texts = [part for text in texts for part in document_lines(text)]
        else:
            texts = [text.removesuffix("\n") for text in texts]
        if self.layout.escaped_newlines:
            texts = [text.replace("\\n", "\n") for text in texts]
        if self.layout.split_sentences:
            texts = [sentence for text in texts for sentence in split_sentences(text)]
        return "\n".join([*texts, ""]).encode("utf-8", "surrogatepass") if texts else b""

    def _plain(self, block: bytes) -> bytes:
        if not (self.chosen or self.layout.split_sentences or self.layout.escaped_newlines):
            return block
        return self._joined(block[:-1].decode("utf-8", "surrogateescape").split("\n"))

    def _jsonl(self, block: bytes) -> bytes:
        field, texts, records = self.layout.field, [], []
        for number, line in enumerate(block[:-1].split(b"\n"), start=self.before + 1):
            try:
                record = orjson.loads(line)
                text = field_of(record, field)
            except (orjson.JSONDecodeError, AttributeError):
                if not line.strip():
                    continue
                record = self._odd_record(line, number)
                text = field_of(record, field)
            if text.__class__ is str:
                texts.append(text)
                self._found += 1
                if self._asked:
                    records.append(record)
            elif text is None:
                self.no_field += 1
                if self.aligned:
                    texts.append("")
            else:
                fields = text_fields([line])
                raise VocapError(
                    f"{self.path}, line {number}: field {field!r} is not text but "
                    f"{str(text)[:40]!r}; "
                    + (
                        _remedy(fields)
                        if fields
                        else "correct or remove this record: it holds no text"
                    )
                )
        if self.no_field >= PATIENCE:
            self._check_found()
        if self.chosen and records:
            columns = {name: [field_of(one, name) for one in records] for name in self._asked}
            self._answered |= {
                name for name in columns if any(v is not None for v in columns[name])
            }
            texts = [texts[number] for number in self.chosen.matching(columns, self.path)]
        return self._joined(texts)

    def _odd_record(self, line: bytes, number: int) -> dict[str, Any]:
        """A record as the standard library reads it, which takes NaN and what is no
        Unicode.
        """
        self.undecoded = (self.undecoded or 0) + (decode_line(line) is None)
        try:
            record = json.loads(line.decode("utf-8", "surrogateescape"))
            if not isinstance(record, dict):
                raise ValueError(f"it has no fields: {str(record)[:40]!r}")
        except (ValueError, RecursionError) as error:
            raise VocapError(
                f"{self.path}, line {number}: not a JSON object ({error}); JSON Lines has one "
                "object a line (of an array: jq -c '.[]' FILE > FILE.jsonl): correct or remove "
                "this line"
            ) from None
        return record

    def _check_found(self) -> None:
        """Raise VocapError where records lack the field, or one of a condition, and none
        has had it.
        """
        if absent := [name for name in self._asked if self._found and name not in self._answered]:
            raise VocapError(
                f"{self.path}: no record has the field {absent[0]!r}, which `where` asks for; "
                "correct its name"
            )
        if self.no_field and not self._found:
            fields = text_fields(self._head.split(b"\n", _HEAD)[:_HEAD])
            raise VocapError(
                f"{self.path}: none of the first {self.no_field:,} records has text in the field "
                f"{self.layout.field!r}; {_remedy(fields)}"
            )

    def _tsv(self, block: bytes) -> bytes:
        lines = block[:-1].split(b"\n")
        first = self.before + 1
        if not self._column:
            header = [name.strip() for name in lines.pop(0).decode(errors="replace").split("\t")]
            first += 1
            if self.layout.field not in header:
                raise VocapError(
                    f"{self.path}, line 1: no column {self.layout.field!r}; it has: "
                    f"{', '.join(header)[:400]} "
                    "(a file without a header: give the column's number)"
                )
            self._column = header.index(self.layout.field) + 1
        cells = []
        for number, line in enumerate(lines, first):
            row = line.split(b"\t", self._column)
            if len(row) < self._column and line.strip():
                raise VocapError(
                    f"{self.path}, line {number}: {len(row)} columns, column {self._column} was "
                    "asked for; columns are separated by single tabs"
                )
            cells.append(row[self._column - 1] if len(row) >= self._column else b"")
        return self._plain(b"\n".join([*cells, b""])) if cells else b""

    def _parquet(self) -> Iterator[bytes]:
        """The column's texts; `consumed` in proportion to the rows read."""
        footer, numbers = self.row_groups or (None, None)
        with open_parquet(self.place, footer) as (file, self.size):
            import pyarrow  # of the extra [workflow]

            columns = text_columns(file)
            if self.layout.field not in columns:
                known = listed([name for name, is_text in columns.items() if is_text]) or "none"
                raise VocapError(
                    f"{self.path}: no column of text {self.layout.field!r}; columns of text: "
                    f"{known}"
                )
            leaves = {file.schema.column(number).path for number in range(len(file.schema))}
            if absent := [name for name in self._asked if name not in leaves]:
                raise VocapError(
                    f"{self.path}: no column {absent[0]!r}, which `where` asks for; columns: "
                    f"{listed(sorted(leaves))}"
                )
            self.undecoded = 0 if columns[self.layout.field] else None  # text is UTF-8 there
            rows, length = 0, file.metadata.num_rows
            if footer is not None and numbers is not None:
                self.size = int(footer.column[numbers].sum())
                length = sum(file.metadata.row_group(number).num_rows for number in numbers)
            for batch in file.iter_batches(
                PARQUET_ROWS,
                numbers,
                columns=[self.layout.field, *self._asked],
                use_threads=False,
            ):
                rows += batch.num_rows
                if self.chosen and self._asked:
                    asked = {name: _column(batch, name) for name in self._asked}
                    batch = batch.take(pyarrow.array(self.chosen.matching(asked, self.path)))
                values = _column(batch, self.layout.field)
                self.no_field += values.null_count
                self.consumed = self.size * rows // length
                # bytes, since they may not be UTF-8
                values = values.cast(pyarrow.large_binary())
                values = values.fill_null(b"") if self.aligned else values.drop_null()
                texts = [value.decode("utf-8", "surrogateescape") for value in values.to_pylist()]
                if converted := self._joined(texts):
                    yield converted
                if self.limit_bytes is not None and self.limit_bytes <= self.consumed < self.size:
                    return
            self.consumed, self.ended = self.size, numbers is None


def _column(batch: Any, name: str) -> Any:
    """The values of one column of a batch of Arrow's, by its dotted name."""
    from pyarrow import compute

    if name in batch.schema.names:
        return batch.column(name)
    first, *inner = name.split(".")
    values = batch.column(first)
    for part in inner:
        values = compute.struct_field(values, part)
    return values


def detect_file(place: Place) -> Layout:
    """The format of a file by the ending of its name; its field of text and length of
    lines by its beginning.

    Raises VocapError for a file without text, and as `TextFile`.
    """
    path = address_of(path_of(place))
    kind, fields = kind_of(path), [""]
    if kind == "parquet":
        with open_parquet(place) as (file, _):
            fields = _likeliest_first(
                {name: 0 for name, is_text in text_columns(file).items() if is_text}
            )
    elif kind != "text":
        block = next(iter(LineFile(place, _PROBE_BYTES)), b"")
        lines = block[:-1].split(b"\n")[:_HEAD]
        fields = text_fields(lines) if kind == "jsonl" else _text_cells(lines)
    if not fields:
        held = "records" if kind == "jsonl" else "columns"
        remedy = ""
        if kind == "jsonl" and block.lstrip().startswith(b"["):
            remedy = "; of an array: jq -c '.[]' FILE > FILE.jsonl"
        raise VocapError(f"{path}: its {held} hold no text{remedy}")
    layout = Layout(kind, fields[0])
    file = TextFile(place, layout, _PROBE_BYTES)
    block = next(iter(file), b"")
    if not block:
        return replace(layout, split_sentences=file.size > 0)
    found = survey(block)
    check_encoding(file, found.read, found.invalid_utf8, found.with_nul)
    return replace(layout, split_sentences=found.overlong > _LONG_SHARE * found.read)


def field_of(record: dict[str, Any], name: str) -> object:
    """The value of a field, None where there is none; `doc.text` is the field of that
    name, or `text` in `doc`.
    """
    value = record.get(name)
    if value is None and "." in name:
        value = record
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
    return value


def text_fields(lines: Iterable[bytes]) -> list[str]:
    """The fields of JSON records that hold text, nested ones dotted; usual names first,
    then by amount of text.

    >>> text_fields([b'{"id": 1, "url": "https://a.example", "doc": {"text": "Yes."}}'])
    ['doc.text', 'url']
    """
    amounts: Counter[str] = Counter()
    for line in lines:
        with suppress(orjson.JSONDecodeError):
            pending = [("", orjson.loads(line))]
            while pending:
                name, value = pending.pop(0)
                if isinstance(value, dict):
                    pending += [
                        (f"{name}.{key}" if name else key, inner) for key, inner in value.items()
                    ]
                elif isinstance(value, str) and name:
                    amounts[name] += len(value)
    return _likeliest_first(amounts)


def _text_cells(lines: Sequence[bytes]) -> list[str]:
    """The columns of text of a table: by usual names in its first row, else the
    longest, by number from 1.
    """
    rows = [
        line.decode(errors="replace").rstrip("\r").split("\t") for line in lines if line.strip()
    ]
    columns = list(zip(*rows, strict=False))
    if usual := [column[0] for column in columns if column[0].strip().lower() in NAMES]:
        return usual
    lengths = [sum(map(len, column)) for column in columns]
    return [str(lengths.index(max(lengths)) + 1)] if lengths else []


def _likeliest_first(amounts: Mapping[str, int]) -> list[str]:
    """Names of fields: usual ones of text, then those with the largest amounts, then in
    their order.
    """

    def rank(name: str) -> tuple[int, int]:
        last = name.rpartition(".")[2].lower()
        return NAMES.index(last) if last in NAMES else len(NAMES), -amounts[name]

    return sorted(amounts, key=rank)


def _remedy(fields: Sequence[str]) -> str:
    """The format for records with these fields of text."""
    if not fields:
        return "they hold no text"
    return f'write format: "jsonl:{fields[0]}"; fields of text: {listed(fields)}'


def read_blocks(path: Place, aligned: bool = False) -> Iterator[list[str]]:
    r"""Yield the lines of a file without their `\n`, in lists of about 1 MiB; of JSON
    Lines, a table or Parquet, by its name, those of the likeliest field.

    The file is plain, gzip, xz, zstd or bzip2; the rules are those of
    `vocap.text_files.lines`, and a last line needs no end. In a folder of documents
    (`holds_documents`) a line is given as the document that it stands for. `aligned`:
    of each line or record one, "" for what is dropped or has no text. A file that takes
    more than 5 s is reported on. Raises VocapError as `LineFile`, `detect_file` and
    `check_encoding`.
    """
    file, escaped = LineFile(path), holds_documents(path_of(path))
    if kind_of(file.path) != "text":
        layout = detect_file(path)
        layout = replace(layout, split_sentences=layout.split_sentences and not aligned)
        file, escaped = TextFile(path, layout, aligned=aligned), aligned
    blocks = decoded(file, aligned)
    return (list(map(unescape_line, lines)) for lines in blocks) if escaped else blocks


def read_lines(path: Place) -> Iterator[str]:
    """The lines of `read_blocks` one by one."""
    for block in read_blocks(path):
        yield from block


class Corpus:
    """The files of one language, in order; iterate once, then read the attributes.

    `consumed`: bytes read; `total`: bytes of the whole files, those not fetched too, None
    if unknown; `complete`: whether everything was read.
    """

    def __init__(
        self,
        places: Sequence[str | Shard],
        layout: Layout,
        chosen: "RecordFilter | None" = None,
    ) -> None:
        self.places, self.layout, self.chosen = places, layout, chosen
        self.consumed, self.complete = 0, True
        self.total: int | None = 0

    def __iter__(self) -> Iterator[TextFile]:
        for place in self.places:
            prefix = prefix_note(path_of(place))
            file = TextFile(place, self.layout, cut=prefix is not None, chosen=self.chosen)
            yield file
            self.consumed += file.consumed
            self.complete &= file.ended
            size = file.size if prefix is None else prefix.get("total_bytes")
            self.total = None if size is None or self.total is None else self.total + size


def prefix_note(path: str | Path) -> dict[str, Any] | None:
    """The note of `vocap fetch` beside a file that it fetched in part; None for a whole
    file.
    """
    try:
        with open(f"{os.fspath(path)}.json", "rb") as file:
            note = orjson.loads(file.read(1 << 16))
    except (FileNotFoundError, NotADirectoryError, orjson.JSONDecodeError):
        return None
    return (
        note
        if isinstance(note, dict) and note.get("complete") is False and "fetched_bytes" in note
        else None
    )
