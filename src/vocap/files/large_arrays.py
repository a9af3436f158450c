"""Arrays in memory, or in a file without a name: of such a file the system keeps in memory
what there is space for, and writes the remainder to the disk.
"""

import math
import mmap
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vocap.errors import VocapError

SHARE = 16  # of a limit of memory: as many large arrays are in use at a time


def new_array(size: int, kind: DTypeLike, on_disk: bool = False) -> NDArray[Any]:
    """An array of one dimension, of zeros; `on_disk`: in a file of the folder for
    temporary files, which is gone when the array is.

    Raises VocapError where the disk has no space for it.
    """
    if not on_disk or not size:
        return np.zeros(size, kind)
    needed = size * np.dtype(kind).itemsize
    folder = tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            # all at once: a page that finds no space later would end the process
            os.posix_fallocate(file.fileno(), 0, needed)
            return np.frombuffer(mmap.mmap(file.fileno(), needed), kind)
    except OSError as error:
        raise VocapError(
            f"{folder}: {error.strerror} for {needed / 1e6:,.0f} MB; set TMPDIR to a folder of a "
            "larger disk, or give a larger memory"
        ) from None


def mapped(path: Path) -> NDArray[Any]:
    """The array of a file of `numpy.save`, which changes with it; one of a single number
    or none is in memory.
    """
    array = np.load(path, mmap_mode="r+", allow_pickle=False)
    return np.asarray(array) if array.size > 1 else np.array(array)


def is_large(size: int, memory: int | None) -> bool:
    """Whether so many bytes are more than a sixteenth of `memory` MB, if that is a limit."""
    return memory is not None and size > memory * 1e6 / SHARE


def is_on_disk(array: NDArray[Any]) -> bool:
    """Whether `new_array` made the array, or the one that it is a part of, in a file."""
    return _file_of(array) is not None


def _file_of(array: NDArray[Any]) -> mmap.mmap | None:
    """The mapped file of an array on the disk."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return getattr(owner, "obj", owner)  # of a view of it


def shortened(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The first `size` elements. The remaining memory, or space on the disk, is freed,
    unless it is another array's in memory.
    """
    if array.flags.owndata:
        array.resize((size, *array.shape[1:]), refcheck=False)
        return array
    file = _file_of(array)
    if file is not None and sys.platform == "linux":
        # whole pages, where the file system can
        first = array[size:].ctypes.data - np.frombuffer(file, np.uint8).ctypes.data
        last = (first + array[size:].nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
        first = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE
        if first < last:
            with suppress(OSError):
                file.madvise(mmap.MADV_REMOVE, first, last - first)
    return array[:size]


def lengthened(array: NDArray[Any], size: int, memory: int | None = None) -> NDArray[Any]:
    """The array with so many rows, further ones of zeros; on the disk where it `is_large`."""
    shape = size, *array.shape[1:]
    if array.flags.owndata and not is_large(size * array[:1].nbytes, memory):
        array.resize(shape, refcheck=False)  # in place: no second copy
        return array
    longer = new_array(math.prod(shape), array.dtype, on_disk=True).reshape(shape)
    longer[: len(array)] = array
    return longer
