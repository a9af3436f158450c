"""Files of text as blocks of bytes, decompressed on the way, and as whole lines, in bounded memory."""

import bz2
import lzma
import os
import zlib
from collections.abc import Iterator

import zstandard

from vocap.errors import VocapError
from vocap.progress import Progress
from vocap.text_files.content import PARQUET, known_format

BLOCK = 1 << 20  # bytes of text handed on at a time, about
LONGEST_LINE = 1 << 20  # a longer line of text is passed over, never whole in memory
LONGEST_RECORD = 1 << 26
_RAW = 1 << 18  # bytes of the file read at a time
_HEAD = 512  # bytes that determine the kind of a file
_LZMA_MEMORY = 1 << 29  # xz -9 needs 65 MiB; a file that claims more than this is refused


class _Decoder:
    """One stream of compressed data; xz or bzip2 as it stands here."""

    raw = _RAW  # bytes to feed at a time

    def __init__(self, name: str, decoder) -> None:
        self.name, self._decoder = name, decoder

    def feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            yield self._decoder.decompress(data, BLOCK)
            data = b""
            if self.ended or self._decoder.needs_input:
                return

    @property
    def ended(self) -> bool:
        return self._decoder.eof

    @property
    def rest(self) -> bytes:
        return self._decoder.unused_data


class _Zlib(_Decoder):
    """gzip, one member."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            block = self._decoder.decompress(data, BLOCK)
            yield block
            data = self._decoder.unconsumed_tail
            if self.ended or (not data and len(block) < BLOCK):
                return


class _Zstandard(_Decoder):
    """zstd, one frame."""

    raw = 1 << 10  # the decoder has no limit of output: 4 bytes can stand for 128 KiB, so this much for 32 MiB

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield self._decoder.decompress(data)


def _decoder(head: bytes) -> _Decoder | None:
    """The decoder that these first bytes name; None for plain text."""
    if head.startswith(b"\x1f\x8b"):
        return _Zlib("gzip", zlib.decompressobj(wbits=31))
    if head.startswith(b"\xfd7zXZ\x00"):
        return _Decoder("xz", lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_LZMA_MEMORY))
    if head.startswith(b"BZh") and head[3:4] in b"123456789":
        return _Decoder("bzip2", bz2.BZ2Decompressor())
    if head.startswith(b"\x28\xb5\x2f\xfd") or (head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5):
        # the second is a frame to be skipped; pzstd writes them first
        return _Zstandard("zstd", zstandard.ZstdDecompressor().decompressobj())
    return None


class Blocks:
    """The text of one file in blocks of about 1 MiB, decompressed; iterate once, and read the attributes then.

    The first bytes determine the compression: none, gzip, xz, zstd or bzip2. `limit_bytes` bounds the bytes read
    of the file as it is stored; `cut`: the file is a prefix of a longer one. `consumed`: bytes of the file read
    so far, as it is stored; `size`: its length; `ended`: whether the end of the whole text was reached, False
    where `limit_bytes` stopped the reading or the file is a prefix. Memory: a few blocks, whatever the file
    claims (100 MiB for a hostile zstd frame). Raises VocapError for damaged or truncated data, and OSError.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        limit_bytes: int | None = None,
        cut: bool = False,
        block_bytes: int = BLOCK,
    ) -> None:
        self.path, self.limit_bytes, self.cut, self.block_bytes = path, limit_bytes, cut, block_bytes
        self.consumed, self.size, self.ended = 0, 0, False

    def __iter__(self) -> Iterator[bytes]:
        with open(self.path, "rb", buffering=0) as file:
            self.size = os.fstat(file.fileno()).st_size
            head = self._read(file, max(min(_RAW, self.block_bytes), _HEAD))
            if _decoder(head) is None:
                while head:
                    yield head
                    head = self._read(file, self.block_bytes)
                self._stop()
            else:
                yield from even(self._decompressed(head, file), self.block_bytes)

    def _read(self, file, count: int) -> bytes:
        """Up to `count` bytes, fewer only at the end of the file or at the limit."""
        if self.limit_bytes is not None:
            count = min(count, self.limit_bytes - self.consumed)
        data = file.read(count) if count > 0 else b""
        while 0 < len(data) < count and (more := file.read(count - len(data))):
            data += more
        self.consumed += len(data)
        return data

    def _stop(self) -> bool:
        """Record the end of the reading; whether it was before the end of the text."""
        self.size = max(self.size, self.consumed)  # a pipe has no size
        self.ended = not self.cut and self.consumed >= self.size
        return not self.ended

    def _decompressed(self, data: bytes, file) -> Iterator[bytes]:
        """Members, streams or frames one after the other, zeros between them allowed (xz, tar on tapes)."""
        decoder = first = _decoder(data)
        while True:
            while data and not decoder.ended:
                for start in range(0, len(data), decoder.raw):
                    try:
                        yield from decoder.feed(data[start : start + decoder.raw])
                    except (zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError, ValueError) as error:
                        raise self._broken(first.name, str(error)) from None
                    if decoder.ended:
                        data = decoder.rest + data[start + decoder.raw :]
                        break
                else:
                    data = self._read(file, _RAW)
            if not decoder.ended:
                if not self._stop():
                    raise VocapError(
                        f"{self.path}: the {first.name} data stop in the middle, at byte {self.consumed}; "
                        "the file was cut: copy or download it again"
                    )
                return
            data = data.lstrip(b"\0")
            while len(data) < 6 and (more := self._read(file, _RAW)):
                data = (data + more).lstrip(b"\0")
            if not data:
                self._stop()
                return
            decoder = _decoder(data)
            if decoder is None or decoder.name != first.name:
                if len(data) < 6 and self._stop():
                    return  # the limit fell inside the next member's first bytes
                raise self._broken(first.name, f"something else follows its end, from {data[:4].hex()} on")

    def _broken(self, kind: str, why: str) -> VocapError:
        return VocapError(
            f"{self.path}: {kind} data cannot be decompressed, before byte {self.consumed} ({why}); "
            "copy or download it again, or unpack it by hand"
        )


