"""A column of a Parquet file as blocks of lines, read by a process of its own (`parquet_process`)."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from vocap.errors import VocapError, missing_extra
from vocap.text_files.content import PARQUET, detect, likeliest_first, listed
from vocap.text_files.parquet_process import DAMAGED, END, FACTS, FRAME, NO_COLUMN, TEXT
from vocap.text_files.reading import BLOCK, Blocks, even

MEMORY = 4 << 30  # bytes; 130 MiB are usual
SECONDS = 60  # of processor time for a batch of 1,024 rows
REMEDY = "copy or download it again, or write it anew with the library that made it"
_PROGRAM = Path(__file__).with_name("parquet_process.py")


class ParquetBlocks:
    r"""The texts of one column, each ended by `\n`, as blocks of bytes; iterate once, as `reading.Blocks`.

    `column` is dotted where nested (`doc.text`). With `documents` a text is one line, as `documents.escape` writes
    it. `nulls`: rows without text so far. `consumed`: bytes of the file,
    in proportion to the rows read; `limit_bytes` stops the reading there. Memory: a page of the column and 1,024
    rows, in the other process, 130 MiB with the library. Raises VocapError, naming `path`, for a file that is
    damaged, cut or of another format, for a column that is not there or holds no text, and where pyarrow is not
    installed.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        column: str,
        limit_bytes: int | None = None,
        cut: bool = False,
        documents: bool = False,
        memory: int = MEMORY,
        seconds: int = SECONDS,
    ) -> None:
        self.path, self.column, self.limit_bytes, self.cut = path, column, limit_bytes, cut
        self.documents, self.memory, self.seconds = documents, memory, seconds
        self.consumed, self.size, self.ended, self.nulls = 0, 0, False, 0
        self.texts: tuple[str, ...] = ()  # the columns of text

    def __iter__(self) -> Iterator[bytes]:
        self._check_format()
        yield from even(self._frames(), BLOCK)

    def _check_format(self) -> None:
        """Raises VocapError unless the file begins and ends as a Parquet file does."""
        with open(self.path, "rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            head = file.read(len(PARQUET))
            file.seek(max(0, self.size - len(PARQUET)))
            tail = file.read(len(PARQUET))
        if head != PARQUET:
            found = detect(next(iter(Blocks(self.path)), b""))
            if found.kind == "parquet":
                raise VocapError(
                    f"{self.path}: a compressed Parquet file; unpack it first, it is compressed inside"
                )
            looks = f'it looks like format: "{found.format}"' if found.format else found.problem
            raise VocapError(f"{self.path}: not a Parquet file; {looks}")
        if self.cut:
            raise VocapError(
                f"{self.path}: only the beginning of a Parquet file, unreadable without its end; fetch all of it"
            )
        if tail != PARQUET or self.size < 12:
            raise VocapError(f"{self.path}: the Parquet data stop in the middle; the file was cut: {REMEDY}")
        if importlib.util.find_spec("pyarrow") is None:
            raise VocapError(f"{self.path}: a Parquet file, which takes pyarrow; {missing_extra('pyarrow')}")

    def _frames(self) -> Iterator[bytes]:
        words = [os.path.abspath(self.path), self.column, str(self.memory), str(self.seconds)]
        words += ["documents"] * self.documents
        with subprocess.Popen(
            [sys.executable, "-P", str(_PROGRAM), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                yield from self._read(process)
            finally:
                process.kill()

    def _read(self, process: subprocess.Popen) -> Iterator[bytes]:
        rows = 0
        while True:
            head = process.stdout.read(FRAME.size)
            kind, count, length = FRAME.unpack(head) if len(head) == FRAME.size else (None, 0, 0)
            if kind == TEXT:
                self.nulls += int.from_bytes(process.stdout.read(8), "little")
                self.consumed = min(self.size, self.size * count // max(rows, 1))
                left = length - 8
                while left:
                    block = process.stdout.read(min(left, BLOCK))
                    if not block:
                        raise self._failed(self._death(process))
                    left -= len(block)
                    yield block
                if self.limit_bytes is not None and self.limit_bytes <= self.consumed < self.size:
                    return
                continue
            data = process.stdout.read(length) if 0 < length <= BLOCK else b""
            if kind == END:
                self.consumed, self.ended = self.size, True
                return
            if kind == NO_COLUMN:
                raise VocapError(f"{self.path}: {data.decode('utf-8', 'replace')}")
            if kind != FACTS or len(data) < length:
                raise self._failed(data.decode("utf-8", "replace") if kind == DAMAGED else self._death(process))
            rows, self.texts = count, tuple(json.loads(data))

    def _failed(self, why: str) -> VocapError:
        return VocapError(f"{self.path}: a Parquet file that cannot be read ({why}); {REMEDY}")

    def _death(self, process: subprocess.Popen) -> str:
        """How the process ended."""
        status = process.wait()
        if status == -signal.SIGXCPU:
            return f"it took more than {self.seconds} s of processor time for a batch"
        if status == -signal.SIGKILL:
            return "it needs more memory than there is"
        return f"the library crashes ({signal.Signals(-status).name if status < 0 else f'exit status {status}'})"


def text_columns(path: str | os.PathLike) -> tuple[str, ...]:
    """The columns of a Parquet file that hold text, nested ones dotted, usual names first.

    Raises as `ParquetBlocks`.
    """
    blocks = ParquetBlocks(path, "")
    for _ in blocks:
        pass
    return likeliest_first(dict.fromkeys(blocks.texts, 0))


def column_remedy(path: str | os.PathLike) -> str:
    """The format to write for a Parquet file that was taken for text, with its columns where they can be read."""
    try:
        columns = text_columns(path)
    except (VocapError, OSError):
        columns = ()
    named = f"; columns of text: {listed(columns)}" if columns else ""
    column = columns[0] if columns else "COLUMN"
    return f'write format: "parquet:{column}" (vocap sample --format parquet:{column}){named}'
