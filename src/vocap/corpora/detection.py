"""The format of a file on disk, by its content alone: `content` for what its beginning tells."""

import os

from vocap.corpora.content import Content, detect
from vocap.corpora.reading import open_blocks
from vocap.files import naming

HEAD = 1 << 20  # bytes of text that are looked at


def detect_file(path: str | os.PathLike) -> Content:
    """The format of a file, whatever its name is; plain or compressed.

    Raises VocapError for damaged compressed data, and OSError.
    """
    head, whole = b"", True
    with naming(path):
        for block in open_blocks(path):
            head += block
            if len(head) >= HEAD:
                whole = False
                break
    return detect(head, whole)
