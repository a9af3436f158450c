"""A text is a path, several paths or sentences: the same lines for all of them."""

from pathlib import Path

import pytest

from vocap.errors import UsageError
from vocap.text_files.named_texts import find_texts, read_sentences
from vocap.text_files.records import read_blocks
from vocap.text_files.text import language_text, text_blocks, text_name, warn_of_memory

# a byte order mark, ends of Windows, NUL, half a surrogate pair, an empty line
SENTENCES = ["\ufeffone", "two\r", "", "tw\r\no", "t\u2028hree", *["more"] * 30, "\0", "\ud800"]


def lines_of(blocks) -> list[str]:
    return [line for block in blocks for line in block]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    text = "".join(f"{sentence}\n" for sentence in SENTENCES)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


@pytest.mark.parametrize("aligned", [False, True])
def test_sentences_are_the_lines_of_a_file(file, aligned):
    expected = lines_of(read_blocks(file, aligned))
    assert expected[:3] == ["one", "two", ""]
    for text in (file, str(file), SENTENCES, tuple(SENTENCES), iter(SENTENCES)):
        read = text_blocks(text, aligned)
        assert lines_of(read()) == lines_of(read()) == expected


def test_several_files_follow_each_other(file):
    lines = lines_of(read_blocks(file))
    assert lines_of(text_blocks([file, file])()) == lines * 2
    assert lines_of(text_blocks(path for path in [file, file])()) == lines * 2


def test_no_sentence_is_no_block():
    assert list(text_blocks([])()) == []


def test_an_entry_of_another_type_is_named(file):
    for entries in (["a", 1], ["a", file]):
        with pytest.raises(UsageError, match="is among the sentences"):
            list(text_blocks(entries)())


def test_the_text_of_a_language(tmp_path):
    assert language_text(tmp_path, "de") == tmp_path / "de" / "train.txt"
    with pytest.raises(UsageError, match="no text of 'fr'"):
        language_text({"de": ["a"]}, "fr")


def test_text_that_asks_for_much_memory_says_so(tmp_path, file, caplog):
    large = tmp_path / "large.txt"
    with open(large, "wb") as empty:
        empty.truncate(2 * 10**9)
    warn_of_memory("a", [file, large, SENTENCES], 7)
    warn_of_memory("a", [file, str(large)], 15, limit=3000)
    assert not caplog.messages
    warn_of_memory("a", [file, str(large)], 15)
    assert [message[:58] for message in caplog.messages] == [
        "a: so much text takes about 30 GB of memory; where there i"
    ]


def test_named_texts_can_be_read_again(tmp_path):
    """A generator of sentences beside the files of a folder of corpora."""
    path = tmp_path / "en" / "heldout.txt"
    path.parent.mkdir()
    path.write_text("A line.\n", "utf-8")
    named = {"de": (line for line in ("Eine Zeile.", "", "Noch eine."))}
    found = find_texts(named, tmp_path, None, ["heldout"])
    assert found["en"] == {"heldout": path}
    for _ in range(2):
        assert list(read_sentences(found["de"]["text"])) == [["Eine Zeile.", "Noch eine."]]
    assert [text_name(text) for text in (path, found["de"]["text"])] == [str(path), "sentences"]
    with pytest.raises(UsageError, match="text: de=sentences: de is not among"):
        find_texts({"de": ["Eine Zeile."]}, tmp_path, ["en"], ["heldout"])
