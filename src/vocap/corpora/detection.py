"""The format of a file on disk, by its content alone: `content` for what its beginning tells."""

import os
from dataclasses import replace

from vocap.corpora import MAX_LINE_BYTES
from vocap.corpora.content import Content, are_documents, detect
from vocap.corpora.parquet import ParquetBlocks, text_columns
from vocap.corpora.reading import open_blocks
from vocap.errors import VocapError
from vocap.files import naming

HEAD = 1 << 20  # bytes of text that are looked at


def detect_file(path: str | os.PathLike) -> Content:
    """The format of a file, whatever its name is; plain or compressed.

    Raises VocapError for damaged compressed data, and OSError. A Parquet file that cannot be read has a `problem`.
    """
    head, whole = b"", True
    with naming(path):
        for block in open_blocks(path, cut=True):  # damage is for a reader of the whole file to find
            head += block
            if len(head) >= HEAD:
                whole = False
                break
    content = detect(head, whole)
    return _with_columns(path, content) if content.kind == "parquet" else content


def _with_columns(path: str | os.PathLike, content: Content) -> Content:
    try:
        fields = text_columns(path)
        if not fields:
            return replace(content, problem="its columns hold no text")
        start = next(iter(ParquetBlocks(path, fields[0])), b"")
    except VocapError as error:
        return replace(content, problem=str(error).removeprefix(f"{path}: "))
    lengths = [len(line) for line in start.split(b"\n") if line]
    return replace(
        content, fields=fields, split_sentences=are_documents([length > MAX_LINE_BYTES for length in lengths])
    )
