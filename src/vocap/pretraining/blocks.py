"""Token ids on disk: blocks of up to 512 ids of one language, read through memory maps.

A folder holds two parts, `train` and `heldout`, each of three arrays in NumPy's own format: `{part}.npy` uint32,
the ids of all blocks, concatenated; `{part}-ends.npy` int64, the end of each block; `{part}-bytes.npy` uint32, the
UTF-8 bytes of the text in each block. `description.json` names their tokenizer and settings.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vocap.errors import VocapError
from vocap.files.json_object import read_object

SHORTEST = 8  # ids of a block: the two around it and a few to learn from

Block = tuple[list[int], int]  # ids, and the UTF-8 bytes of their text
FORMAT = 1
DESCRIPTION = "description.json"
COLUMNS = {
    "": np.dtype("<u4"),
    "-ends": np.dtype("<i8"),
    "-bytes": np.dtype("<u4"),
}  # suffix of the file: its type
PARTS = ("train", "heldout")
_REMEDY = "delete the folder and run: vocap tokenize"


@dataclass(frozen=True)
class SpecialIds:
    """Ids of a tokenizer that are no words: those with a role, and `others`, as reserved ones."""

    bos: int
    pad: int
    eos: int
    unk: int
    mask: int
    others: tuple[int, ...] = ()

    @classmethod
    def of_xlm_r(cls, vocabulary: int) -> "SpecialIds":
        """Special ids of XLM-R's layout with `vocabulary` rows."""
        return cls(0, 1, 2, 3, vocabulary - 1)

    @property
    def all(self) -> list[int]:
        """The ids that are never masked, drawn or predicted, rising."""
        return sorted((self.bos, self.pad, self.eos, self.unk, self.mask, *self.others))


class Packer:
    """Fills blocks of at most `length` ids with sentences in their order; no sentence is cut that fits in a block.

    A longer one is cut into blocks of its own, each opened by `bos` and ended by `eos`; its bytes are divided in
    proportion to the ids.

    >>> packer = Packer(8, bos=0, eos=2)
    >>> packer.add([[10, 11, 12], [13, 14], [15]], [6, 4, 2])
    [([0, 10, 11, 12, 2, 13, 14, 2], 10)]
    >>> packer.close()
    [([0, 15, 2], 2)]
    """

    def __init__(self, length: int, bos: int, eos: int) -> None:
        if length < SHORTEST:
            raise ValueError(f"blocks of {length} ids are too short; give at least {SHORTEST}")
        self.length, self.bos, self.eos = length, bos, eos
        self.cut = 0  # sentences longer than a block
        self.open: Block = ([bos], 0)  # the unfinished block

    def add(self, sentences: Sequence[list[int]], sizes: Sequence[int]) -> list[Block]:
        """The blocks that these sentences (ids and bytes of each) close; sentences without ids are skipped."""
        closed = []
        ids, size = self.open
        for sentence, count in zip(sentences, sizes, strict=True):
            if not sentence:
                continue
            if len(ids) + len(sentence) + 1 > self.length:
                if len(ids) > 1:
                    closed.append((ids, size))
                    ids, size = [self.bos], 0
                if len(sentence) + 2 > self.length:
                    parts = self._cut(sentence, count)
                    closed += parts[:-1]
                    ids, size = parts[-1]
                    continue
            ids += sentence
            ids.append(self.eos)
            size += count
        self.open = ids, size
        return closed

    def _cut(self, sentence: list[int], count: int) -> list[Block]:
        self.cut += 1
        budget = self.length - 2
        parts, before = [], 0
        for start in range(0, len(sentence), budget):
            part = sentence[start : start + budget]
            until = count * (start + len(part)) // len(sentence)
            parts.append(([self.bos, *part, self.eos], until - before))
            before = until
        return parts

    def close(self) -> list[Block]:
        """The last block, if there is anything in it."""
        last, self.open = self.open, ([self.bos], 0)
        return [last] if len(last[0]) > 1 else []


