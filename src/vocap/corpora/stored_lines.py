"""Lines that lie in a file without a name, so that memory holds their places alone."""

import mmap
import tempfile
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

_TOGETHER = 1 << 16  # places that are numbers of Python at a time

Places = slice | NDArray[np.int64] | NDArray[np.bool_]


class StoredLines(Sequence[bytes]):
    r"""n lines (without `\n`): line k is `data[starts[k]:starts[k] + sizes[k]]`, int64 and
    int32 [n].
    """

    def __init__(
        self, data: mmap.mmap | bytes, starts: NDArray[np.int64], sizes: NDArray[np.int32]
    ) -> None:
        self.data, self.starts, self.sizes = data, starts, sizes

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, places: int) -> bytes: ...
    @overload
    def __getitem__(self, places: Places) -> "StoredLines": ...
    def __getitem__(self, places: int | Places) -> "bytes | StoredLines":
        """The line of a number; of a slice or an array, those lines without a copy."""
        if not isinstance(places, int):
            return StoredLines(self.data, self.starts[places], self.sizes[places])
        start = int(self.starts[places])
        return self.data[start : start + int(self.sizes[places])]

    def __iter__(self) -> Iterator[bytes]:
        for first in range(0, len(self), _TOGETHER):
            part = slice(first, first + _TOGETHER)
            starts, sizes = self.starts[part].tolist(), self.sizes[part].tolist()
            for start, size in zip(starts, sizes, strict=True):
                yield self.data[start : start + size]

    def repeated(self) -> NDArray[np.bool_]:
        """Whether a line before it is equal, bool [n]."""
        hashes = np.fromiter(map(hash, self), np.int64, len(self))
        rising = np.sort(hashes)
        several = np.isin(hashes, rising[1:][rising[1:] == rising[:-1]])
        found, seen = np.zeros(len(self), bool), set()
        for number in np.flatnonzero(several).tolist():  # hashes of different lines may be equal
            line = self[number]
            found[number] = line in seen
            seen.add(line)
        return found


class LineStore:
    """Slots for lines: a line that is put into a slot replaces the one there."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `lines`
        self._end = self._known = 0
        self._rows = np.empty(0, [("place", np.int64), ("start", np.int64), ("size", np.int32)])

    def put(self, slots: Sequence[int], places: NDArray[np.int64], lines: Sequence[bytes]) -> None:
        """Put each line, of its place in a text, into a slot; new slots follow the last."""
        if not lines:
            return
        self._known = max(self._known, max(slots) + 1)
        if self._known > len(self._rows):
            self._rows.resize(max(self._known, 2 * len(self._rows)), refcheck=False)
        sizes = np.fromiter(map(len, lines), np.int64, len(lines))
        ends = self._end + np.cumsum(sizes)
        for name, values in (("place", places), ("start", ends - sizes), ("size", sizes)):
            self._rows[name][slots] = values  # of a slot that is named twice the last
        self._file.write(b"".join(lines))
        self._end = int(ends[-1])

    def lines(self) -> StoredLines:
        """The lines in the order of their places; no more are put."""
        self._file.flush()
        data: mmap.mmap | bytes = b""
        if self._end:
            data = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._file.close()  # what is mapped stays
        rows = self._rows[: self._known]
        order = np.argsort(rows["place"], kind="stable")
        return StoredLines(data, rows["start"][order], rows["size"][order])