def even(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Small blocks joined to `size` bytes or more, large ones cut: 32 MiB can be that many empty lines."""
    waiting, length = [], 0
    for block in blocks:
        waiting.append(block)
        length += len(block)
        if length >= size:
            joined = b"".join(waiting)
            for start in range(0, length, size):
                yield joined[start : start + size]
            waiting, length = [], 0
    if length:
        yield b"".join(waiting)


class LineBlocks:
    r"""The lines of one file, as blocks of whole lines (bytes, each line ended by `\n`); iterate once.

    A line of more than `longest` bytes is never held. Where lines are `records`, it is an error; else it is passed
    over and counted: `passed_over` lines of `passed_bytes` together. `lines`: all lines so far, those too.
    `checked`: whether formats that are known by their first bytes and are not text are refused. `consumed`,
    `size`, `ended`: see `Blocks`. Where the reading stops before the end of the text, the last, partial line is
    dropped. `progress` is called after every block. Raises VocapError for a file that is not text.
    """

    def __init__(
        self,
        blocks: Blocks,
        longest: int = LONGEST_LINE,
        records: bool = False,
        progress: Progress | None = None,
        checked: bool = True,
    ) -> None:
        self._blocks, self.longest, self.records, self._progress = blocks, longest, records, progress
        self._checked = checked
        self.path = blocks.path
        self.lines = self.passed_over = self.passed_bytes = 0

    consumed = property(lambda self: self._blocks.consumed)
    size = property(lambda self: self._blocks.size)
    ended = property(lambda self: self._blocks.ended)

    def __iter__(self) -> Iterator[bytes]:
        for block in self._whole_lines():
            self.lines += block.count(b"\n")
            yield block

    def _whole_lines(self) -> Iterator[bytes]:
        waiting: list[bytes] = []
        length = 0
        first = True
        for block in self._blocks:
            if self._progress:
                self._progress.tell(self.lines, self.consumed, self.size)
            if first and self._checked:
                self._check_start(block)
            first = False
            end = block.rfind(b"\n") + 1
            if end:
                start = block.find(b"\n") + 1
                if length + start - 1 > self.longest:
                    self._pass_over(length + start)
                    if start < end:
                        yield block[start:end]
                else:
                    yield b"".join([*waiting, block[:end]])
                waiting, length = [], 0
            length += len(block) - end
            if length <= self.longest:
                waiting.append(block[end:])
            else:
                self._check_length()
                waiting = []
        if length and self.ended:
            if length <= self.longest:
                yield b"".join([*waiting, b"\n"])
            else:
                self._pass_over(length + 1)

    def _check_length(self) -> None:
        if self.records:
            raise VocapError(
                f"{self.path}, line {self.lines + 1}: longer than {self.longest >> 20} MiB; give one record a line"
            )

    def _pass_over(self, length: int) -> None:
        self._check_length()
        self.passed_over += 1
        self.passed_bytes += length
        self.lines += 1

    def _check_start(self, block: bytes) -> None:
        if block.startswith(PARQUET):
            from vocap.text_files.parquet import column_remedy

            raise VocapError(f"{self.path}: a Parquet file, not text; {column_remedy(self.path)}")
        if problem := known_format(block):
            raise VocapError(f"{self.path}: not UTF-8 text but {problem}")
