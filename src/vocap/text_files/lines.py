r"""Lines of text files, plain or compressed, in bounded memory; their validity, and
cutting them into sentences.

A line may stand for a document: a line end inside it is written as a backslash and an
n, a backslash as two. Where the stats.json beside a train.txt or heldout.txt says so
(`vocap sample --documents`), `read_blocks` gives the documents themselves.
"""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from backports import zstd

from vocap.errors import VocapError
from vocap.files.io import naming
from vocap.progress import Progress
from vocap.text_files import MAX_LINE_BYTES

BLOCK = 1 << 20  # bytes of text handed on at a time, about
LONGEST_LINE = 1 << 26  # bytes; a longer one, as of an array in JSON, is an error

# First bytes of a file: downloads have no ending that would tell.
_OPENERS = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"\xfd7zXZ\0": ("xz", lzma.open),
    b"BZh": ("bzip2", bz2.open),
    b"\x28\xb5\x2f\xfd": ("zstd", zstd.open),
    b"\x50\x2a\x4d\x18": ("zstd", zstd.open),  # pzstd writes such a frame first
}
_DAMAGED = (OSError, EOFError, lzma.LZMAError, zlib.error, zstd.ZstdError)
FLAG = "documents"  # of stats.json
_ESCAPED = re.compile(r"\\([\\n])")

_CLOSING = "\"'»”’)\\]」』）"
_OPENING = "\"'«“‘„(\\[¿¡—–-"
# Stops that end a sentence wherever they stand: the CJK full stops, the danda, and
# those of Ethiopic, Burmese (the little section too), Khmer, Urdu and Armenian. The
# full stop of the Latin keyboard needs a space and a capital.
_BREAK = re.compile(
    rf"[。！？｡।॥።፧၊။។៕۔։]+[{_CLOSING}]*"
    rf"|[.!?…؟][{_CLOSING}]*+(?=\s+[{_OPENING}]*(?P<letter>[^\W\d_]))"
)


class _Stored(io.FileIO):
    """A file as it is stored, up to a limit; `consumed`: bytes read so far."""

    def __init__(self, path: str | Path, limit: int | None) -> None:
        super().__init__(path)
        self.limit, self.consumed = limit, 0

    def readinto(self, buffer) -> int:
        left = None if self.limit is None else self.limit - self.consumed
        count = super().readinto(memoryview(buffer)[:left])
        self.consumed += count
        return count


def _open(path: str | Path, limit: int | None) -> _Stored:
    """Open a file, or a pipe; raises VocapError for none, and for a folder."""
    if not os.path.exists(path):
        raise VocapError(f"{path}: no such file; check the path")
    if os.path.isdir(path):
        raise VocapError(f"{path}: a folder, not a text file; name a file with a sentence a line")
    return _Stored(path, limit)


