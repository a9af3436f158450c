"""The files of one language: their format, and their text up to a limit."""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

import orjson

from vocap.errors import UsageError, VocapError
from vocap.files.atomic import naming
from vocap.text_files import MAX_LINE_BYTES
from vocap.text_files.content import Content, are_documents, detect
from vocap.text_files.parquet import ParquetBlocks, text_columns
from vocap.text_files.patterns import check_local
from vocap.text_files.reading import Blocks
from vocap.text_files.records import Layout, TextFile

HEAD = 1 << 20  # bytes of text that are examined


def prefix_of(path: str | os.PathLike) -> dict | None:
    """The note of `vocap fetch` beside a file that it fetched in part; None for a whole file."""
    try:
        with open(f"{os.fspath(path)}.json", "rb") as file:
            note = orjson.loads(file.read(1 << 16))
    except (FileNotFoundError, NotADirectoryError, orjson.JSONDecodeError):
        return None
    if not isinstance(note, dict) or note.get("complete") is not False or "fetched_bytes" not in note:
        return None
    return note


class Corpus:
    """The files of one language, in order; iterate once, then read the attributes.

    `scan_bytes` bounds the bytes read of all files together, as they are stored. `consumed`: bytes read; `total`:
    bytes of the whole files, those not fetched or not opened too, None if unknown; `complete`:
    whether everything was read.
    """

    def __init__(self, paths: Sequence[str], layout: Layout, scan_bytes: int | None = None) -> None:
        self.paths, self.layout, self.scan_bytes = paths, layout, scan_bytes
        self.consumed, self.total, self.complete = 0, 0, True

    def __iter__(self) -> Iterator[TextFile]:
        for path in self.paths:
            prefix = prefix_of(path)
            left = None if self.scan_bytes is None else self.scan_bytes - self.consumed
            size = os.stat(path).st_size
            if left is None or left > 0:
                file = TextFile(path, self.layout, left, cut=prefix is not None)
                yield file
                self.consumed += file.consumed
                size = file.size
                self.complete &= file.ended
            else:
                self.complete = False
            if prefix is not None:
                size = prefix.get("total_bytes")
            self.total = None if size is None or self.total is None else self.total + size

    def extrapolated(self, count: int) -> int:
        """`count`, of the part that was read, for the whole: in proportion to the bytes of the files."""
        if self.complete or not self.consumed or self.total is None:
            return count
        return round(count * max(1.0, self.total / self.consumed))


def check_present(language: str, paths: Sequence[str]) -> None:
    """Raises VocapError for a path that is not there or matches nothing, for a folder, and for an empty file."""
    remedy = f"put text in {language} there, give {language} another source under corpora, or leave it out"
    for path in paths:
        try:
            check_local(path)
        except ValueError as error:
            raise UsageError(f"{path}: {error}") from None
        if not os.path.exists(path):
            problem = "no file matches this pattern" if glob.has_magic(path) else "no such file"
            raise VocapError(f"{path}: {problem}; {remedy}")
        if os.path.isdir(path):
            raise VocapError(f"{path}: a folder without files; {remedy}")
        if os.path.isfile(path) and os.path.getsize(path) == 0:
            raise VocapError(f"{path}: the file is empty; {remedy}")


def detect_file(path: str | os.PathLike) -> Content:
    """The format of a file by its content; plain or compressed.

    Raises VocapError for damaged compressed data, and OSError. A Parquet file that cannot be read has a `problem`.
    """
    head, whole = b"", True
    with naming(path):
        for block in Blocks(path, cut=True):  # a reader of the whole file reports damage
            head += block
            if len(head) >= HEAD:
                whole = False
                break
    content = detect(head, whole)
    return _with_columns(path, content) if content.kind == "parquet" else content


def _with_columns(path: str | os.PathLike, content: Content) -> Content:
    try:
        fields = text_columns(path)
        if not fields:
            return replace(content, problem="its columns hold no text")
        start = next(iter(ParquetBlocks(path, fields[0])), b"")
    except VocapError as error:
        return replace(content, problem=str(error).removeprefix(f"{path}: "))
    lengths = [len(line) for line in start.split(b"\n") if line]
    return replace(
        content, fields=fields, split_sentences=are_documents([length > MAX_LINE_BYTES for length in lengths])
    )
