r"""Documents as lines of a file: a line end inside one is written as a backslash and an n, a backslash as two.

Where the stats.json beside a train.txt or heldout.txt says so (`vocap sample --documents`), `lines.read_blocks`
gives the documents themselves.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from vocap.text_files import MAX_LINE_BYTES

FLAG = "documents"  # of stats.json
_ESCAPED = re.compile(r"\\([\\n])")


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

    Parts without text are left out. A longer line of the document stays whole, for the count of overlong lines.

    >>> list(parts("one\ntwo\n\nthree", 9))
    ['one\\n', 'two\\n\\n', 'three']
    """
    part, size = "", 0
    for line in _lines(text):
        written = escape(line)
        length = len(written.encode())
        if part and size + length > most:
            if part.strip():
                yield escape(part)
            part, size = "", 0
        part += line
        size += length
    if part.strip():
        yield escape(part)


def _lines(text: str) -> list[str]:
    r"""The lines of a text with their `\n`, which alone ends one."""
    *ended, last = text.split("\n")
    return [line + "\n" for line in ended] + [last] * bool(last)


def holds_documents(path: str | os.PathLike) -> bool:
    """Whether the lines of a train.txt or heldout.txt are documents."""
    try:
        stats = json.loads((Path(path).parent / "stats.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(stats, dict) and stats.get(FLAG) is True
