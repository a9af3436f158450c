"""Columns of Parquet files, against the values that pyarrow was given; damaged, cut and hostile files."""

import gzip
import json
import random
import subprocess
import sys
import time

import pytest

from vocap.corpora.line_sample import draw_sample
from vocap.errors import VocapError
from vocap.text_files.corpus import Corpus, detect_file
from vocap.text_files.parquet import ParquetBlocks
from vocap.text_files.records import Layout, TextFile

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


def test_the_same_sample_as_of_plain_text(write, tmp_path):
    (tmp_path / "plain.txt").write_bytes(TEXT)
    plain = draw_sample(Corpus([tmp_path / "plain.txt"], Layout()), 3000, seed=7)
    path = write({"text": LINES}, row_group_size=900)
    found = draw_sample(Corpus([path], Layout.parse("parquet:text")), 3000, seed=7)
    assert (found.train, found.heldout, found.counts) == (plain.train, plain.heldout, plain.counts)


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
    last = b"\xff" if kind == "binary" else b""
    assert text == b"one\ntwo\nthree\nends\ntwice\n\n" + last + b"\n"
    assert file.no_field == 1


def test_nested_and_dotted_columns(write):
    documents = [{"text": "a", "meta": {"title": "T"}}, None, {"text": None, "meta": None}, {"text": "b"}]
    path = write({"doc": documents, "doc.text": ["w", "x", "y", "z"], "n": range(4)})
    text, file = read(path, "doc.meta.title")
    assert text == b"T\n" and file.no_field == 3
    assert read(path, "doc.text")[0] in (b"a\nb\n", b"w\nx\ny\nz\n")


def test_documents_with_lines_and_sentences(write):
    path = write({"text": ["It rains. It pours.\nA line.", "One\\ntwo"]})
    assert read(path, "text")[0] == b"It rains. It pours.\nA line.\nOne\\ntwo\n"
    assert read(path, "text", split_sentences=True)[0] == b"It rains.\nIt pours.\nA line.\nOne\\ntwo\n"
    assert read(path, "text", escaped_newlines=True)[0] == b"It rains. It pours.\nA line.\nOne\ntwo\n"


def test_a_text_that_looks_like_another_file(write):
    """Only the file's own first bytes tell its format."""
    assert read(write({"text": ["PAR1", "%PDF", '{"text": "a"}']}), "text")[0] == b'PAR1\n%PDF\n{"text": "a"}\n'


def test_no_rows_and_no_text(write):
    assert read(write({"text": pyarrow.array([], pyarrow.string())}), "text")[0] == b""
    assert read(write({"text": pyarrow.array([None, None], pyarrow.string())}), "text")[1].no_field == 2


def test_scan_limit_in_proportion_to_the_rows(write):
    path = write({"text": LINES}, row_group_size=5000)
    size = path.stat().st_size
    sample = draw_sample(corpus := Corpus([path], Layout.parse("parquet:text"), size // 3), 10**6, seed=1)
    assert not corpus.complete and size // 3 <= corpus.consumed < size // 2
    assert abs(corpus.extrapolated(sample.counts["read"]) - len(LINES)) < 0.01 * len(LINES)
    whole = draw_sample(corpus := Corpus([path], Layout.parse("parquet:text"), 10 * size), 10**6, seed=1)
    assert corpus.complete and whole.counts["read"] == len(LINES)


# Wrong guesses


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("txt", r"no column 'txt'; columns of text: text, doc\.title$"),
        ("id", r"column 'id' holds int64, not text; columns of text: text, doc\.title$"),
        ("doc", r"no column 'doc'; columns of text: text, doc\.title$"),
        ("tags", r"column 'tags' holds list<.*string>, not text; columns of text: "),
    ],
)
def test_wrong_column(write, column, message):
    path = write({"id": [1], "text": ["a"], "doc": [{"title": "T"}], "tags": [["x"]]})
    with pytest.raises(VocapError, match=rf"text\.parquet: {message}"):
        read(path, column)


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        (b'{"id": 1, "text": "a"}\n', 'it looks like format: "jsonl:text"'),
        (b"A sentence.\n", 'it looks like format: "text"'),
        (gzip.compress(b"A sentence.\n", mtime=0), 'it looks like format: "text"'),
        (b"PK\x03\x04" + bytes(50), "a zip archive; unpack it first"),
    ],
)
def test_text_given_as_parquet(tmp_path, content, looks):
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(VocapError, match=rf"a\.parquet: not a Parquet file; {looks}"):
        read(tmp_path / "a.parquet", "text")


