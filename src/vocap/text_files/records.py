"""Lines of text out of plain, JSON Lines, tab-separated and Parquet files, the reader
of text of all commands (`read_blocks`), and the files of one language.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from vocap.errors import VocapError, listed
from vocap.storage.remote import address_of
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
        aligned: bool = False,
        row_groups: tuple[Footer, Sequence[int]] | None = None,
        chosen: "RecordFilter | None" = None,
    ) -> None:
        super().__init__(place, limit_bytes)
        self.layout, self.aligned, self.row_groups = layout, aligned, row_groups
        self.chosen = chosen

    @property
    def asked(self) -> list[str]:
        """The fields of conditions."""
        return self.chosen.filters.fields if self.chosen else []

    def __iter__(self) -> Iterator[bytes]:
        layout, blocks = self.layout, super().__iter__()
        if layout.kind == "text" and kind_of(self.path) in RECORDS:
            found = detect_file(self.place)
            raise VocapError(
                f'{self.path}: {found.kind} by its name; write format: "{found.format}"'
            )
        if layout == Layout() and not self.chosen:
            yield from blocks
            return
        for texts in _READERS[layout.kind](self, blocks):
            kept = self.chosen.keep_texts(texts) if self.chosen else texts
            if lines := as_lines(kept, layout, self.aligned):
                yield lines


def as_lines(texts: list[str], layout: Layout, aligned: bool) -> bytes:
    """The texts as lines; one line end that a text has itself is not doubled."""
    if aligned:
        texts = list(map(escape_line, texts))
    elif layout.documents:
        texts = [part for text in texts for part in document_lines(text)]
    else:
        texts = [text.removesuffix("\n") for text in texts]
    if layout.escaped_newlines:
        texts = [text.replace("\\n", "\n") for text in texts]
    if layout.split_sentences:
        texts = [sentence for text in texts for sentence in split_sentences(text)]
    return "\n".join([*texts, ""]).encode("utf-8", "surrogatepass")


def read_plain(file: TextFile, blocks: Iterable[bytes]) -> Iterator[list[str]]:
    """The lines of each block."""
    for block in blocks:
        yield block[:-1].decode("utf-8", "surrogateescape").split("\n")


def read_jsonl(file: TextFile, blocks: Iterable[bytes]) -> Iterator[list[str]]:
    """The texts of the records of each block that meet the conditions."""
    field, asked, head = file.layout.field, file.asked, b""
    file.undecoded, found, answered = 0, 0, set[str]()
    for block in blocks:
        head = head or block
        texts: list[str] = []
        columns: dict[str, list[object]] = {name: [] for name in asked}
        for number, line in enumerate(block[:-1].split(b"\n"), start=file.before + 1):
            if not line.strip():
                continue
            record = _record_of(file, line, number)
            text = field_of(record, field)
            if text.__class__ is str:
                texts.append(text)
                found += 1
                for name, values in columns.items():
                    values.append(field_of(record, name))
            elif text is not None:
                raise VocapError(
                    f"{file.path}, line {number}: field {field!r} is not text but "
                    f"{str(text)[:40]!r}; {_remedy([line])}"
                )
            else:
                file.no_field += 1
                if file.aligned:
                    texts.append("")
        if file.no_field >= PATIENCE and not found:
            break
        answered |= {name for name in asked if any(one is not None for one in columns[name])}
        if file.chosen and asked and texts:
            texts = [texts[number] for number in file.chosen.matching(columns, file.path)]
        yield texts
    if found and (absent := [name for name in asked if name not in answered]):
        raise VocapError(
            f"{file.path}: no record has the field {absent[0]!r}, which `where` asks for; "
            "correct its name"
        )
    if file.no_field and not found:
        remedy = _remedy(head.split(b"\n", _HEAD)[:_HEAD])
        raise VocapError(
            f"{file.path}: none of the first {file.no_field:,} records has text in the field "
            f"{field!r}; {remedy}"
        )


def _record_of(file: TextFile, line: bytes, number: int) -> dict[str, Any]:
    """A record, where need be as the standard library reads it, which takes NaN and what
    is no Unicode.
    """
    try:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            file.undecoded = (file.undecoded or 0) + (decode_line(line) is None)
            record = json.loads(line.decode("utf-8", "surrogateescape"))
        if isinstance(record, dict):
            return record
    except (ValueError, RecursionError):
        pass
    raise VocapError(
        f"{file.path}, line {number}: not a JSON object; JSON Lines has one object a line (of an "
        "array: jq -c '.[]' FILE > FILE.jsonl): correct or remove this line"
    )


def read_column(file: TextFile, blocks: Iterable[bytes]) -> Iterator[list[str]]:
    """The cells of the column in each block."""
    field = file.layout.field
    column = int(field) if field.isdecimal() else 0
    for block in blocks:
        lines = block[:-1].split(b"\n")
        first = file.before + 1
        if not column:
            header = [name.strip() for name in lines.pop(0).decode(errors="replace").split("\t")]
            first += 1
            if field not in header:
                raise VocapError(
                    f"{file.path}, line 1: no column {field!r}; it has: {listed(header)} (a file "
                    "without a header: give the column's number)"
                )
            column = header.index(field) + 1
        cells = []
        for number, line in enumerate(lines, first):
            row = line.split(b"\t", column) if line.strip() else [b""] * column
            if len(row) < column:
                raise VocapError(
                    f"{file.path}, line {number}: {len(row)} columns, column {column} was "
                    "asked for; columns are separated by single tabs"
                )
            cells.append(row[column - 1].decode("utf-8", "surrogateescape"))
        yield cells


def read_parquet(file: TextFile, blocks: Iterable[bytes]) -> Iterator[list[str]]:
    """The column's texts of some rows at a time; `consumed` in proportion to the rows
    read.
    """
    field, asked = file.layout.field, file.asked
    footer, numbers = file.row_groups or (None, None)
    with open_parquet(file.place, footer) as (opened, file.size):
        import pyarrow  # of the extra [workflow]

        columns = text_columns(opened)
        leaves = [opened.schema.column(number).path for number in range(len(opened.schema))]
        for name, held in [(field, columns), *((one, leaves) for one in asked)]:
            if name not in held:
                raise VocapError(
                    f"{file.path}: no column {name!r} of that kind; columns: {listed(sorted(held))}"
                )
        file.undecoded = 0 if columns[field] else None  # text is UTF-8 there
        rows, length = 0, opened.metadata.num_rows
        if footer is not None and numbers is not None:
            file.size = int(footer.column[numbers].sum())
            length = sum(opened.metadata.row_group(number).num_rows for number in numbers)
        for batch in opened.iter_batches(
            PARQUET_ROWS, numbers, columns=[field, *asked], use_threads=False
        ):
            rows += batch.num_rows
            if file.chosen and asked:
                values = {name: _column(batch, name) for name in asked}
                batch = batch.take(pyarrow.array(file.chosen.matching(values, file.path)))
            found = _column(batch, field)
            file.no_field += found.null_count
            file.consumed = file.size * rows // length
            # bytes, since they may not be UTF-8
            found = found.cast(pyarrow.large_binary())
            found = found.fill_null(b"") if file.aligned else found.drop_null()
            yield [value.decode("utf-8", "surrogateescape") for value in found.to_pylist()]
            if file.limit_bytes is not None and file.limit_bytes <= file.consumed < file.size:
                return
        file.consumed, file.ended = file.size, numbers is None


_READERS = {"text": read_plain, "jsonl": read_jsonl, "tsv": read_column, "parquet": read_parquet}


def _column(batch: Any, name: str) -> Any:
    """The values of one column of a batch of Arrow's, by its dotted name."""
    from pyarrow import compute

    path = [name] if name in batch.schema.names else name.split(".")
    return compute.struct_field(batch.to_struct_array(), path)


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
        held = "columns hold no text"
        if kind == "jsonl":
            held = "records hold no text; of an array: jq -c '.[]' FILE > FILE.jsonl"
        raise VocapError(f"{path}: its {held}")
    layout = Layout(kind, fields[0])
    file = TextFile(place, layout, _PROBE_BYTES)
    block = next(iter(file), b"")
    if not block:
        return replace(layout, split_sentences=file.size > 0)
    counts = survey(block).counts
    check_encoding(file, counts)
    return replace(layout, split_sentences=counts["overlong"] > _LONG_SHARE * counts["read"])


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


def _remedy(lines: Iterable[bytes]) -> str:
    """The format for records with text."""
    if fields := text_fields(lines):
        return f'write format: "jsonl:{fields[0]}"; fields of text: {listed(fields)}'
    return "no field holds text; correct or remove what has none"


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
