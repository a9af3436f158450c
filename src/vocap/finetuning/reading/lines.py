r"""A file of an XTREME folder as text and lines: UTF-8, cut at `\n` alone."""

from pathlib import Path

from vocap.corpora.reading import open_blocks
from vocap.errors import VocapError

AGAIN = "download the file again"


def read_text(path: Path) -> str:
    """The text of a file, decompressed where it is xz (or gzip, zstd, bzip2), without a byte order mark.

    Raises VocapError for a file that is not there, is empty, holds NUL bytes or is not UTF-8.
    """
    try:
        content = b"".join(open_blocks(path)).removeprefix(b"\xef\xbb\xbf")
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; download it, or correct the folder's path") from None
    if not content.strip():
        raise VocapError(f"{path}: the file is empty; {AGAIN}")
    if (place := content.find(b"\0")) >= 0:
        line = content.count(b"\n", 0, place) + 1
        raise VocapError(f"{path}, line {line}: a NUL byte; the file is damaged: {AGAIN}")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise VocapError(f"{path}, line {line}: not UTF-8 ({error.reason}); {AGAIN}") from None


def read_lines(path: Path) -> list[str]:
    r"""The lines of a file, without their `\n` or `\r\n`; U+2028 and the like are text.

    Raises VocapError as `read_text` does.
    """
    lines = read_text(path).split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
