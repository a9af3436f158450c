"""The format of a file by its first bytes: text, JSON Lines, tab-separated or Parquet, and the fields of text."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import orjson

from vocap.text_files import MAX_LINE_BYTES

PARQUET = b"PAR1"  # the first and the last bytes of such a file
LINES = 200  # of a file's beginning that are looked at
DEPTH = 4  # of nested fields that are listed
SHOWN = 12  # fields that a message lists
NAMES = ("text", "sentence", "content", "body", "raw_content", "document", "article")  # usual for a field of text

_LONG_SHARE = 0.1  # of overlong lines, from which the lines are whole documents
_CONTROL_SHARE = 0.05  # of control characters, from which a file is no text; random bytes have 0.11
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\r\f\x08\x1b"))
_BINARY_BYTES = 8192

# The first bytes of files that are not text, and the remedy.
_MAGIC = {
    b"\xff\xfe\0\0": "UTF-32; convert it: iconv -f UTF-32 -t UTF-8",
    b"\0\0\xfe\xff": "UTF-32; convert it: iconv -f UTF-32 -t UTF-8",
    b"\xff\xfe": "UTF-16; convert it: iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "UTF-16; convert it: iconv -f UTF-16 -t UTF-8",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"%PDF": "a PDF; extract its text first",
    b"7z\xbc\xaf": "a 7-Zip archive; unpack it first",
    b"ARROW1": "an Arrow file; save it as Parquet",
    b"Obj\x01": "an Avro file; convert it to JSON Lines or Parquet",
    b"\x1f\x8b": "compressed twice; unpack it once",
    b"\xfd7zXZ\0": "compressed twice; unpack it once",
    b"\x28\xb5\x2f\xfd": "compressed twice; unpack it once",
}


@dataclass(frozen=True)
class Content:
    """The format of a file by its beginning.

    `kind`: text, jsonl, tsv or parquet; empty where the file cannot be read, with the reason in `problem`.
    `fields`: the fields or columns that hold text, the likeliest first: dotted where nested (`doc.text`), numbers
    from 1 where a tab-separated file has no header. `split_sentences`: whether lines are whole documents, too long
    to be learnt from unless they are cut.
    """

    kind: str
    fields: tuple[str, ...] = ()
    split_sentences: bool = False
    problem: str = ""

    @property
    def format(self) -> str:
        """As the key `format` takes it: `text`, `jsonl:text`; empty where there is no field of text."""
        if self.kind == "text":
            return "text"
        return f"{self.kind}:{self.fields[0]}" if self.kind and self.fields else ""


def detect(head: bytes, whole: bool = False) -> Content:
    """The format of a file that begins with `head`, decompressed; `whole` where that is all of it.

    A last, incomplete line is ignored. The columns of a Parquet file are at its end: see `corpus.detect_file`.

    >>> detect(b'{"id": 1, "doc": {"text": "It rains."}}\\n')
    Content(kind='jsonl', fields=('doc.text',), split_sentences=False, problem='')
    """
    if head.startswith(PARQUET):
        return Content("parquet")
    if problem := not_text(head):
        return Content("", problem=problem)
    lines = _lines(head.removeprefix(b"\xef\xbb\xbf"), whole)
    if records := _records(lines):
        return _of_records(records)
    if _is_json_array(head):
        return Content("", problem=f"one JSON array, not an object a line; {ARRAY_REMEDY}")
    rows = [line.decode(errors="replace").split("\t") for line in lines if line.strip()]
    if len(rows) > 1 and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
        return _of_cells(rows)
    long = [len(line) > MAX_LINE_BYTES for line in lines if line]
    return Content("text", split_sentences=are_documents(long) or (not long and len(head) > MAX_LINE_BYTES))


ARRAY_REMEDY = "write its records one a line: jq -c '.[]' FILE > FILE.jsonl"


def known_format(head: bytes) -> str:
    """The format that a file's first bytes name and that is not text, with the remedy; empty for any other."""
    for magic, problem in _MAGIC.items():
        if head.startswith(magic):
            return problem
    return "a tar archive; unpack it, and give the files inside" if head[257:262] == b"ustar" else ""


def not_text(head: bytes) -> str:
    """`known_format`, or the problem of many control characters; empty for text."""
    if problem := known_format(head):
        return problem
    start = head[:_BINARY_BYTES]
    even, odd = (len(part) - len(part.translate(None, _CONTROLS)) for part in (start[::2], start[1::2]))
    controls = even + odd
    if controls <= _CONTROL_SHARE * len(start):
        return ""
    if controls > 0.25 * len(start) and min(even, odd) < 0.1 * controls:  # the high bytes of most alphabets
        name = "UTF-16LE" if odd > even else "UTF-16BE"
        return f"{name} without a byte order mark; convert it: iconv -f {name} -t UTF-8"
    return f"a binary file: {controls:,} of its first {len(start):,} bytes are control characters"


