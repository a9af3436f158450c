"""JSON files of one object, and every way not to be one."""

import json

import pytest

from vocap.errors import VocapError
from vocap.files.json_object import read_object


def test_an_object_is_read_as_json_reads_it(tmp_path):
    value = {"a": [1, 2.5, None, True], "ж": {"\u2028": "\U0001f600"}}
    (tmp_path / "x.json").write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
    assert read_object(tmp_path / "x.json") == value


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "line 1: not JSON"),
        (b'{"a": 1,\n\n "b"}', "line 3: not JSON"),
        (b'{"a": 1}\n{"a": 2}\n', "line 2: not JSON"),
        (b'\xef\xbb\xbf{"a": 1}', "line 1: not JSON"),
        (b'{"a": "\xff"}', r"not UTF-8 \(invalid start byte at byte 7\)"),
        (b"[1]", "a list, not an object"),
        (b"null", "a NoneType, not an object"),
        (b'{"a": {"b": 1, "c": 2, "b": 3}}', "duplicate key 'b'"),
        (b'{"a": ' + b"[" * 100_000, "not JSON"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "not JSON"),
    ],
)
def test_anything_else_is_one_error_with_its_remedy(tmp_path, content, said):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(VocapError, match=rf"x\.json.*{said}.*; make it again$"):
        read_object(tmp_path / "x.json", "make it again")


def test_an_absent_file_may_have_a_remedy_of_its_own(tmp_path):
    with pytest.raises(VocapError, match=r"x\.json: no such file; run its stage again$"):
        read_object(tmp_path / "x.json")
    with pytest.raises(VocapError, match=r"x\.json: no such file; make it$"):
        read_object(tmp_path / "x.json", absent="make it")
