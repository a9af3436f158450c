"""Rows of unequal length in one array, so that millions of them cost no more than their numbers."""

from collections.abc import Iterable, Sequence

import numpy as np


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
