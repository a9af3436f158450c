"""Columns of Parquet files, against the values that pyarrow was given; damaged
files.
"""

import random

import pytest

from vocap.errors import VocapError
from vocap.text_files import Layout
from vocap.text_files.records import TextFile, detect_file

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

random.seed(3)
WORDS = ["soup", "дом", "ქალაქი", "私", "a", "of", "über", "🙂"]
LINES = [" ".join(random.choices(WORDS, k=9)) + f" {number}" for number in range(20_000)]
TEXT = "".join(f"{line}\n" for line in LINES).encode()


@pytest.fixture
def write(tmp_path):
    def write(columns, name="text.parquet", **options):
        parquet.write_table(pyarrow.table(columns), tmp_path / name, **options)
        return tmp_path / name

    return write


def read(path, column, **options):
    file = TextFile(path, Layout.parse(f"parquet:{column}", **options))
    return b"".join(file), file


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_a_column_as_lines(write, codec):
    rows = 700 if codec == "snappy" else 20_000
    path = write({"id": range(len(LINES)), "text": LINES}, compression=codec, row_group_size=rows)
    text, file = read(path, "text")
    assert text == TEXT and file.no_field == 0
    assert file.ended and file.consumed == file.size == path.stat().st_size


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "binary", "dictionary"])
def test_types_that_hold_text(write, kind):
    values = ["one", None, "two\nthree", "ends\n", "twice\n\n", ""]
    if kind == "dictionary":
        column = pyarrow.array(values).dictionary_encode()
    elif kind == "binary":
        column = pyarrow.array([value and value.encode() for value in values[:-1]] + [b"\xff"])
    else:
        column = pyarrow.array(values, getattr(pyarrow, kind)())
    text, file = read(write({"text": column}), "text")
    last = "\udcff".encode("utf-8", "surrogatepass") if kind == "binary" else b""
    assert text == b"one\ntwo\nthree\nends\ntwice\n\n" + last + b"\n"
    assert file.no_field == 1


def test_nested_and_dotted_columns(write):
    documents = [
        {"text": "a", "meta": {"title": "T"}},
        None,
        {"text": None, "meta": None},
        {"text": "b"},
    ]
    path = write({"doc": documents, "doc.text": ["w", "x", "y", "z"], "n": range(4)})
    text, file = read(path, "doc.meta.title")
    assert text == b"T\n" and file.no_field == 3
    assert read(path, "doc.text")[0] in (b"a\nb\n", b"w\nx\ny\nz\n")


def test_documents_with_lines_and_sentences(write):
    path = write({"text": ["It rains. It pours.\nA line.", "One\\ntwo"]})
    assert read(path, "text")[0] == b"It rains. It pours.\nA line.\nOne\\ntwo\n"
    assert (
        read(path, "text", split_sentences=True)[0] == b"It rains.\nIt pours.\nA line.\nOne\\ntwo\n"
    )
    assert (
        read(path, "text", escaped_newlines=True)[0] == b"It rains. It pours.\nA line.\nOne\ntwo\n"
    )


def test_no_rows_and_no_text(write):
    assert read(write({"text": pyarrow.array([], pyarrow.string())}), "text")[0] == b""
    assert (
        read(write({"text": pyarrow.array([None, None], pyarrow.string())}), "text")[1].no_field
        == 2
    )


# Wrong guesses


@pytest.mark.parametrize("column", ["txt", "id", "doc", "tags"])
def test_wrong_column(write, column):
    path = write({"id": [1], "text": ["a"], "doc": [{"title": "T"}], "tags": [["x"]]})
    with pytest.raises(
        VocapError, match=rf"no column '{column}' of that kind; columns: doc\.title, text"
    ):
        read(path, column)


def test_parquet_given_as_text(write):
    path = write({"id": [1], "title": ["a"], "text": ["b"]})
    with pytest.raises(
        VocapError, match=r'text\.parquet: parquet by its name; write format: "parquet:text"$'
    ):
        list(TextFile(path, Layout()))


@pytest.mark.parametrize("length", [0, 4, 11, 1000, -1])
def test_damage_is_one_line(write, length):
    path = write({"text": LINES})
    path.write_bytes(path.read_bytes()[:length] if length else b"A sentence.\n")
    with pytest.raises(
        VocapError, match=r"text\.parquet: a Parquet file that cannot be read \(.*\); copy or"
    ) as said:
        read(path, "text")
    assert "\n" not in str(said.value)


def test_detection(write):
    path = write({"url": ["https://a.example"], "text": ["a"], "n": [1]})
    assert detect_file(path) == Layout("parquet", "text")
    assert detect_file(write({"text": ["x " * 3000]})).split_sentences
    with pytest.raises(VocapError, match="its columns hold no text"):
        detect_file(write({"n": [1]}))