class LineFile:
    r"""The lines of one file, as blocks of whole lines (bytes, each line ended by
    `\n`); iterate once.

    The file is plain, gzip, xz, zstd or bzip2. `limit_bytes` bounds the bytes read of
    it as it is stored; `cut`: it is a prefix of a longer one. In both cases the last,
    partial line is dropped. Memory: a few blocks of 1 MiB, or of the longest line.
    Raises VocapError for no file, a folder, damaged compressed data and a line of more
    than 64 MiB, and OSError.

    Attributes
    ----------
    consumed, size : bytes of the file read so far, and its length, as it is stored.
    ended : whether the end of the whole text was reached.
    lines, before : lines so far, and those before the block at hand.
    """

    def __init__(self, path: str | Path, limit_bytes: int | None = None, cut: bool = False) -> None:
        self.path, self.limit_bytes, self.cut = path, limit_bytes, cut
        self.consumed, self.size, self.ended = 0, 0, False
        self.lines = self.before = 0

    def blocks(self) -> Iterator[bytes]:
        """The text, decompressed, in blocks of 1 MiB, the last one shorter; what
        precedes an error is given.
        """
        with naming(self.path), _open(self.path, self.limit_bytes) as stored:
            self.size = os.fstat(stored.fileno()).st_size
            buffered = io.BufferedReader(stored, 1 << 18)
            head = buffered.peek(6)
            name, opener = next(
                (entry for magic, entry in _OPENERS.items() if head.startswith(magic)), ("", None)
            )
            file = opener(buffered) if opener else buffered
            parts, length, ended = [], 0, False
            while not ended:
                part = self._read(file, BLOCK - length, name, stored)
                parts.append(part)
                length += len(part)
                self.consumed = stored.consumed
                ended = not part
                if length and (length == BLOCK or ended):
                    yield b"".join(parts)
                    parts, length = [], 0
            self.size = max(self.size, self.consumed)  # a pipe has no size
            at_limit = self.consumed == self.limit_bytes and self.consumed < self.size
            self.ended = not (self.cut or at_limit)

    def _read(self, file: io.BufferedIOBase, most: int, name: str, stored: _Stored) -> bytes:
        """The next bytes, none at the end; raises VocapError for damaged data of the
        format `name`.
        """
        try:
            return file.read1(min(most, 1 << 17))
        except EOFError:
            if self.cut or stored.consumed == self.limit_bytes:
                return b""
            reason = f"stop in the middle, at byte {stored.consumed}; the file was cut"
        except _DAMAGED as error:
            if not name or (
                isinstance(error, OSError) and error.errno is not None
            ):  # the system's own
                raise
            reason = f"cannot be decompressed, before byte {stored.consumed} ({error})"
        raise VocapError(
            f"{self.path}: the {name} data {reason}; copy or download it again, or unpack it by "
            "hand"
        )

    def __iter__(self) -> Iterator[bytes]:
        progress = Progress(self.path)
        rest = b""  # the beginning of a line whose end is to come
        for block in self.blocks():
            progress.tell(self.lines, self.consumed, self.size)
            if end := block.rfind(b"\n") + 1:
                yield self._count(rest + block[:end])
                rest = b""
            rest += block[end:]
            if len(rest) > LONGEST_LINE:
                raise VocapError(
                    f"{self.path}, line {self.lines + 1}: longer than {LONGEST_LINE >> 20} MiB; "
                    "give one sentence "
                    "or record a line"
                )
        if self.ended and rest:
            yield self._count(rest + b"\n")

    def _count(self, block: bytes) -> bytes:
        self.before = self.lines
        self.lines += block.count(b"\n")
        return block


def escape(text: str) -> str:
    r"""One line for a text of several.

    >>> escape("a\\b\nc")
    'a\\\\b\\nc'
    """
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def unescape(line: str) -> str:
    """Undo `escape`."""
    if "\\" not in line:
        return line
    return _ESCAPED.sub(lambda match: "\n" if match[1] == "n" else "\\", line)


def parts(text: str, most: int = MAX_LINE_BYTES) -> Iterator[str]:
    r"""The document as lines of at most `most` bytes: cut behind line ends, which stay.

    Parts without text are left out. A longer line of the document stays whole, for the
    count of overlong lines.

    >>> list(parts("one\ntwo\n\nthree", 9))
    ['one\\n', 'two\\n\\n', 'three']
    """
    part, size = "", 0
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        written = escape(line)
        length = len(written.encode("utf-8", "surrogatepass"))
        if part and size + length > most:
            if part.strip():
                yield escape(part)
            part, size = "", 0
        part += line
        size += length
    if part.strip():
        yield escape(part)


