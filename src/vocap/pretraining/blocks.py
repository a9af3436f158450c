"""Token ids on disk: blocks of up to 512 ids of one language, read through the page cache, never into memory.

A folder holds two parts, `train` and `heldout`, each of three arrays in NumPy's own format: `{part}.npy` uint32,
the ids of all blocks one after the other; `{part}-ends.npy` int64, where each block ends; `{part}-bytes.npy`
uint32, the UTF-8 bytes of the text in each block. `description.json`, written last, says what they were made of.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vocap.errors import VocapError
from vocap.json_object import read_object

FORMAT = 1
DESCRIPTION = "description.json"
COLUMNS = {
    "": np.dtype("<u4"),
    "-ends": np.dtype("<i8"),
    "-bytes": np.dtype("<u4"),
}  # suffix of the file: its type
PARTS = ("train", "heldout")
_REMEDY = "delete the folder and run: vocap tokenize"


class GrowingArray:
    """A one-dimensional .npy file that is appended to beside its path, and takes its place when closed.

    `kept` is how many items of an earlier, unfinished writing stay; what lies behind them is cut off.
    """

    def __init__(self, path: Path, dtype: np.dtype, kept: int = 0) -> None:
        self.path, self.dtype, self.length = path, dtype, kept
        self._part = path.with_name(f"{path.name}.part")
        if kept and not self._part.exists():
            os.replace(path, self._part)  # the writing ended while the arrays were being closed
        self._file = open(self._part, "r+b" if kept else "w+b")  # noqa: SIM115 (closed by `close`)
        self._write_header()
        start = self._file.tell()
        self._file.truncate(start + kept * dtype.itemsize)
        self._file.seek(0, os.SEEK_END)
        if self._file.tell() != start + kept * dtype.itemsize:
            raise VocapError(f"{self._part}: shorter than its journal says; {_REMEDY}")

    def _write_header(self) -> None:
        """The header for the length so far; NumPy pads it, so that it has one size for every length."""
        self._file.seek(0)
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, values: Sequence[int] | np.ndarray) -> None:
        """Add values of the array's type; a value that does not fit in it raises OverflowError."""
        self._file.write(np.asarray(values, self.dtype).tobytes())
        self.length += len(values)

    def sync(self) -> None:
        """Bring everything so far to the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Write the final header and rename the file to its path."""
        self._write_header()
        self.sync()
        self._file.close()
        os.replace(self._part, self.path)

    def abandon(self) -> None:
        """Leave the unfinished file as it is, for a later run to go on with."""
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
        """Items of each array so far: what a journal must remember to go on from here."""
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
    """What `vocap tokenize` left for one language."""

    language: str
    description: dict[str, Any]
    train: Blocks
    heldout: Blocks


def read_description(folder: Path) -> dict[str, Any]:
    """What a folder of blocks says of itself; raises VocapError where it is absent or of another format."""
    path = folder / DESCRIPTION
    description = read_object(path, _REMEDY, "make it with: vocap tokenize")
    if description.get("format") != FORMAT:
        raise VocapError(f"{path}: not of format {FORMAT}; {_REMEDY}")
    return description


def open_language(folder: str | os.PathLike, tokenizer: str | None = None) -> TokenizedLanguage:
    """The blocks of one language.

    `tokenizer` is the SHA-256 of the model that must have made them. Raises VocapError, naming the file, for
    blocks of another tokenizer, and for arrays that are absent, cut short or other than the description says.
    """
    folder = Path(folder)
    description = read_description(folder)
    if tokenizer is not None and description["tokenizer"] != tokenizer:
        raise VocapError(
            f"{folder / DESCRIPTION}: these blocks were made with another tokenizer (SHA-256 "
            f"{description['tokenizer'][:12]}…, this one has {tokenizer[:12]}…); {_REMEDY}"
        )
    parts = {part: _open_part(folder, part, description[part]) for part in PARTS}
    return TokenizedLanguage(description["language"], description, **parts)


def _open_part(folder: Path, part: str, said: Mapping[str, int]) -> Blocks:
    arrays = []
    for suffix, dtype in COLUMNS.items():
        path = folder / f"{part}{suffix}.npy"
        length = said["tokens" if not suffix else "blocks"]
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