class BlockWriter:
    """Writes the three arrays of one part to `folder`; their headers get the lengths when it is closed."""

    def __init__(self, folder: Path, part: str) -> None:
        self.lengths = dict.fromkeys(COLUMNS, 0)
        self._files = {suffix: open(folder / f"{part}{suffix}.npy", "wb") for suffix in COLUMNS}  # noqa: SIM115
        self._write_headers()

    def _write_headers(self) -> None:
        """Write the headers for the lengths so far; NumPy pads them to one size for every length."""
        for suffix, file in self._files.items():
            file.seek(0)
            header = {"descr": COLUMNS[suffix].str, "fortran_order": False, "shape": (self.lengths[suffix],)}
            np.lib.format.write_array_header_1_0(file, header)

    def append(self, blocks: Sequence[Block]) -> None:
        """Add blocks; an id that does not fit in its type raises OverflowError."""
        if not blocks:
            return
        ends = self.lengths[""] + np.cumsum([len(ids) for ids, _ in blocks])
        tokens = [number for ids, _ in blocks for number in ids]
        for suffix, values in (("", tokens), ("-ends", ends), ("-bytes", [count for _, count in blocks])):
            self._files[suffix].write(np.asarray(values, COLUMNS[suffix]).tobytes())
            self.lengths[suffix] += len(values)

    def close(self) -> None:
        self._write_headers()
        for file in self._files.values():
            file.close()


@dataclass(frozen=True)
class Blocks:
    """The blocks of one part of one language; `tokens`, `ends` and `size_bytes` are memory-mapped."""

    tokens: np.ndarray
    ends: np.ndarray
    size_bytes: np.ndarray

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> np.ndarray:
        """The ids of one block, int64 (torch has no arithmetic on uint32)."""
        start = int(self.ends[index - 1]) if index else 0
        return self.tokens[start : int(self.ends[index])].astype(np.int64)


@dataclass(frozen=True)
class TokenizedLanguage:
    """The output of `vocap tokenize` for one language."""

    language: str
    description: dict[str, Any]
    train: Blocks
    heldout: Blocks

    @property
    def special(self) -> SpecialIds:
        """Special ids of its tokenizer."""
        ids = self.description["special"]
        return SpecialIds(**{**ids, "others": tuple(ids["others"])})


def open_language(folder: str | os.PathLike, tokenizer: str | None = None) -> TokenizedLanguage:
    """The blocks of one language.

    `tokenizer` is the SHA-256 of the model that must have made them. Raises VocapError, naming the file, for
    blocks of another tokenizer, and for arrays that are absent, cut short or not as described.
    """
    folder = Path(folder)
    path = folder / DESCRIPTION
    description = read_object(path, _REMEDY, "make it with: vocap tokenize")
    if description.get("format") != FORMAT:
        raise VocapError(f"{path}: not of format {FORMAT}; {_REMEDY}")
    if tokenizer is not None and description["tokenizer"] != tokenizer:
        raise VocapError(f"{path}: these blocks were made with another tokenizer; {_REMEDY}")
    parts = {part: _open_part(folder, part, description[part]) for part in PARTS}
    return TokenizedLanguage(description["language"], description, **parts)


def _open_part(folder: Path, part: str, counts: Mapping[str, int]) -> Blocks:
    arrays = []
    for suffix, dtype in COLUMNS.items():
        path = folder / f"{part}{suffix}.npy"
        length = counts["blocks" if suffix else "tokens"]
        try:
            array = np.load(path, mmap_mode="r" if length else None, allow_pickle=False)
        except (ValueError, OSError) as error:
            raise VocapError(f"{path}: cannot be read ({error}); {_REMEDY}") from None
        if array.dtype != dtype or array.shape != (length,):
            raise VocapError(f"{path}: {array.dtype} {array.shape} where {dtype} ({length},) belongs; {_REMEDY}")
        arrays.append(array)
    return Blocks(*arrays)