def holds_documents(path: str | Path) -> bool:
    """Whether the lines of a train.txt or heldout.txt are documents."""
    try:
        stats = json.loads((Path(path).parent / "stats.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(stats, dict) and stats.get(FLAG) is True


def read_blocks(path: str | Path) -> Iterator[list[str]]:
    r"""Yield the lines of a file without their `\n`, in lists of about 1 MiB.

    The file is plain, gzip, xz, zstd or bzip2. Only `\n` ends a line (no U+2028, no
    `\r`); a last line needs none. In a folder of documents (`holds_documents`) a line
    is given as the document that it stands for. A file that takes more than 5 s is
    reported on. Raises VocapError as `LineFile`, and naming the line that is not UTF-8.
    """
    blocks = decoded(LineFile(path))
    return (list(map(unescape, lines)) for lines in blocks) if holds_documents(path) else blocks


def decoded(file: LineFile) -> Iterator[list[str]]:
    """The lines of each block as text; raises VocapError as `file`, and naming the line
    that is not UTF-8.
    """
    for block in file:
        try:
            yield block[:-1].decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            number = file.before + 1 + block.count(b"\n", 0, error.start)
            place = error.start - (block.rfind(b"\n", 0, error.start) + 1)
            raise VocapError(
                f"{file.path}, line {number}: not UTF-8 ({error.reason} at byte {place} of the "
                "line); "
                "convert the file to UTF-8, or remove the line"
            ) from None


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of `read_blocks` one by one."""
    for block in read_blocks(path):
        yield from block


def count_lines(path: str | Path) -> int:
    """The number of lines of a file; raises VocapError as `read_blocks`."""
    file = LineFile(path)
    for _ in file:
        pass
    return file.lines


def split_sentences(text: str) -> list[str]:
    """The sentences of `text`, stripped, none empty; lines of `text` are never joined.

    Cuts after `. ! ? …` before a space and a letter that is not lower-case (a script
    without case counts as capitals, else Georgian or Telugu would never be cut), and
    after the full stops of other scripts. Knows no abbreviations: "Dr. Who" is cut,
    which costs a subword model nothing.

    >>> split_sentences("It rains. It pours, e.g. here. 雨だ。「降る。」")
    ['It rains.', 'It pours, e.g. here.', '雨だ。', '「降る。」']
    """
    sentences = []
    for line in text.split("\n"):
        start = 0
        for match in _BREAK.finditer(line):
            letter = match["letter"]
            # Georgian's everyday letters are lower-case to Unicode, yet they start
            # sentences.
            if letter is None or not letter.islower() or "ა" <= letter <= "ჿ":
                sentences.append(line[start : match.end()].strip())
                start = match.end()
        sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]


# Whether a line that starts with this byte may be white space alone; later ones begin
# characters beyond ASCII.
_WHITE_STARTS = np.isin(np.arange(256), [*range(9, 14), *range(28, 33), 0xC2, 0xE1, 0xE2, 0xE3])


@dataclass
class Survey:
    """The lines of one block: int64 arrays of the valid ones' first byte and of the
    byte after their last.
    """

    starts: np.ndarray
    ends: np.ndarray
    read: int
    empty: int
    overlong: int
    invalid_utf8: int
    with_nul: int  # of the invalid ones


def survey(block: bytes) -> Survey:
    r"""Classify the lines of a block that ends with `\n`; a `\r` before `\n` belongs to
    neither line nor text.

    A line of several kinds counts once, as the first of: overlong, invalid, empty
    (white space only). A line with a NUL counts as invalid: SentencePiece refuses it,
    and text in UTF-16 looks like that.
    """
    # find the lines
    data = np.frombuffer(block, np.uint8)
    stops = np.flatnonzero(data == 10)
    starts = np.empty_like(stops)
    starts[0] = 0
    starts[1:] = stops[:-1] + 1
    ends = stops.copy()
    if b"\r" in block:
        while (returns := (ends > starts) & (data[np.maximum(ends - 1, 0)] == 13)).any():
            ends -= returns
    lengths = ends - starts
    overlong = lengths > MAX_LINE_BYTES
    valid = ~overlong

    # take out those that are not valid
    invalid = with_nul = 0
    try:
        block.decode()
        clean = b"\0" not in block
    except UnicodeDecodeError:
        clean = False
    if not clean:
        for index, line in enumerate(block[:-1].split(b"\n")):
            if valid[index] and (b"\0" in line or line.decode(errors="replace").encode() != line):
                valid[index] = False
                invalid += 1
                with_nul += b"\0" in line

    # take out those that are empty
    empty = (lengths == 0) & valid
    suspects = _WHITE_STARTS[data[starts]] & valid & (lengths > 0)
    for index in np.flatnonzero(suspects).tolist():
        empty[index] = not block[starts[index] : ends[index]].decode().strip()
    valid &= ~empty
    return Survey(
        starts=starts[valid],
        ends=ends[valid],
        read=len(stops),
        empty=int(empty.sum()),
        overlong=int(overlong.sum()),
        invalid_utf8=invalid,
        with_nul=with_nul,
    )
