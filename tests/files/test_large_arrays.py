"""Arrays in files without names."""

import mmap
import os
import sys
import tempfile

import numpy as np
import pytest

from vocap.errors import VocapError
from vocap.files.large_arrays import is_on_disk, lengthened, mapped, new_array, shortened


def test_an_array_in_a_file_is_one_like_others(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    array = new_array(1000, np.int32, on_disk=True)
    array[:] = np.arange(1000)
    assert is_on_disk(array) and is_on_disk(shortened(array, 7)) and array.flags.c_contiguous
    assert shortened(array, 7).tolist() == [*range(7)] and not any(tmp_path.iterdir())
    other = new_array(1000, np.int32)
    assert not is_on_disk(other) and not is_on_disk(other[3:]) and len(shortened(other, 7)) == 7
    assert not is_on_disk(new_array(0, np.uint8, on_disk=True))


@pytest.mark.skipif(sys.platform != "linux", reason="space is freed on Linux")
def test_space_of_a_shorter_array_on_the_disk_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    opened = []
    make = tempfile.TemporaryFile

    def kept_open(**options):
        opened.append(make(**options))
        return os.fdopen(os.dup(opened[-1].fileno()), "w+b")

    monkeypatch.setattr("tempfile.TemporaryFile", kept_open)
    array = new_array(1 << 20, np.int32, on_disk=True)
    array[:] = np.arange(1 << 20)
    shorter = shortened(shortened(array[5:], 1 << 19), (1 << 18) + 1)
    assert shorter.tolist() == [*range(5, (1 << 18) + 6)] and is_on_disk(shorter)
    assert os.fstat(opened[0].fileno()).st_blocks * 512 <= (1 << 20) + 3 * mmap.PAGESIZE
    assert array[:5].tolist() == [*range(5)]


def test_a_longer_array_has_the_same_rows_and_others_of_zeros():
    array = np.arange(6).reshape(3, 2)
    for memory, size in ((None, 4), (1, 5), (1, 5000), (1, 6000), (None, 7000)):
        before, array = array.copy(), lengthened(array.copy(), size, memory)
        assert array[: len(before)].tolist() == before.tolist() and not array[len(before) :].any()
        assert array.shape == (size, 2) and is_on_disk(array) == (memory == 1 and size > 4000)
    assert lengthened(new_array(9, np.int8, on_disk=True), 10).tolist() == [0] * 10


def test_a_mapped_file_changes_with_its_array(tmp_path):
    for value in (np.arange(5), np.int64(3), np.empty(0, np.uint8)):
        np.save(tmp_path / "a.npy", value)
        array = mapped(tmp_path / "a.npy")
        assert type(array) is np.ndarray and is_on_disk(array) == (array.size == 5)
        assert array.dtype == value.dtype and array.tolist() == value.tolist()
        if array.size == 5:
            array[2] = 7
            assert np.load(tmp_path / "a.npy").tolist() == [0, 1, 7, 3, 4]


def test_a_disk_without_space_is_one_message(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(VocapError, match=f"{tmp_path}: .* for 1,125,899,907 MB; set TMPDIR"):
        new_array(1 << 50, np.uint8, on_disk=True)
