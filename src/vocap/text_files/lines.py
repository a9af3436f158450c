r"""Lines of text files, plain or compressed, in bounded memory; their validity, and
cutting them into sentences.

All commands read text by the same rules. A byte order mark at the beginning of a file
and every `\r` before `\n` are no text; a line that is not UTF-8 or holds a NUL is
dropped and counted. Only `\n` ends a line: U+2028 and a lone `\r` are text.

A line may stand for a document: a line end inside it is written as a backslash and an
n, a backslash as two (`vocap sample --documents`).
"""

import bz2
import io
import json
import lzma
import math
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from backports import zstd

from vocap.errors import VocapError, log
from vocap.files.io import naming
from vocap.progress import Progress
from vocap.storage.remote import RemoteFile, Shard, address_of, is_remote
from vocap.text_files import MAX_LINE_BYTES

Place = str | Path | Shard  # a file, of this machine or of another
BLOCK = 1 << 20  # bytes of text handed on at a time, about
REQUEST = 1 << 22  # bytes of a remote file fetched at a time
# bytes of compressed data decompressed at a time: of a part little, since its count is
# of the data that gave the last text
_FED, _FED_PART = 1 << 17, 1 << 8
_HEADER = 18  # bytes of the longest header of zstd
_FAR = 0.3  # between what a file tells of its text and what its beginning does
LONGEST_LINE = 1 << 26  # bytes; a longer one, as of an array in JSON, is an error
MOST_INVALID = 0.1  # of a file's lines; with more it is no text in UTF-8
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# By the first bytes of a file, since downloads have no ending that would tell: the name
# of a format, a decompressor of one stream, and the zeros that pad streams. A file of
# zstd may begin with a skippable frame, as those of pzstd do.
_FORMATS: tuple[tuple[bytes, str, Callable[[], Any], bytes], ...] = (
    (rb"\x1f\x8b", "gzip", partial(zlib.decompressobj, 16 + zlib.MAX_WBITS), bytes(1)),
    (rb"\xfd7zXZ\0", "xz", partial(lzma.LZMADecompressor, lzma.FORMAT_XZ), bytes(4)),
    (rb"BZh", "bzip2", bz2.BZ2Decompressor, b""),
    (rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", "zstd", zstd.ZstdDecompressor, b""),
)
_DAMAGED = (OSError, EOFError, lzma.LZMAError, zlib.error, zstd.ZstdError)
FLAG = "documents"  # of stats.json
_ESCAPED = re.compile(r"\\([\\n])")

_CLOSING = "\"'»”’)\\]」』）"
_OPENING = "\"'«“‘„(\\[¿¡—–-"
# Stops that end a sentence wherever they stand: the CJK full stops, the danda, and
# those of Ethiopic, Burmese (the little section too), Khmer, Urdu and Armenian. The
# full stop of the Latin keyboard needs a space and a capital.
_STOPS = "。！？｡।॥።፧၊။។៕۔։"
_BREAK = re.compile(
    rf"[{_STOPS}]+[{_CLOSING}]*"
    rf"|[.!?…؟][{_CLOSING}]*+(?=\s+[{_OPENING}]*(?P<letter>[^\W\d_]))"
)
# what most lines lack, found faster: a stop that is not the last character
_INNER_STOP = re.compile(rf"[{_STOPS}.!?…؟](?!\Z)")


class _Stored(io.RawIOBase):
    """A file as it is stored, up to a limit; `size`: its bytes, 0 of a pipe;
    `consumed`: those read so far.
    """

    def __init__(self, raw: io.RawIOBase, size: int, limit: int | None) -> None:
        super().__init__()
        self.raw, self.size, self.limit, self.consumed = raw, size, limit, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = None if self.limit is None else self.limit - self.consumed
        count = self.raw.readinto(memoryview(buffer)[:left]) or 0
        self.consumed += count
        return count

    def close(self) -> None:
        self.raw.close()
        super().close()


def _open(place: Place, limit: int | None) -> _Stored:
    """Open a file of this machine or of another, or a pipe; raises VocapError for none,
    and for a folder.
    """
    path = path_of(place)
    if is_remote(path):
        remote = open_remote(place)
        return _Stored(remote, remote.size, limit)
    if not os.path.exists(path):
        raise VocapError(f"{path}: no such file; check the path")
    if os.path.isdir(path):
        raise VocapError(f"{path}: a folder, not a text file; name a file with a sentence a line")
    file = io.FileIO(path)
    return _Stored(file, os.fstat(file.fileno()).st_size, limit)


def path_of(place: Place) -> str | Path:
    """The path of a file."""
    return place.path if isinstance(place, Shard) else place


def open_remote(place: Place) -> RemoteFile:
    """Open a file of another machine, of the version that its listing names."""
    return RemoteFile(place if isinstance(place, Shard) else str(place))


class _Streams:
    """The text of compressed data: streams of one format, and the padding between and
    behind them. What else follows a stream is damage, so the end is known to be that of
    the last stream: the standard library's files take it for rubbish without a word.

    `most`: bytes that a decompressor takes at a time; `count`: those taken so far.
    """

    def __init__(
        self, file: io.BufferedIOBase, most: int, decompressor: Callable[[], Any], padding: bytes
    ) -> None:
        self.file, self.most, self.decompressor, self.padding = file, most, decompressor, padding
        self.count = 0
        self._stream = decompressor()
        self._waiting = b""  # data that were read, which no decompressor took

    def _fetch(self) -> bytes:
        self._waiting = self.file.read(self.most)
        self.count += len(self._waiting)
        return self._waiting

    def read1(self, size: int) -> bytes:
        """At most `size` bytes of text, none at the end; raises EOFError within a stream."""
        while True:
            if self._stream.eof:
                if not self._follows():
                    return b""
                self._stream = self.decompressor()
            text: bytes = self._stream.decompress(self._waiting, size)
            # zlib's hands back what it did not take, the others keep it
            rest = "unused_data" if self._stream.eof else "unconsumed_tail"
            self._waiting = getattr(self._stream, rest, b"")
            if text:
                return text
            if not (self._stream.eof or self._waiting or self._fetch()):
                raise EOFError

    def _follows(self) -> bool:
        """Skip whole padding; whether anything is behind it."""
        zeros = 0
        while self._waiting or self._fetch():
            data = self._waiting.lstrip(self.padding)
            zeros += len(self._waiting) - len(data)
            self._waiting = data
            if data:
                break
        self._waiting = bytes(zeros % (len(self.padding) or 1)) + self._waiting
        return bool(self._waiting)


def frame_text(head: bytes) -> int | None:
    """The bytes of text of a file of zstd that begins with `head`, where it tells them."""
    try:
        return zstd.get_frame_info(head).decompressed_size
    except zstd.ZstdError:
        return None


def even_span(size: int, read: tuple[int, int], half: tuple[int, int], told: int | None) -> float:
    """The stored bytes that would hold the text of a beginning if the compression were
    even in all of a file of `size` stored bytes.

    A compressor has nothing to refer to at first: of zstd's level 19 or xz the first MiB
    holds 5 % less text than others. The rest is taken to be as the second half of
    the beginning, or as the file tells.

    Parameters
    ----------
    read, half
        Stored bytes and bytes of text: of the beginning, and at the middle of it.
    told
        Bytes of text of the file, if it tells them; of several frames it tells those of
        the first.
    """
    (stored, text), (stored_half, text_half) = read, half
    whole = text + (text - text_half) / (stored - stored_half) * (size - stored)
    if told is not None and abs(told / whole - 1) < _FAR:
        whole = told
    return size * text / whole


def prefix_note(path: str | Path) -> dict[str, Any] | None:
    """The note of `vocap fetch` beside a file that it fetched in part; None for a whole
    file.
    """
    try:
        with open(f"{os.fspath(path)}.json", "rb") as file:
            note = json.loads(file.read(1 << 16))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return (
        note
        if isinstance(note, dict) and note.get("complete") is False and "fetched_bytes" in note
        else None
    )


class LineFile:
    r"""The lines of one file, as blocks of whole lines (bytes, each line ended by
    `\n`), without a byte order mark; iterate once.

    The file is plain, gzip, xz, zstd or bzip2. `limit_bytes` bounds the bytes read of
    it as it is stored; of a longer file `vocap fetch` may have fetched the beginning
    alone. In both cases the last, partial line is dropped. Memory: a few blocks of 1
    MiB, or of the longest line. Raises VocapError for no file, a folder, damaged
    compressed data and a line of more than 64 MiB, and OSError.

    Attributes
    ----------
    consumed, size : bytes of the file read so far, and its length, as it is stored.
    total : at the end, the length of the file that this one is the beginning of, or its
        own; None where it is not known.
    spanned : at the end, the bytes as stored that the lines are of: without those of a
        last line, or a block of compressed data, that was cut.
    counts : what its reader found in the lines, for whoever gave it the file.
    ended : whether the end of the whole text was reached.
    lines, before : lines so far, and those before the block at hand.
    undecoded : stored lines that are not UTF-8; None where they are those of the text.
    """

    no_field = 0  # of a file of records: those without the field that is read

    def __init__(self, place: Place, limit_bytes: int | None = None) -> None:
        self.place, self.limit_bytes = place, limit_bytes
        self.prefix = prefix_note(path_of(place))
        self.path = address_of(path_of(place))
        self.consumed, self.size, self.ended = 0, 0, False
        self.spanned = 0.0
        self.counts: Counter[str] = Counter()
        self.lines = self.before = 0
        self.undecoded: int | None = None

    def blocks(self) -> Iterator[bytes]:
        """The text, decompressed, in blocks of 1 MiB, the last one shorter; what
        precedes an error is given.
        """
        with naming(self.path), _open(self.place, self.limit_bytes) as stored:
            self.size = stored.size
            buffered = io.BufferedReader(stored, REQUEST if is_remote(self.path) else 1 << 18)
            head = buffered.peek(_HEADER)
            name: str = ""
            file: io.BufferedIOBase | _Streams = buffered
            for magic, known, decompressor, padding in _FORMATS:
                if re.match(magic, head):
                    fed = _FED if self.limit_bytes is None else _FED_PART
                    name, file = known, _Streams(buffered, fed, decompressor, padding)
            parts, length, ended, given, taken = [], 0, False, 0, 0
            half: tuple[int, int] | None = None
            while not ended:
                before = taken, given
                part = self._read(file, BLOCK - length, name, stored)
                parts.append(part)
                length += len(part)
                given += len(part)
                taken = getattr(file, "count", 0)  # of compressed data
                if part:
                    self.spanned = taken or self.spanned + len(part)
                if half is None and taken > before[0] >= (self.limit_bytes or math.inf) / 2:
                    half = before  # a block of compressed data ends there
                self.consumed = stored.consumed
                ended = not part
                if length and (length == BLOCK or ended):
                    yield b"".join(parts)
                    parts, length = [], 0
            self.size = max(self.size, self.consumed)  # a pipe has no size
            self.ended = not self._is_cut(stored)
            if half is not None and not self.ended and self.spanned > half[0]:
                read = int(self.spanned), given
                self.spanned = even_span(self.size, read, half, frame_text(head))

    def _is_cut(self, stored: _Stored) -> bool:
        """Whether the file goes on behind what was read of it."""
        return self.prefix is not None or stored.consumed == self.limit_bytes != stored.size

    @property
    def total(self) -> int | None:
        return self.size if self.prefix is None else self.prefix.get("total_bytes")

    def _read(
        self, file: io.BufferedIOBase | _Streams, most: int, name: str, stored: _Stored
    ) -> bytes:
        """The next bytes, none at the end; raises VocapError for damaged data of the
        format `name`.
        """
        try:
            return file.read1(min(most, 1 << 17))
        except EOFError:
            if self._is_cut(stored):
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
        given = 0  # bytes of text
        for block in self.blocks():
            given += len(block)
            progress.tell(self.lines, self.consumed, self.size)
            if end := block.rfind(b"\n") + 1:
                yield self._count(rest + block[:end])
                rest = b""
            rest += block[end:]
            if len(rest) > LONGEST_LINE:
                raise VocapError(
                    f"{self.path}, line {self.lines + 1}: longer than {LONGEST_LINE >> 20} MiB; "
                    "give one sentence or record a line"
                )
        if self.ended and rest:
            yield self._count(rest + b"\n")
        elif rest:
            self.spanned *= 1 - len(rest) / given

    def _count(self, block: bytes) -> bytes:
        if not self.lines:
            block = block.removeprefix(BYTE_ORDER_MARK)
        self.before = self.lines
        self.lines += block.count(b"\n")
        return block


def escape_line(text: str) -> str:
    r"""One line for a text of several.

    >>> escape_line("a\\b\nc")
    'a\\\\b\\nc'
    """
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def unescape_line(line: str) -> str:
    """Undo `escape_line`."""
    if "\\" not in line:
        return line
    return _ESCAPED.sub(lambda match: "\n" if match[1] == "n" else "\\", line)


def document_lines(text: str, most: int = MAX_LINE_BYTES) -> list[str]:
    r"""The document as lines of at most `most` bytes: cut behind line ends, which stay.

    Parts without text are left out. A longer line of the document stays whole, for the
    count of overlong lines.

    >>> document_lines("one\ntwo\n\nthree", 9)
    ['one\\n', 'two\\n\\n', 'three']
    """
    parts, size = [""], 0
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        length = len(escape_line(line).encode("utf-8", "surrogatepass"))
        if size + length > most:
            parts.append("")
            size = 0
        parts[-1] += line
        size += length
    return [escape_line(part) for part in parts if part.strip()]


def holds_documents(path: str | Path) -> bool:
    """Whether the lines of a train.txt or heldout.txt are documents."""
    try:
        stats = json.loads((Path(path).parent / "stats.json").read_bytes())
    except (OSError, ValueError):  # of a remote path too: no such file
        return False
    return isinstance(stats, dict) and stats.get(FLAG) is True


def split_sentences(text: str) -> list[str]:
    """The sentences of `text`, stripped, none empty; lines of `text` are never joined.

    Cuts after `. ! ? …` before a space and a letter that is not lower-case (a script
    without case counts as capitals, else Georgian or Telugu would never be cut), and
    after the full stops of other scripts. Knows no abbreviations: "Dr. Who" is cut,
    which costs a subword model nothing.

    >>> split_sentences("It rains. It pours, e.g. here. 雨だ。「降る。」")
    ['It rains.', 'It pours, e.g. here.', '雨だ。', '「降る。」']
    """
    if "\n" not in text and not _INNER_STOP.search(text):
        return [stripped] if (stripped := text.strip()) else []
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
    byte after their last; and how many are read, empty, overlong, invalid_utf8, and
    with_nul of the invalid ones.
    """

    starts: np.ndarray
    ends: np.ndarray
    counts: dict[str, int]


def decode_line(part: bytes) -> str | None:
    """The bytes as text; None where they are not UTF-8 or hold a NUL: SentencePiece
    refuses it, and text in UTF-16 looks like that.
    """
    if b"\0" in part:
        return None
    try:
        return part.decode()
    except UnicodeDecodeError:
        return None


def find_lines(block: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    r"""The lines of a block that ends with `\n`: the first byte of each and the byte
    after its last (int64), without any `\r` before `\n`; whether it is no text (as
    `decode_line`), and whether it holds a NUL.
    """
    data = np.frombuffer(block, np.uint8)
    stops = np.flatnonzero(data == 10)
    starts = np.empty_like(stops)
    starts[0] = 0
    starts[1:] = stops[:-1] + 1
    ends = stops.copy()
    if b"\r" in block:
        while (returns := (ends > starts) & (data[np.maximum(ends - 1, 0)] == 13)).any():
            ends -= returns
    invalid, with_nul = np.zeros((2, len(starts)), bool)
    if decode_line(block) is None:
        for index, line in enumerate(block[:-1].split(b"\n")):
            invalid[index], with_nul[index] = decode_line(line) is None, b"\0" in line
    return starts, ends, invalid, with_nul


def survey(block: bytes) -> Survey:
    """Classify the lines of a block, as `find_lines` finds them.

    A line of several kinds counts once, as the first of: overlong, invalid, empty
    (white space only).
    """
    starts, ends, invalid, with_nul = find_lines(block)
    lengths = ends - starts
    overlong = lengths > MAX_LINE_BYTES
    invalid &= ~overlong
    valid = ~(overlong | invalid)
    # take out those that are empty
    empty = (lengths == 0) & valid
    suspects = _WHITE_STARTS[np.frombuffer(block, np.uint8)[starts]] & valid & (lengths > 0)
    for index in np.flatnonzero(suspects).tolist():
        empty[index] = not block[starts[index] : ends[index]].decode().strip()
    valid &= ~empty
    counts = {"read": len(starts), "empty": int(empty.sum()), "overlong": int(overlong.sum())}
    counts |= {"invalid_utf8": int(invalid.sum()), "with_nul": int((with_nul & invalid).sum())}
    return Survey(starts[valid], ends[valid], counts)


def decoded(file: LineFile, aligned: bool) -> Iterator[list[str]]:
    """The lines of each block as text, without invalid ones, which one warning counts.

    `aligned`: each of these is an empty line. Raises VocapError as `file` and
    `check_encoding`.
    """
    counts, first = Counter(read=0, invalid_utf8=0, with_nul=0), 0
    for block in file:
        if b"\r" not in block and (text := decode_line(block[:-1])) is not None:
            lines = text.split("\n")
            counts["read"] += len(lines)
        else:
            starts, ends, invalid, nul = find_lines(block)
            bounds = zip(starts.tolist(), ends.tolist(), invalid.tolist(), strict=True)
            lines = [
                "" if bad else block[start:end].decode()
                for start, end, bad in bounds
                if aligned or not bad
            ]
            if invalid.any():
                first = first or counts["read"] + int(invalid.argmax()) + 1
            counts.update(
                read=len(starts), invalid_utf8=int(invalid.sum()), with_nul=int(nul.sum())
            )
        if lines:
            yield lines
    check_encoding(file, counts)
    if dropped := counts["invalid_utf8"]:
        warn_of_invalid(file.path, counts["read"], dropped, first)


def check_encoding(file: LineFile, counts: Mapping[str, int]) -> None:
    """Raise VocapError for a file of whose lines more than a tenth are invalid, as they
    are stored: an escape_line in JSON that is no text is no fault of the encoding.

    `counts`: those of `Survey`.
    """
    invalid, with_nul, read = counts["invalid_utf8"], counts["with_nul"], counts["read"]
    if file.undecoded is not None:
        invalid, with_nul = file.undecoded, 0
    if invalid <= MOST_INVALID * read:
        return
    count, said, why = invalid, "cannot be decoded", "check that it is text"
    if with_nul > invalid / 2:
        count, said, why = with_nul, "hold NUL bytes", "it is UTF-16, or no text"
    raise VocapError(
        f"{file.path}: not UTF-8: {count:,} of {read:,} lines {said}; convert the file (iconv -f "
        f"ENCODING -t UTF-8): {why}"
    )


@cache  # once for each file, however often it is read
def warn_of_invalid(path: str | Path, read: int, invalid: int, first: int) -> None:
    """Say how many of the `read` lines are left out; `first`: the number of the first."""
    log.warning(
        "%s: %s of %s lines are not UTF-8 or hold a NUL, and are left out (of aligned text: gaps); "
        "the first is line %s of the text",
        path, f"{invalid:,}", f"{read:,}", f"{first:,}",
    )  # fmt: skip
