"""Encoded inputs of one data set as arrays, in memory and on the disk (memory-mapped)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from vocap.errors import VocapError

NO_LABEL = -1  # of a blank test file
STARTS = "-starts"
COUNT = "examples"


class Ragged(Sequence):
    """Row i is `values[starts[i]:starts[i + 1]]`, a view; `values` may be memory-mapped, and of any shape.

    `starts`: int64 [rows + 1], from 0 to len(values).

    >>> rows = Ragged.of([[3, 1], [], [2]], np.int32)
    >>> len(rows), rows[0].tolist(), rows.lengths.tolist()
    (3, [3, 1], [2, 0, 1])
    """

    def __init__(self, values: np.ndarray, starts: np.ndarray) -> None:
        self.values, self.starts = values, starts

    @classmethod
    def of(cls, rows: Iterable, dtype: np.typing.DTypeLike, shape: tuple[int, ...] = ()) -> "Ragged":
        """From rows, sequences or arrays of entries of `shape`."""
        arrays = [np.asarray(row, dtype=dtype).reshape(-1, *shape) for row in rows]
        starts = np.zeros(len(arrays) + 1, dtype=np.int64)
        np.cumsum([len(array) for array in arrays], out=starts[1:])
        return cls(np.concatenate(arrays) if arrays else np.zeros((0, *shape), dtype=dtype), starts)

    @property
    def lengths(self) -> np.ndarray:
        """int64 [rows]"""
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row):
        if isinstance(row, slice):
            return [self[number] for number in range(*row.indices(len(self)))]
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        row %= len(self)
        return self.values[self.starts[row] : self.starts[row + 1]]


@dataclass(frozen=True)
class Features:
    """Inputs in the order of their examples.

    `ids`: int32, whole inputs with their special tokens. `example`: int32 [inputs], the example that an input is
    of. `second`: int32 [inputs], where the second text begins (after the special tokens before it), for models
    that tell two segments apart; the input's length where there is none. `examples`: how many there are.
    """

    ids: Ragged
    example: np.ndarray
    second: np.ndarray
    examples: int

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class PairFeatures(Features):
    """One input an example. `label`: int32 [inputs], numbers of the task's labels, or NO_LABEL."""

    label: np.ndarray


@dataclass(frozen=True)
class TagFeatures(Features):
    """One input or several a sentence, of whole words, together every word once, in order.

    For each word of an input, int32: `first` and `last`, the positions in `ids` of its first subword and one past
    its last; `word`, its index in the sentence; `label`, the number of its tag, or NO_LABEL.
    """

    first: Ragged
    last: Ragged
    word: Ragged
    label: Ragged


@dataclass(frozen=True)
class SpanFeatures(Features):
    """One input a window of the context.

    `start`, `end`: int32 [inputs], positions in `ids` of the first answer's first and last subword, both 0 where
    the window lacks some of it. `offsets`: int32 [length, 2], code points of the original context that a position
    stands for, from and to, -1 outside the context. `best`: bool [length], whether this window gives the token
    the most context of all windows.
    """

    start: np.ndarray
    end: np.ndarray
    offsets: Ragged
    best: Ragged


KINDS: dict[str, type[Features]] = {"pairs": PairFeatures, "tags": TagFeatures, "spans": SpanFeatures}


def save_features(folder: Path, features: Features) -> None:
    """Write every field as NAME.npy, and of ragged ones NAME-starts.npy too."""
    folder.mkdir(parents=True)
    for field in fields(features):
        value = getattr(features, field.name)
        if isinstance(value, Ragged):
            _save(folder / f"{field.name}.npy", value.values)
            _save(folder / f"{field.name}{STARTS}.npy", value.starts)
        else:
            _save(folder / f"{field.name}.npy", np.asarray(value))


def _save(path: Path, values: np.ndarray) -> None:
    """The bytes of `np.save`, whose own errors do not say why a write failed."""
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(values))
        file.write(np.ascontiguousarray(values).data)


def load_features(folder: Path, kind: str) -> Features:
    """The features in a folder of `save_features`. Raises VocapError for another folder."""

    def load(name: str) -> np.ndarray:
        try:
            return np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise VocapError(
                f"{folder / name}.npy: cannot be read ({error}); delete {folder.parent} and run: vocap encode"
            ) from None

    values = {}
    for field in fields(KINDS[kind]):
        if field.name == COUNT:
            values[field.name] = int(load(COUNT))
        elif field.type in (Ragged, "Ragged"):
            values[field.name] = Ragged(load(field.name), load(f"{field.name}{STARTS}"))
        else:
            values[field.name] = load(field.name)
    return KINDS[kind](**values)


def first_examples(features: Features, count: int | None) -> Features:
    """Those of the first `count` examples; all where it is None. A view of the same arrays."""
    if count is None or count >= features.examples:
        return features
    rows = int(np.searchsorted(features.example, count))
    values = {}
    for field in fields(features):
        value = getattr(features, field.name)
        if field.name == COUNT:
            values[field.name] = count
        elif isinstance(value, Ragged):
            starts = value.starts[: rows + 1]
            values[field.name] = Ragged(value.values[: starts[-1]], starts)
        else:
            values[field.name] = value[:rows]
    return type(features)(**values)