def test_parquet_given_as_text(write):
    path = write({"id": [1], "title": ["a"], "text": ["b"]})
    message = (
        r'text\.parquet: a Parquet file, not text; write format: "parquet:text" '
        r"\(vocap sample --format parquet:text\); columns of text: text, title$"
    )
    for format in ("text", "jsonl:text", "tsv:1"):
        with pytest.raises(VocapError, match=message):
            list(TextFile(path, Layout.parse(format)))


def test_whole_file_compressed(write, tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(write({"text": ["a"]}).read_bytes()))
    with pytest.raises(VocapError, match="a compressed Parquet file; unpack it first"):
        read(tmp_path / "a.gz", "text")


def test_truncated_and_fetched_in_part(write, tmp_path):
    data = write({"text": LINES}).read_bytes()
    for length in (4, 11, 1000, len(data) - 1):
        (tmp_path / "cut").write_bytes(data[:length])
        with pytest.raises(
            VocapError, match="cut: the Parquet data stop in the middle; the file was cut: copy or"
        ):
            read(tmp_path / "cut", "text")
    with pytest.raises(VocapError, match="only the beginning of a Parquet file"):
        list(TextFile(tmp_path / "cut", Layout.parse("parquet:text"), cut=True))


# Damage


def test_random_damage_is_one_message_or_other_text(write, tmp_path):
    """300 and more such cases were run by hand; here 6, half of them in the description at the end."""
    data = write({"text": LINES[:500], "doc": [{"text": line} for line in LINES[:500]]}).read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    generator = random.Random(0)
    refused = 0
    for case in range(6):
        damaged = bytearray(data)
        for _ in range(generator.choice([1, 4, 30])):
            start = footer if case % 2 else 4
            damaged[generator.randrange(start, len(data) - 4)] = generator.randrange(256)
        (tmp_path / "damaged").write_bytes(damaged)
        try:
            read(tmp_path / "damaged", "doc.text")
        except VocapError as error:
            refused += 1
            assert str(error).startswith(f"{tmp_path / 'damaged'}: ") and "\n" not in str(error)
            assert len(str(error)) < 700
    assert refused


def test_limits_of_memory_and_time(write):
    """A hundred copies of one long text take a few kilobytes in the file."""
    path = write({"text": ["x" * (8 << 20)] * 100})
    assert path.stat().st_size < 1 << 20
    with pytest.raises(VocapError, match=r"cannot be read \(.*(memory|alloc|crashes).*\); copy or download"):
        list(ParquetBlocks(path, "text", memory=300 << 20))
    with pytest.raises(VocapError, match=r"more than 0 s of processor time"):
        list(ParquetBlocks(path, "text", seconds=0))


def test_reading_that_stops_early_leaves_no_process(write):
    path = write({"text": LINES * 20})
    blocks = iter(ParquetBlocks(path, "text"))
    assert next(blocks)
    start = time.monotonic()
    blocks.close()
    assert time.monotonic() - start < 5


def test_as_a_command_and_without_pyarrow(write, tmp_path):
    path = write({"id": range(3000), "text": LINES[:3000]})
    words = [word for name in ("train", "heldout") for word in (f"--{name}", str(tmp_path / "out" / name))]
    words += ["--stats", str(tmp_path / "out" / "stats.json"), "--language", "ka", "--format", "parquet:text"]
    run = "from vocap.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", run, "sample", *words, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    stats = json.loads((tmp_path / "out" / "stats.json").read_text())
    assert stats["read"] == 3000 and stats["complete"] and stats["total_bytes"] == path.stat().st_size
    hidden = (
        "import importlib.util as util; find = util.find_spec;"
        "util.find_spec = lambda name, *rest: None if name == 'pyarrow' else find(name, *rest);"
    )
    done = subprocess.run(
        [sys.executable, "-c", hidden + run, "sample", *words, path], capture_output=True, text=True
    )
    assert (
        done.returncode == 1
        and done.stderr.count("\n") == 1
        and "takes pyarrow; install the extra [workflow]: pip install" in done.stderr
    )


def test_detection(write):
    path = write({"url": ["https://a.example"], "text": ["a"], "n": [1]})
    found = detect_file(path)
    assert (found.format, found.fields, found.problem) == ("parquet:text", ("text", "url"), "")
    assert detect_file(write({"text": ["x " * 3000]})).split_sentences
    assert "hold no text" in detect_file(write({"n": [1]})).problem
    path.write_bytes(path.read_bytes()[:-4])
    assert detect_file(path).problem.startswith("the Parquet data stop in the middle")
