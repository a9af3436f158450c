"""Samples of text in memory, against the files of the command."""

import pytest

from tests.cases import read_cases
from tests.commands import ended, sample_words
from tests.made_text import write_lines
from vocap.corpora.stage import sample_corpus
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_object
from vocap.text_files.records import read_lines

LINES = [f"line {number % 900}" for number in range(1000)]


def test_a_sample_of_sentences_is_that_of_their_file(tmp_path):
    write_lines(tmp_path / "text.txt", LINES)
    ended(*sample_words(tmp_path, tmp_path / "text.txt", max_sentences=500))
    for text in (LINES, tmp_path / "text.txt", [tmp_path / "text.txt"]):
        found = sample_corpus(text, language="ka", max_sentences=500)
        for lines, name in ((found.train, "train.txt"), (found.heldout, "heldout.txt")):
            assert lines == list(read_lines(tmp_path / name))
        stats = read_object(tmp_path / "stats.json")
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


@pytest.mark.parametrize(("line", "marked"), read_cases(__file__))
def test_lines_with_tags_of_html_are_warned_of_from_a_tenth(caplog, line, marked):
    plain = [f"line {number}" for number in range(900)]
    sample_corpus([*plain, *(f"{line} {number}" for number in range(90))], language="ka")
    assert "mark-up" not in caplog.text
    lines = [*plain, *(f"{line} {number}" for number in range(300))]
    sample_corpus(lines, language="ka")
    warned = [message for message in caplog.messages if "mark-up" in message]
    assert len(warned) == marked
    assert all(message.startswith("ka: about 2") and "trafilatura" in message for message in warned)
