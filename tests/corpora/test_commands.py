"""`vocap sample`, `weigh` and `mix` as a user calls them: outputs, messages, exit
status.
"""

import gzip

import pytest

from tests.cases import read_cases
from tests.commands import ended, sample_words
from vocap.files.io import read_object, read_tsv

CASES = read_cases(__file__)


@pytest.fixture
def sample(tmp_path):
    """A function that calls `vocap sample` into `out`: what it says on the log."""

    def sample(*words, out="out", status=0, **options) -> str:
        done = ended(*sample_words(tmp_path / out, *words, **options), status=status)
        assert not done.stdout
        return done.stderr

    return sample


@pytest.fixture
def write(tmp_path):
    """A function that writes a file: its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def text(write):
    lines = b"".join(b"line %d\n" % number for number in range(2000))
    return write("ka.txt.gz", gzip.compress(lines, mtime=0))


def test_from_files_to_a_mix(tmp_path, sample, text):
    for language in ("ka", "ru"):
        said = sample(text, out=f"corpora/{language}", language=language, max_sentences=900)
        assert "2,000 lines read; 900 kept" in said
    corpora = tmp_path / "corpora"
    said = sample("--allow-empty", tmp_path / "no.txt", out="corpora/yi", language="yi")
    assert "no text in yi" in said
    expected = {"missing": "source own has no text in yi", "n": 0, "kept": 0}
    stats = read_object(corpora / "yi/stats.json")
    assert stats == stats | expected
    assert [(corpora / f"yi/{name}.txt").read_bytes() for name in ("train", "heldout")] == [
        b"",
        b"",
    ]
    stats = read_object(corpora / "ka/stats.json")
    assert stats == stats | CASES["stats"]
    assert stats["bytes"] == len(gzip.decompress(text.read_bytes()))
    weights = corpora / "weights.tsv"
    ended("weigh", "-o", weights, *(corpora / code / "stats.json" for code in ("ru", "yi", "ka")))
    rows = [tuple(row.values()) for row in read_tsv(weights)]
    assert rows == [("ru", "2000", "lines"), ("yi", "0", "missing"), ("ka", "2000", "lines")]
    words = ("--weights", weights, "--corpora", corpora, "--sentences=2001", "--alpha=0.5")
    ended("mix", *words, "-o", tmp_path / "mix.txt")
    assert (tmp_path / "mix.txt").read_bytes().count(b"\n") == 2001


BAD = {
    "absent.txt": None,
    "empty.txt": b"",
    "blank.txt": b"\n \n\r\n",
    "torn.gz": gzip.compress(bytes(range(256)) * 200, mtime=0)[:-40],
    "nul.txt": b"a line\0\n" * 20,
    "binary.txt": bytes(range(256)) * 20,
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_leave_no_output(tmp_path, sample, write, name):
    path = tmp_path / name
    if BAD[name] is not None:
        write(name, BAD[name])
    said = sample(path, status=1)
    assert said.startswith(f"vocap: error: {path}") and len(said) < 500
    assert CASES["bad files"][name] in said
    assert not list(tmp_path.glob("out/*"))


def documents(count):
    """Articles of 200 sentences, one a line."""
    return "".join(
        " ".join(f"Sentence {n} of {m} has words." for n in range(200)) + "\n" for m in range(count)
    )


def sentences(count):
    return "".join(f"Sentence {n}.\n" for n in range(count))


def test_whole_documents_are_refused_with_the_remedy(tmp_path, sample, write):
    """212 of 213 lines too long: trained on the one line left, this was status 0."""
    path = write("ka.txt", documents(212) + "One sentence.\n")
    said = sample(path, status=1)
    assert said.count("\n") == 1 and not list(tmp_path.glob("out/*"))
    assert f"{path}: 212 of 213 lines" in said and "4,192 bytes" in said
    assert "split_sentences: true (vocap sample --split-sentences)" in said
    said = sample("--split-sentences", path)
    assert "42,401 lines read" in said and "4,192" not in said


def test_single_overlong_lines_are_a_warning(tmp_path, sample, write):
    said = sample(write("ka.txt", documents(3) + sentences(97)))
    assert "ka: 3 of 100 lines are longer than 4,192 bytes" in said
    said = ended("weigh", "-o", tmp_path / "w.tsv", tmp_path / "out/stats.json").stderr
    assert "4,192 bytes, SentencePiece's limit, were dropped: ka 3%;" in said
    said = sample("--split-sentences", write("ka.txt", ("word " * 900 + "\n") * 3 + sentences(2)))
    assert "3 of 5 lines" in said and "little punctuation" in said


def test_a_table_read_as_text_is_a_warning(sample, write):
    path = write("ka.tsv", "".join(f"{n}\tkat\tA sentence of number {n}.\n" for n in range(50)))
    said = sample(path)
    assert f"{path} is a table by its name" in said and 'write format: "tsv:3"' in said
    assert "table" not in sample(path, format="tsv:3")


def test_records_without_the_field_are_a_warning(sample, write):
    path = write("ka.jsonl", '{"text": "one"}\n{"text": "two"}\n' + '{"title": "x"}\n' * 3)
    said = sample(path, format="jsonl:text")
    assert "ka: 3 records do not have the field; the others gave 2 lines" in said


def test_wrong_calls(tmp_path, sample, text, write):
    assert "format 'csv': write text, jsonl:FIELD" in sample(text, format="csv", status=2)
    assert "100000" in sample(text, max_characters=99_999, status=2)
    for path in (text, write("other.json", '{"language": "ka"}')):
        said = ended("weigh", "-o", tmp_path / "w.tsv", path, status=1).stderr
        assert f"{path} is not what `vocap sample` writes: make it again" in said
    weights = write("weights.tsv", "language\tn\nka\t5\n")
    words = ("--weights", weights, "--corpora", tmp_path, "-o", tmp_path / "mix.txt")
    assert "ka/train.txt: no such file, but" in ended("mix", *words, status=1).stderr
    assert not (tmp_path / "w.tsv").exists() and not (tmp_path / "mix.txt").exists()
