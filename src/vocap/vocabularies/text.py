"""Reading text for training and counting: UTF-8, a sentence a line, a block at a time."""

import logging
import os
from collections.abc import Iterator

from vocap.corpora.reading import BLOCK, LineBlocks, open_blocks
from vocap.errors import VocapError
from vocap.files import naming
from vocap.progress import Progress

logger = logging.getLogger(__name__)


def read_blocks(path: str | os.PathLike, block_bytes: int = BLOCK) -> Iterator[list[str]]:
    r"""Yield the lines of a file without their `\n`, in lists of about `block_bytes`.

    The file is plain, gzip, xz, zstd or bzip2. Only `\n` ends a line (no U+2028, no `\r`); a last line needs none.
    A line of more than 1 MiB is passed over, and a warning counts them: memory is that of a few blocks, whatever
    the file holds. A file that takes more than 5 s is reported on. Raises VocapError, naming the file, where there
    is none or its compressed data are damaged, and naming the line that is not UTF-8.
    """
    file = LineBlocks(open_blocks(path, block_bytes=block_bytes), progress=Progress(path))
    try:
        with naming(path):
            for block in file:
                yield _decode(path, block, file.lines - block.count(b"\n") + 1)
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