def json_as_text(head: bytes) -> str:
    """The problem of a file of text, a sentence a line, whose lines are JSON; empty where they are not.

    `head` ends where a line ends, or is the beginning of a longer file.
    """
    lines = _lines(head, whole=False)
    if records := _records(lines):
        remedy = field_remedy(text_fields(records))
        return f"its lines are JSON objects, which would be learnt as text; {remedy}"
    if _is_json_array(head):
        return f"it is one JSON array, which would be learnt as text; {ARRAY_REMEDY}, and read it as jsonl:FIELD"
    return ""


def text_fields(records: Iterable[dict]) -> tuple[str, ...]:
    """The fields of JSON records that hold text, nested ones dotted; usual names first, then by amount of text."""
    amounts: dict[str, int] = {}
    for record in records:
        for name, text in _texts(record, DEPTH):
            amounts[name] = amounts.get(name, 0) + len(text)
    return likeliest_first(amounts)


def known_fields(head: bytes) -> tuple[str, ...]:
    """The fields of text of the records at the beginning of a JSON Lines file, malformed ones left out."""
    return text_fields(record for line in _lines(head, whole=False) for record in _records([line]))


def field_remedy(fields: tuple[str, ...]) -> str:
    """The format for records with these fields of text."""
    return (
        f'write format: "jsonl:{fields[0]}"; fields of text: {listed(fields)}' if fields else "they hold no text"
    )


def field_of(record: dict, name: str) -> object:
    """The value of a field, None where there is none; `doc.text` is the field of that name, or `text` in `doc`."""
    value = record.get(name)
    if value is None and "." in name:
        value = record
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
    return value


def listed(names: Iterable[str]) -> str:
    """Names for a message, the first dozen of them."""
    names = list(names)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (", ".join(name[:60] for name in names[:SHOWN]) or "none") + more


def _lines(head: bytes, whole: bool) -> list[bytes]:
    """The first lines that are complete."""
    lines = head.split(b"\n", LINES)[: LINES + 1]
    if len(lines) > LINES or not whole or not lines[-1]:
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]


def _records(lines: list[bytes]) -> list[dict]:
    """The lines as JSON objects, blank ones left out; empty where one is anything else."""
    records = []
    for line in lines:
        if not line.strip():
            continue
        if not line.lstrip().startswith(b"{"):
            return []
        try:
            record = _parsed(line)
        except (ValueError, RecursionError):
            return []
        records.append(record)
    return records


def _parsed(line: bytes) -> dict:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return json.loads(line)  # takes NaN and half a surrogate pair


def _is_json_array(head: bytes) -> bool:
    return b"".join(head[:1000].split()).startswith(b'[{"')


def _texts(record: dict, depth: int, prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in record.items():
        if isinstance(value, str):
            yield prefix + name, value
        elif isinstance(value, dict) and depth > 1:
            yield from _texts(value, depth - 1, f"{prefix}{name}.")


def _of_records(records: list[dict]) -> Content:
    fields = text_fields(records)
    if not fields:
        return Content("jsonl", problem="its records hold no text")
    values = (field_of(record, fields[0]) for record in records)
    lines = [line for value in values if isinstance(value, str) for line in value.split("\n") if line]
    return Content("jsonl", fields, are_documents([_bytes(line) > MAX_LINE_BYTES for line in lines]))


def _of_cells(rows: list[list[str]]) -> Content:
    """By the names of the header, if the first row holds a usual one; else by number."""
    header = [name.strip() for name in rows[0]]
    named = any(name.lower() in NAMES for name in header) and len({*header}) == len(header) and all(header)
    names = header if named else [str(number) for number in range(1, len(header) + 1)]
    columns = dict(zip(names, zip(*rows[named:], strict=True), strict=True))
    amounts = {name: sum(map(len, cells)) for name, cells in columns.items() if not _are_numbers(cells)}
    if not (fields := likeliest_first(amounts)):
        return Content("tsv", problem="its columns hold no text")
    return Content("tsv", fields, are_documents([_bytes(cell) > MAX_LINE_BYTES for cell in columns[fields[0]]]))


def _are_numbers(cells: Iterable[str]) -> bool:
    return all(cell.replace(".", "").replace("-", "").strip().isdecimal() for cell in cells if cell.strip())


def likeliest_first(amounts: dict[str, int]) -> tuple[str, ...]:
    """Names of fields: usual ones of text, then those with the largest amounts, then in their order."""

    def rank(name: str) -> tuple[int, int]:
        last = name.rpartition(".")[2].lower()
        return NAMES.index(last) if last in NAMES else len(NAMES), -amounts[name]

    return tuple(sorted(amounts, key=rank))


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))


def are_documents(overlong: list[bool]) -> bool:
    """Whether so many lines are too long to be learnt from that they must be documents."""
    return sum(overlong) > _LONG_SHARE * len(overlong)
