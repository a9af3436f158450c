"""Text as it comes: plain, JSON Lines, TSV and Parquet, compressed or not, read in
bounded memory.
"""

import os
from dataclasses import dataclass

from vocap.errors import UsageError
from vocap.files.paths import COMPRESSED

MAX_LINE_BYTES = 4192  # max_sentence_length, SentencePiece's default; it skips longer lines

# kinds of format, and the endings of names that tell them
KINDS = {
    "text": (),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "tsv": (".tsv",),
    "parquet": (".parquet",),
}
RECORDS = ("jsonl", "parquet")  # kinds whose records may hold line ends


@dataclass(frozen=True)
class Layout:
    """How text is stored in a file: `kind` text, jsonl, tsv or parquet; `field` the
    field or column.

    The name of a nested field is dotted: `doc.text`.
    """

    kind: str = "text"
    field: str = ""
    split_sentences: bool = False
    escaped_newlines: bool = False
    documents: bool = False

    @classmethod
    def parse(
        cls,
        text: str,
        split_sentences: bool = False,
        escaped_newlines: bool = False,
        documents: bool = False,
    ) -> "Layout":
        """From `text`, `jsonl:FIELD`, `tsv:COLUMN` or `parquet:COLUMN`; raises
        UsageError for anything else.
        """
        kind, _, field = text.partition(":")
        if kind not in KINDS or (kind == "text") == bool(field) or (kind == "tsv" and field == "0"):
            raise UsageError(
                f"format {text!r}: write text, jsonl:FIELD (as in jsonl:text), tsv:COLUMN (its "
                "number from 1, or its name) or parquet:COLUMN"
            )
        if documents and (kind not in RECORDS or split_sentences or escaped_newlines):
            raise UsageError(
                f"documents: whole records of {' or '.join(RECORDS)}, neither of format {text!r} "
                "nor cut into sentences"
            )
        return cls(kind, field, split_sentences, escaped_newlines, documents)

    @property
    def format(self) -> str:
        """The value of the key `format`: `text`, `jsonl:text`."""
        return f"{self.kind}:{self.field}" if self.field else self.kind


def kind_of(path: str | os.PathLike[str]) -> str:
    """The kind of a file's format by the ending of its name.

    >>> kind_of("de/1.JSONL.gz"), kind_of("de.parquet"), kind_of("de")
    ('jsonl', 'parquet', 'text')
    """
    name = os.fspath(path).lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return next((kind for kind, endings in KINDS.items() if name.endswith(endings)), "text")
