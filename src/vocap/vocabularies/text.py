"""Reading text for training and counting: UTF-8, a sentence a line, a block at a time."""

import os
from collections.abc import Iterator

from vocap.errors import VocapError
from vocap.files import naming

BLOCK_BYTES = 1 << 20  # some thousand lines: large enough to batch, small beside any model
ARCHIVES = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2"}  # first bytes


def read_blocks(path: str | os.PathLike, block_bytes: int = BLOCK_BYTES) -> Iterator[list[str]]:
    r"""Yield the lines of a file without their `\n`, in lists of about `block_bytes`.

    Only `\n` ends a line (no U+2028, no `\r`); a last line needs none. Raises VocapError, naming the file,
    where there is none, and naming the line that is not UTF-8.
    """
    first = 1
    try:
        with naming(path), open(path, "rb") as file:
            while block := file.readlines(block_bytes):
                yield _decode(path, block, first)
                first += len(block)
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise VocapError(f"{path}: a folder, not a text file; name a file with a sentence a line") from None


def read_lines(path: str | os.PathLike) -> Iterator[str]:
    """The lines of `read_blocks` one by one."""
    for block in read_blocks(path):
        yield from block


def _decode(path: str | os.PathLike, block: list[bytes], first: int) -> list[str]:
    try:
        text = b"".join(block).decode("utf-8")
    except UnicodeDecodeError:
        for start, kind in ARCHIVES.items():
            if first == 1 and block[0].startswith(start):
                raise VocapError(f"{path}: compressed with {kind}; unpack it first") from None
        for number, line in enumerate(block, start=first):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise VocapError(
                    f"{path}, line {number}: not UTF-8 ({error.reason} at byte {error.start} of the line); "
                    "convert the file to UTF-8, or remove the line"
                ) from None
        raise
    return text.removesuffix("\n").split("\n")
