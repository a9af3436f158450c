"""Samples of text in memory, against the files of the command."""

import json

import pytest

from tests.commands import vocap
from tests.made_text import write_lines
from vocap.corpora.stage import sample_corpus
from vocap.errors import UsageError, VocapError

LINES = [f"line {number % 900}" for number in range(1000)]


def test_a_sample_of_sentences_is_that_of_their_file(tmp_path):
    write_lines(tmp_path / "text.txt", LINES)
    paths = [tmp_path / name for name in ("train.txt", "heldout.txt", "stats.json")]
    words = zip(("--train", "--heldout", "--stats"), paths, strict=True)
    call = ("sample", tmp_path / "text.txt", "--language", "ka", "--max-sentences", 500)
    assert vocap(*call, *(word for pair in words for word in pair)).returncode == 0
    for text in (LINES, tmp_path / "text.txt", [tmp_path / "text.txt"]):
        found = sample_corpus(text, language="ka", max_sentences=500)
        for lines, path in ((found.train, paths[0]), (found.heldout, paths[1])):
            assert "".join(f"{line}\n" for line in lines) == path.read_text("utf-8")
        stats = json.loads(paths[2].read_text("utf-8"))
        of_files = ("scanned_bytes", "total_bytes", "shards_read", "shards")
        stored = {} if text is not LINES else dict.fromkeys(of_files, 0)
        assert found.stats == stats | stored


def test_wrong_calls(tmp_path):
    with pytest.raises(UsageError, match="train, heldout and stats, or none"):
        sample_corpus(LINES, tmp_path / "train.txt", language="ka")
    with pytest.raises(VocapError, match="sentences: no usable line"):
        sample_corpus(["", " "], language="ka")
    with pytest.raises(VocapError, match="no such file; put text in ka there"):
        sample_corpus(tmp_path / "absent.txt", language="ka")


@pytest.mark.parametrize(
    ("line", "marked"),
    [
        ('<div class="a">text', True),
        ("text</P>", True),
        ("see <a href='x'>y", True),
        ("one<br/>two<br />", True),
        ("<H2\tid = x", True),
        ("1 < 2, a <b and c> d", False),
        ("<unk> <mask>", False),
        ("List<String> <user> <3 <div", False),
    ],
)
def test_lines_with_tags_of_html_are_warned_of_from_a_tenth(caplog, line, marked):
    plain = [f"line {number}" for number in range(900)]
    sample_corpus([*plain, *(f"{line} {number}" for number in range(90))], language="ka")
    assert "mark-up" not in caplog.text
    lines = [*plain, *(f"{line} {number}" for number in range(300))]
    sample_corpus(lines, language="ka")
    warned = [message for message in caplog.messages if "mark-up" in message]
    assert len(warned) == marked
    assert all(message.startswith("ka: about 2") and "trafilatura" in message for message in warned)
