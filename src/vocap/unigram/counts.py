"""Counts of the text of one language, made once for every training: its distinct
stretches, in a file.

Normalised text is cut into stretches before each run of U+2581 that is not behind other
white space. The words of unigram models and those of byte-pair encoding follow from
them by further cuts. Only an expression of the user, symbols of one tokenizer, and
unigram models of text almost without spaces need the text again.

A file is a sequence of NumPy arrays (`numpy.save`), which is read a block of rows at a
time: facts in JSON, blocks of the lines that are apart, in UTF-8, then for each block of
stretches their code points, their lengths, and their counts, each array of the least type
that holds it. Arrow would take pyarrow, an extra, and its strings another decoding.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from vocap.errors import VocapError
from vocap.files.io import naming, replacing, scratch_directory
from vocap.text_files.text import Text, text_blocks, text_sha256
from vocap.tokenizer_files.model_file import BYTES
from vocap.unigram.text_settings import XLM_R, TextSettings
from vocap.unigram.training_text import character_counts, named_counts, trained_on
from vocap.unigram.word_table import INSIDE, LAST, STRETCHES, WordTable, join_words

VERSION = 3
MEMORY = 1_000_000_000  # bytes that are counted in, unless given
APART = "apart"  # file of lines, while they are collected
PARTS = 16  # of the stretches: one at a time is held
PART = np.uint64(2**64 // PARTS)  # of the hashes in each
ROWS = 1 << 16  # of a block
KINDS = (np.int32, np.int32, np.int64)  # of its arrays in memory

Block = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]


@dataclass(frozen=True)
class Counts:
    """The counts of a file: `facts` of its texts.

    `facts["apart"]`: names that some training does not take for text; lines that hold
    one are no part of the stretches.
    """

    path: Path
    facts: Mapping[str, Any]

    @classmethod
    def open(cls, path: str | Path, texts: Mapping[str, Text], language: str = "") -> "Counts":
        """Open a file of `count_texts`; {lang} in the path stands for the language.

        Raises VocapError for anything else, and for counts of other `texts`.
        """
        path = Path(str(path).replace("{lang}", language))
        try:
            with open(path, "rb") as file:
                facts = json.loads(np.load(file).tobytes())
        except (ValueError, EOFError):
            facts = {}
        if facts.get("version") != VERSION:
            raise VocapError(
                f"{path}: not what this version of vocap count wrote; count the text again"
            )
        for name, text in texts.items():
            if facts["texts"].get(name, {}).get("sha256") != text_sha256(text, text_blocks(text)):
                raise VocapError(f"{path}: counts of another {name} text; count it again")
        return cls(path, facts)

    def check(self, settings: TextSettings, metas: Iterable[str] = ()) -> None:
        """Raise VocapError unless the text was read with these settings, and lines with
        one of the `metas` are apart.
        """
        apart = {*metas, *settings.meta_pieces}
        if self.facts["reading"] != settings.reading or not apart.issubset(self.facts["apart"]):
            raise VocapError(
                f"{self.path}: counted with other settings of the text, or another layout; count "
                "it again with those of this call (vocap count)"
            )

    def add_to(self, table: WordTable, cut: int, columns: slice, weight: int = 1) -> None:
        """Add the words of the stretches, by a `cut` that is none of lines, to these
        columns of a table, each `weight` times.
        """
        for text, start, length, counts in _blocks(self.path, self._before):
            added = np.zeros((len(length), table.counts.shape[1]), np.int64)
            added[:, columns] = counts[:, columns] * weight
            table.add_counted(text, start, length, added, cut)

    @property
    def _before(self) -> int:
        """The arrays before the blocks of stretches."""
        return 1 + sum(about["apart"] for about in self.facts["texts"].values())

    def apart(self, text: str) -> Iterator[list[str]]:
        """The lines of a text that hold a name which is apart, in blocks."""
        with open(self.path, "rb") as file:
            np.load(file)
            for name, about in self.facts["texts"].items():
                for _ in range(about["apart"]):
                    lines = np.load(file)
                    if name == text:
                        yield lines.tobytes().decode("utf-8", "surrogatepass").split("\n")

    def trained_characters(self, settings: TextSettings) -> tuple[Counter[str], int]:
        """`count_characters` of the text named train."""
        found = character_counts(self.apart("train"), settings)
        for text, _, length, counts in _blocks(self.path, self._before):
            times = np.repeat(counts[:, INSIDE] + counts[:, LAST], length)
            found += named_counts(np.bincount(text, times))
        return found, self.facts["texts"]["train"]["lines"]


@dataclass(frozen=True)
class CountableText:
    """Texts of a language by name, functions that give lines in blocks, each line
    `weight` times; their `counts`, if they were made.
    """

    texts: Mapping[str, Callable[[], Iterable[list[str]]]]
    counts: Counts | None = None
    weight: int = 1

    def size(self, unit: str) -> int:
        """The lines or characters of the text named train."""
        if self.counts is not None:
            return int(self.counts.facts["texts"]["train"][unit])
        blocks = self.texts["train"]()
        return sum(len(block) if unit == "lines" else sum(map(len, block)) for block in blocks)

    def read(self, text: str) -> Iterable[list[str]]:
        """The lines that the counts do not hold."""
        return self.texts[text]() if self.counts is None else self.counts.apart(text)


def count_texts(
    texts: Mapping[str, Text],
    output: str | Path,
    settings: TextSettings = XLM_R,
    apart: Iterable[str] = (),
    memory: int = MEMORY,
) -> Counts:
    """Count the texts of a language into the file `output`; the first one, train, is
    trained on.

    `apart`: special tokens and other names that some training does not take for text,
    beside those of the `settings`. `memory`: bytes of distinct stretches, beyond which
    they are written beside `output`, in parts that are put together one by one at the
    end; the result does not depend on it. Raises as `text_blocks`.
    """
    names = sorted({*BYTES, *settings.meta_pieces, *apart})
    plain = TextSettings(**settings.reading)
    about: dict[str, dict[str, Any]] = {}
    facts = {"version": VERSION, "reading": settings.reading, "apart": names, "texts": about}
    table = WordTable(len(texts))
    with scratch_directory(output) as scratch:
        for column, (name, text) in enumerate(texts.items()):
            blocks = text_blocks(text)
            found = about[name] = {"lines": 0, "characters": 0, "apart": 0}
            for block in trained_on(blocks(), settings=plain, train=name == "train", apart=names):
                table.count_block(block, STRETCHES, column)
                found["lines"] += block.lines
                found["characters"] += block.characters
                if block.whole:
                    lines = "\n".join(block.whole).encode("utf-8", "surrogatepass")
                    with naming(scratch), open(scratch / APART, "ab") as file:
                        _save(file, np.frombuffer(lines, np.uint8))
                    found["apart"] += 1
                if table.nbytes > memory:
                    _spill(table, scratch)
                    table = WordTable(len(texts))
            found["sha256"] = text_sha256(text, blocks)
        spilled = (scratch / "0").exists()
        if spilled:
            _spill(table, scratch)
        with replacing(output, "wb") as file:
            _save(file, np.frombuffer(json.dumps(facts).encode(), np.uint8))
            if (scratch / APART).exists():
                with open(scratch / APART, "rb") as lines_apart:
                    shutil.copyfileobj(lines_apart, file)
            for part in range(PARTS):
                if spilled:
                    table = WordTable(len(texts))
                    for stretches in _blocks(scratch / str(part)):
                        table.add_counted(*stretches)
                _write(file, table, part)
    return Counts(Path(output), facts)


def _spill(table: WordTable, scratch: Path) -> None:
    """Write each part of the words behind those that were written before."""
    for part in range(PARTS):
        with naming(scratch), open(scratch / str(part), "ab") as file:
            _write(file, table, part)


def _write(file: IO[bytes], table: WordTable, part: int) -> None:
    """Write the words of a part in blocks."""
    words = np.flatnonzero(table.hashes[: table.known] // PART == part).astype(np.int32)
    for begin in range(0, len(words), ROWS):
        block = words[begin : begin + ROWS]
        length = table.lengths(block)
        text = np.empty(length.sum(dtype=np.int64), np.int32)
        join_words(table.store, table.bounds, block, block, 0, text)
        _save(file, text)
        _save(file, length)
        _save(file, table.counts[block])


def _save(file: IO[bytes], array: NDArray[Any]) -> None:
    """`numpy.save` of numbers from 0 on into a file, whose errors it would tell without a
    number.
    """
    content = BytesIO()
    np.save(content, array.astype(np.min_scalar_type(array.max(initial=0))))
    file.write(content.getbuffer())


def _blocks(path: Path, first: int = 0) -> Iterator[Block]:
    """The blocks of a file behind its `first` arrays: code points of stretches, where
    each begins, its length, and its counts as of `WordTable`.
    """
    size = path.stat().st_size
    with open(path, "rb") as file:
        for _ in range(first):
            np.load(file)
        while file.tell() < size:
            text, length, counts = (np.load(file).astype(kind) for kind in KINDS)
            yield text, np.cumsum(length, dtype=np.int32) - length, length, counts
