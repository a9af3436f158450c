"""Token ids on disk: blocks of up to 512 ids of one language, read through memory maps.

A folder holds two parts, `train` and `heldout`, each of three arrays in NumPy's own format: `{part}.npy` uint32,
the ids of all blocks, concatenated; `{part}-ends.npy` int64, the end of each block; `{part}-bytes.npy` uint32, the
UTF-8 bytes of the text in each block. `description.json`, written last, names their tokenizer and settings.
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
        """Those of XLM-R's layout with `vocabulary` rows."""
        return cls(0, 1, 2, 3, vocabulary - 1)

    @property
    def all(self) -> list[int]:
        """The ids that are never masked, drawn or predicted, rising."""
        return sorted((self.bos, self.pad, self.eos, self.unk, self.mask, *self.others))


class Packer:
    """Fills blocks of at most `length` ids with sentences in their order; no sentence is cut that fits in a block.

    A longer one is cut into blocks of its own, each opened by `bos` and ended by `eos`; its bytes are divided in
    proportion to the ids. `open` is the unfinished block.

    >>> packer = Packer(8, bos=0, eos=2)
    >>> packer.add([[10, 11, 12], [13, 14], [15]], [6, 4, 2])
    [([0, 10, 11, 12, 2, 13, 14, 2], 10)]
    >>> packer.close()
    [([0, 15, 2], 2)]
    """

    def __init__(self, length: int, bos: int, eos: int, open_block: Block | None = None) -> None:
        if length < SHORTEST:
            raise ValueError(f"blocks of {length} ids are too short; give at least {SHORTEST}")
        self.length, self.bos, self.eos = length, bos, eos
        self.cut = 0  # sentences longer than a block
        self.open: Block = open_block or ([bos], 0)

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


class GrowingArray:
    """A one-dimensional .npy file, written beside its path and renamed when closed.

    `kept`: items of an earlier, unfinished run that stay; later ones are cut off.
    """

    def __init__(self, path: Path, dtype: np.dtype, kept: int = 0) -> None:
        self.path, self.dtype, self.length = path, dtype, kept
        self._part = path.with_name(f"{path.name}.part")
        if kept and not self._part.exists():
            os.replace(path, self._part)  # an earlier run ended while it closed the arrays
        self._file = open(self._part, "r+b" if kept else "w+b")  # noqa: SIM115 (closed by `close`)
        self._write_header()
        start = self._file.tell()
        self._file.truncate(start + kept * dtype.itemsize)
        self._file.seek(0, os.SEEK_END)
        if self._file.tell() != start + kept * dtype.itemsize:
            raise VocapError(f"{self._part}: shorter than its journal records; {_REMEDY}")

    def _write_header(self) -> None:
        """The header for the length so far; NumPy pads it to one size for every length."""
        self._file.seek(0)
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, values: Sequence[int] | np.ndarray) -> None:
        """Add values of the array's type; a value that does not fit in it raises OverflowError."""
        self._file.write(np.asarray(values, self.dtype).tobytes())
        self.length += len(values)

    def sync(self) -> None:
        """Flush the items so far to the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Write the final header and rename the file to its path."""
        self._write_header()
        self.sync()
        self._file.close()
        os.replace(self._part, self.path)

    def abandon(self) -> None:
        """Close the unfinished file, for a later run to resume."""
        self._file.close()


class BlockWriter:
    """The three arrays of one part, appended to together."""

    def __init__(self, folder: Path, part: str, kept: Mapping[str, int] | None = None) -> None:
        lengths = kept or {}
        self._arrays = {
            suffix: GrowingArray(folder / f"{part}{suffix}.npy", dtype, lengths.get(suffix, 0))
            for suffix, dtype in COLUMNS.items()
        }

    @property
    def lengths(self) -> dict[str, int]:
        """Items of each array so far, for the journal."""
        return {suffix: array.length for suffix, array in self._arrays.items()}

    def append(self, blocks: Sequence[tuple[list[int], int]]) -> None:
        """Add blocks, each its ids and the bytes of its text."""
        if not blocks:
            return
        tokens, ends, size = (self._arrays[suffix] for suffix in COLUMNS)
        ends.append(tokens.length + np.cumsum([len(ids) for ids, _ in blocks]))
        tokens.append([number for ids, _ in blocks for number in ids])
        size.append([count for _, count in blocks])

    def sync(self) -> None:
        for array in self._arrays.values():
            array.sync()

    def close(self) -> None:
        for array in self._arrays.values():
            array.close()

    def abandon(self) -> None:
        for array in self._arrays.values():
            array.abandon()


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
        """Those of its tokenizer; of XLM-R's layout in a description that names none."""
        ids = self.description.get("special")
        if ids is None:
            return SpecialIds.of_xlm_r(self.description["vocabulary"])
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
        raise VocapError(
            f"{path}: these blocks were made with another tokenizer (SHA-256 "
            f"{description['tokenizer'][:12]}…, this one has {tokenizer[:12]}…); {_REMEDY}"
        )
    parts = {part: _open_part(folder, part, description[part]) for part in PARTS}
    return TokenizedLanguage(description["language"], description, **parts)


def _open_part(folder: Path, part: str, counts: Mapping[str, int]) -> Blocks:
    arrays = []
    for suffix, dtype in COLUMNS.items():
        path = folder / f"{part}{suffix}.npy"
        length = counts["blocks" if suffix else "tokens"]
        try:
            array = np.load(path, mmap_mode="r" if length else None, allow_pickle=False)
        except FileNotFoundError:
            raise VocapError(f"{path}: no such file, but {DESCRIPTION} names it; {_REMEDY}") from None
        except (ValueError, OSError) as error:
            raise VocapError(f"{path}: cannot be read ({error}); {_REMEDY}") from None
        if array.dtype != dtype or array.shape != (length,):
            raise VocapError(f"{path}: {array.dtype} {array.shape} where {dtype} ({length},) belongs; {_REMEDY}")
        arrays.append(array)
    return Blocks(*arrays)
