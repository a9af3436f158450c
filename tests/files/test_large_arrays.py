"""Arrays in files without names."""

import numpy as np
import pytest

from vocap.errors import VocapError
from vocap.files.large_arrays import is_on_disk, new_array, shortened


def test_an_array_in_a_file_is_one_like_others(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    array = new_array(1000, np.int32, on_disk=True)
    array[:] = np.arange(1000)
    assert is_on_disk(array) and is_on_disk(shortened(array, 7)) and array.flags.c_contiguous
    assert shortened(array, 7).tolist() == [*range(7)] and not any(tmp_path.iterdir())
    other = new_array(1000, np.int32)
    assert not is_on_disk(other) and not is_on_disk(other[3:]) and len(shortened(other, 7)) == 7
    assert not is_on_disk(new_array(0, np.uint8, on_disk=True))


def test_a_disk_without_space_is_one_message(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(VocapError, match=f"{tmp_path}: .* for 1,125,899,907 MB; set TMPDIR"):
        new_array(1 << 50, np.uint8, on_disk=True)
