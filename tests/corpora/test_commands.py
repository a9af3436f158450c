"""`vocap sample`, `weigh` and `mix` as a user calls them: outputs, messages, exit
status.
"""

import gzip
import json

import pytest

from tests.commands import vocap
from vocap.files.io import read_tsv


def sample_words(folder, *more, language="ka"):
    paths = [
        word for name in ("train", "heldout") for word in (f"--{name}", folder / f"{name}.txt")
    ]
    return ["sample", "--language", language, *paths, "--stats", folder / "stats.json", *more]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "ka.txt.gz"
    path.write_bytes(
        gzip.compress(b"".join(b"line %d\n" % number for number in range(2000)), mtime=0)
    )
    return path


def test_from_files_to_a_mix(tmp_path, text):
    corpora = tmp_path / "corpora"
    for language in ("ka", "ru"):
        done = vocap(
            *sample_words(corpora / language, "--max-sentences", 900, text, language=language)
        )
        assert (
            done.returncode == 0 and not done.stdout and "2,000 lines read; 900 kept" in done.stderr
        )
    empty = vocap(
        *sample_words(corpora / "yi", "--allow-empty", tmp_path / "no.txt", language="yi")
    )
    assert empty.returncode == 0 and "no text in yi" in empty.stderr
    stats = json.loads((corpora / "yi" / "stats.json").read_text())
    assert stats["missing"] == "source own has no text in yi" and stats["n"] == stats["kept"] == 0
    assert (
        (corpora / "yi" / "train.txt").read_bytes()
        == (corpora / "yi" / "heldout.txt").read_bytes()
        == b""
    )
    stats = json.loads((corpora / "ka" / "stats.json").read_text())
    assert {
        name: stats[name]
        for name in ("read", "n", "kept", "train", "heldout", "complete", "missing")
    } == {
        "read": 2000, "n": 2000, "kept": 900, "train": 810, "heldout": 90,
        "complete": True, "missing": None,
    }  # fmt: skip
    assert stats["bytes"] == len(gzip.decompress(text.read_bytes())) and stats["source"] == "own"
    files = [corpora / language / "stats.json" for language in ("ru", "yi", "ka")]
    assert vocap("weigh", "-o", corpora / "weights.tsv", *files).returncode == 0
    rows = [tuple(row.values()) for row in read_tsv(corpora / "weights.tsv")]
    assert rows == [("ru", "2000", "lines"), ("yi", "0", "missing"), ("ka", "2000", "lines")]
    words = [
        "--weights",
        corpora / "weights.tsv",
        "--corpora",
        corpora,
        "--sentences",
        2001,
        "--alpha",
        0.5,
    ]
    done = vocap("mix", *words, "-o", tmp_path / "mix.txt")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mix.txt").read_bytes().count(b"\n") == 2001


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.txt", None, "no such file; put text in ka there"),
        ("empty.txt", b"", "the file is empty; put text in ka there"),
        ("blank.txt", b"\n \n\r\n", "no usable line (3 read, 3 empty, 0 overlong, 0 no_field)"),
        (
            "torn.gz",
            gzip.compress(bytes(range(256)) * 200, mtime=0)[:-40],
            "the gzip data stop in the middle",
        ),
        ("nul.txt", b"a line\0\n" * 20, "20 of 20 lines hold NUL bytes; convert the file"),
        ("binary.txt", bytes(range(256)) * 20, "20 of 21 lines hold NUL bytes"),
    ],
    ids=["absent", "empty", "blank", "torn", "nul", "binary"],
)
def test_bad_files_leave_no_output(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    done = vocap(*sample_words(tmp_path / "out", path))
    assert done.returncode == 1 and not done.stdout
    assert (
        done.stderr.startswith(f"vocap: error: {path}")
        and message in done.stderr
        and len(done.stderr) < 500
    )
    assert not list(tmp_path.glob("out/*"))


def documents(count):
    """Articles of 200 sentences, one a line."""
    return "".join(
        " ".join(f"Sentence {n} of {m} has words." for n in range(200)) + "\n" for m in range(count)
    )


def test_whole_documents_are_refused_with_the_remedy(tmp_path):
    """212 of 213 lines too long: trained on the one line left, this was status 0."""
    path = tmp_path / "ka.txt"
    path.write_text(documents(212) + "One sentence.\n")
    done = vocap(*sample_words(tmp_path / "out", path))
    assert (
        done.returncode == 1 and done.stderr.count("\n") == 1 and not list(tmp_path.glob("out/*"))
    )
    for said in (
        f"{path}: 212 of 213 lines",
        "4,192 bytes",
        "split_sentences: true (vocap sample --split-sentences)",
    ):
        assert said in done.stderr
    done = vocap(*sample_words(tmp_path / "out", "--split-sentences", path))
    assert (
        done.returncode == 0 and "42,401 lines read" in done.stderr and "4,192" not in done.stderr
    )


def test_single_overlong_lines_are_a_warning(tmp_path):
    path = tmp_path / "ka.txt"
    path.write_text(documents(3) + "".join(f"Sentence {n}.\n" for n in range(97)))
    done = vocap(*sample_words(tmp_path / "out", path))
    assert done.returncode == 0 and "ka: 3 of 100 lines are longer than 4,192 bytes" in done.stderr
    weighed = vocap("weigh", "-o", tmp_path / "w.tsv", tmp_path / "out" / "stats.json")
    assert (
        weighed.returncode == 0
        and "4,192 bytes, SentencePiece's limit, were dropped: ka 3%;" in weighed.stderr
    )
    path.write_text(("word " * 900 + "\n") * 3 + "".join(f"Sentence {n}.\n" for n in range(2)))
    done = vocap(*sample_words(tmp_path / "out", "--split-sentences", path))
    assert (
        done.returncode == 0
        and "3 of 5 lines" in done.stderr
        and "little punctuation" in done.stderr
    )


def test_a_table_read_as_text_is_a_warning(tmp_path):
    path = tmp_path / "ka.tsv"
    path.write_text(
        "".join(f"{number}\tkat\tA sentence of number {number}.\n" for number in range(50))
    )
    done = vocap(*sample_words(tmp_path / "out", path))
    assert done.returncode == 0 and f"{path} is a table by its name" in done.stderr
    assert 'write format: "tsv:3"' in done.stderr
    done = vocap(*sample_words(tmp_path / "out", "--format", "tsv:3", path))
    assert done.returncode == 0 and "table" not in done.stderr


def test_records_without_the_field_are_a_warning(tmp_path):
    path = tmp_path / "ka.jsonl"
    path.write_text('{"text": "one"}\n{"text": "two"}\n' + '{"title": "x"}\n' * 3)
    done = vocap(*sample_words(tmp_path / "out", "--format", "jsonl:text", path))
    assert (
        done.returncode == 0
        and "ka: 3 records do not have the field; the others gave 2 lines" in done.stderr
    )


def test_wrong_calls(tmp_path, text):
    done = vocap(*sample_words(tmp_path / "out", "--format", "csv", text))
    assert done.returncode == 2 and "format 'csv': write text, jsonl:FIELD" in done.stderr
    done = vocap(*sample_words(tmp_path / "out", "--max-characters", 99_999, text))
    assert done.returncode == 2 and "100000" in done.stderr
    done = vocap("fetch", "file:///etc/hostname", "-o", tmp_path / "x")
    assert done.returncode == 2 and "no http:// or https:// address" in done.stderr
    other = tmp_path / "other.json"
    other.write_text('{"language": "ka"}')
    for path in (text, other):
        done = vocap("weigh", "-o", tmp_path / "w.tsv", path)
        assert done.returncode == 1
        assert f"{path} is not what `vocap sample` writes: make it again" in done.stderr
    assert not (tmp_path / "x").exists() and not (tmp_path / "w.tsv").exists()


def test_mix_names_missing_files(tmp_path):
    (tmp_path / "w.tsv").write_text("language\tn\nka\t5\n")
    done = vocap(
        "mix", "--weights", tmp_path / "w.tsv", "--corpora", tmp_path, "-o", tmp_path / "mix.txt"
    )
    assert done.returncode == 1 and "ka/train.txt: no such file, but" in done.stderr
    assert not (tmp_path / "mix.txt").exists()
