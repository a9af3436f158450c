"""Lines of text: reading them block by block, their validity, and cutting them into sentences."""

import logging
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vocap.errors import VocapError
from vocap.files.atomic import naming
from vocap.progress import Progress
from vocap.text_files import MAX_LINE_BYTES
from vocap.text_files.documents import holds_documents, unescape
from vocap.text_files.reading import BLOCK, Blocks, LineBlocks

logger = logging.getLogger(__name__)
_CLOSING = "\"'»”’)\\]」』）"
_OPENING = "\"'«“‘„(\\[¿¡—–-"
# Stops that end a sentence wherever they stand: the CJK full stops, the danda, and those of Ethiopic, Burmese (the
# little section too), Khmer, Urdu and Armenian. The full stop of the Latin keyboard needs a space and a capital.
_BREAK = re.compile(
    rf"[。！？｡।॥።፧၊။។៕۔։]+[{_CLOSING}]*"
    rf"|[.!?…؟][{_CLOSING}]*+(?=\s+[{_OPENING}]*(?P<letter>[^\W\d_]))"
)


def read_blocks(path: str | os.PathLike, block_bytes: int = BLOCK) -> Iterator[list[str]]:
    r"""Yield the lines of a file without their `\n`, in lists of about `block_bytes`.

    The file is plain, gzip, xz, zstd or bzip2. Only `\n` ends a line (no U+2028, no `\r`); a last line needs none.
    In a folder of documents (`documents.holds_documents`) a line is given as the document that it stands for. A
    line of more than 1 MiB is passed over, and a warning counts them: memory is that of a few blocks, whatever
    the file holds. A file that takes more than 5 s is reported on. Raises VocapError, naming the file, where there
    is none or its compressed data are damaged, and naming the line that is not UTF-8.
    """
    file = LineBlocks(Blocks(path, block_bytes=block_bytes), progress=Progress(path))
    documents = holds_documents(path)
    try:
        with naming(path):
            for block in file:
                lines = _decode(path, block, file.lines - block.count(b"\n") + 1)
                yield list(map(unescape, lines)) if documents else lines
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise VocapError(f"{path}: a folder, not a text file; name a file with a sentence a line") from None
    if file.passed_over:
        logger.warning(
            "%s: passed over: %s longer than %d MiB, %s bytes in all; a sentence a line is expected",
            path,
            f"{file.passed_over:,} line" + "s" * (file.passed_over > 1),
            file.longest >> 20,
            f"{file.passed_bytes:,}",
        )


def read_lines(path: str | os.PathLike) -> Iterator[str]:
    """The lines of `read_blocks` one by one."""
    for block in read_blocks(path):
        yield from block


def count_lines(path: str | os.PathLike) -> int:
    """The number of lines of `read_blocks`, of a plain file."""
    lines, last = 0, b"\n"
    try:
        with open(path, "rb") as file:
            while block := file.read(BLOCK):
                lines, last = lines + block.count(b"\n"), block[-1:]
    except FileNotFoundError:
        raise VocapError(
            f"{path}: no such file; check the path, or run vocap sample (vocap mix for a sample)"
        ) from None
    except IsADirectoryError:
        raise VocapError(f"{path}: a folder, not a text file; name a file with a sentence a line") from None
    return lines + (last != b"\n")


def _decode(path: str | os.PathLike, block: bytes, first: int) -> list[str]:
    r"""The lines of a block that ends with `\n`; its first line has the number `first`."""
    try:
        return block[:-1].decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        number = first + block.count(b"\n", 0, error.start)
        place = error.start - (block.rfind(b"\n", 0, error.start) + 1)
        raise VocapError(
            f"{path}, line {number}: not UTF-8 ({error.reason} at byte {place} of the line); "
            "convert the file to UTF-8, or remove the line"
        ) from None


def split_sentences(text: str) -> list[str]:
    """The sentences of `text`, stripped, none empty; lines of `text` are never joined.

    Cuts after `. ! ? …` before a space and a letter that is not lower-case (a script without case counts as
    capitals, else Georgian or Telugu would never be cut), and after the full stops of other scripts. Knows no
    abbreviations: "Dr. Who" is cut, which costs a subword model nothing.

    >>> split_sentences("It rains. It pours, e.g. here. 雨だ。「降る。」")
    ['It rains.', 'It pours, e.g. here.', '雨だ。', '「降る。」']
    """
    sentences = []
    for line in text.split("\n"):
        start = 0
        for match in _BREAK.finditer(line):
            letter = match["letter"]
            # Georgian's everyday letters are lower-case to Unicode, yet they start sentences.
            if letter is None or not letter.islower() or "ა" <= letter <= "ჿ":
                sentences.append(line[start : match.end()].strip())
                start = match.end()
        sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _white_pairs() -> np.ndarray:
    """Whether a line that starts with these two bytes (first x 256 + second) may be white space alone."""
    pairs = np.zeros((256, 256), bool)
    for byte in (*range(9, 14), *range(28, 33)):
        pairs[byte] = True
    for first, second in ((0xC2, 0x85), (0xC2, 0xA0), (0xE1, 0x9A), (0xE2, 0x80), (0xE2, 0x81), (0xE3, 0x80)):
        pairs[first, second] = True
    return pairs.ravel()


_WHITE_PAIRS = _white_pairs()


@dataclass
class Survey:
    """The lines of one block: int64 arrays of the valid ones' first byte and of the byte after their last."""

    starts: np.ndarray
    ends: np.ndarray
    read: int
    empty: int
    overlong: int
    invalid_utf8: int


def survey(block: bytes) -> Survey:
    r"""Classify the lines of a block that ends with `\n`; a `\r` before `\n` belongs to neither line nor text.

    A line of several kinds counts once, as the first of: overlong, invalid, empty (white space only). A line
    with a NUL counts as invalid: SentencePiece refuses it, and text in UTF-16 looks like that.
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
    lengths = ends - starts
    overlong = lengths > MAX_LINE_BYTES
    valid = ~overlong

    invalid = 0
    try:
        block.decode()
        clean = b"\0" not in block
    except UnicodeDecodeError:
        clean = False
    if not clean:
        for index, line in enumerate(block[:-1].split(b"\n")):
            if valid[index] and not _is_text(line):
                valid[index] = False
                invalid += 1

    empty = (lengths == 0) & valid
    second = data[np.minimum(starts + 1, len(data) - 1)]
    suspects = _WHITE_PAIRS[data[starts].astype(np.intp) << 8 | second] & valid & (lengths > 0)
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
    )


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in line
