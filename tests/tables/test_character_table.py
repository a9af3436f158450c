"""The table of characters: what is written is read, and what cannot be meant is named."""

import pytest

from vocap.errors import VocapError
from vocap.tables.curve import read_characters, write_characters


def test_written_rows_are_read_unchanged(tmp_path):
    path = tmp_path / "characters.tsv"
    write_characters(path, {"b": 7, "\t": 3, "\u2581": 21, "a": 7, "\\": 1}, 3)
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows[0] == ["character", "count", "per_line"]
    assert [row[:2] for row in rows[1:]] == [["\u2581", "21"], ["a", "7"], ["b", "7"], ["\\t", "3"], ["\\\\", "1"]]
    assert read_characters(path) == {"\u2581": 7.0, "a": 7 / 3, "b": 7 / 3, "\t": 1.0, "\\": 1 / 3}
    write_characters(path, {}, 0)
    assert read_characters(path) == {}


HEADER = "character\tcount\tper_line\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("character\tcount\na\t1\n", "line 1: no column per_line"),
        (HEADER + "ab\t1\t1\n", "line 2: 'ab' '1' '1' is not one new character"),
        (HEADER + "\t1\t1\n", "line 2: '' '1'"),
        (HEADER + "a\t2\t1\na\t2\t1\n", "line 3: 'a' '2' '1' is not one new"),
        (HEADER + "a\t1.5\t1\n", "line 2: 'a' '1.5'"),
        (HEADER + "a\t-1\t1\n", "line 2: 'a' '-1'"),
        (HEADER + "a\t1\tnan\n", "line 2: 'a' '1' 'nan'"),
        (HEADER + "a\t1\t0\n", "line 2: 'a' '1' '0'"),
        (HEADER + "a\t1\tinf\n", "line 2: 'a' '1' 'inf'"),
    ],
)
def test_bad_rows_are_named(tmp_path, text, words):
    path = tmp_path / "characters.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(VocapError) as error:
        read_characters(path)
    assert str(path) in str(error.value) and words in str(error.value)
