"""Aligned text of several languages, with gaps."""

import gzip
import lzma

import pytest

from vocap.corpora.parallel_text import VARIABLE, development_text, evaluation_text
from vocap.corpora.settings import Corpora
from vocap.errors import UsageError, VocapError
from vocap.text_files.named_texts import find_aligned, is_gap, read_aligned


@pytest.fixture
def pattern(tmp_path):
    """English, German (gzip) and Thai (xz) of four lines; Greek has no file."""
    (tmp_path / "en").write_text("One\n\nThree\n four\n", "utf-8")
    (tmp_path / "de").write_bytes(gzip.compress(b"Eins\nZwei\n \t\nvier"))
    (tmp_path / "th").write_bytes(lzma.compress("\n\n\u3000\nสี่\n".encode()))
    return f"{tmp_path}/{{lang}}"


def test_lines_are_aligned_and_gaps_are_empty(pattern):
    assert read_aligned(pattern, ["th", "en", "el", "de"]) == {
        "th": ["", "", "", "สี่"],
        "en": ["One", "", "Three", " four"],
        "de": ["Eins", "Zwei", "", "vier"],
    }
    found, without = find_aligned(pattern, ["th", "el"])
    assert list(found) == ["th"] and without == ["el"]


@pytest.mark.parametrize("line", ["", " ", "\t\r", "\u3000\u00a0"])
def test_white_space_is_a_gap(line):
    assert is_gap(line) and not is_gap(f"{line}.")


def test_files_that_cannot_be_aligned_are_named(pattern, tmp_path):
    (tmp_path / "ru").write_text("раз\nдва\n", "utf-8")
    with pytest.raises(VocapError, match=rf"{tmp_path}/en has 4 lines and {tmp_path}/ru has 2; "):
        read_aligned(pattern, ["en", "ru"])
    with pytest.raises(VocapError, match="no file for any of el, fr; check the path"):
        read_aligned(pattern, ["el", "fr"])
    with pytest.raises(UsageError, match=r"x\.txt: no \{lang\} in it"):
        read_aligned("x.txt", ["en"])


OWN = Corpora(parallel="test/{lang}.txt", development="dev/{lang}.txt")
NONE = Corpora()


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "text/ntrex").mkdir(parents=True)
    (tmp_path / "text/ntrex/de.txt.xz").touch()
    return {VARIABLE: str(tmp_path)}


def test_the_configuration_comes_first(environment):
    for starter in (None, "starter/text"):
        test = evaluation_text(OWN, ["de"], starter, environment)
        assert test.pattern == test.name == "test/{lang}.txt" and test.folder is None
        assert development_text(OWN, starter).pattern == "dev/{lang}.txt"


def test_the_starter_corpus_has_both(environment):
    test = evaluation_text(NONE, ["de"], "starter/text", {})
    development = development_text(NONE, "starter/text")
    assert test.pattern == "starter/text/parallel/test/{lang}.txt"
    assert development.pattern == "starter/text/parallel/development/{lang}.txt"
    assert test.inputs(["de"]) == development.inputs(["de"]) == ["starter/text"]
    # text from elsewhere has none
    assert evaluation_text(NONE, ["de"], None, environment) is development_text(NONE, None) is None


def test_ntrex_takes_the_place_of_the_test_text_alone(environment, tmp_path):
    found = evaluation_text(NONE, ["de", "la"], "starter/text", environment)
    assert found.pattern == f"{tmp_path}/text/ntrex/{{lang}}.txt.xz"
    assert str(tmp_path) not in found.name and found.folder is None
    assert found.inputs(["de", "la"]) == [f"{tmp_path}/text/ntrex/de.txt.xz"]
    for language, variables in (("la", environment), ("de", {VARIABLE: "nowhere"}), ("de", {})):
        found = evaluation_text(NONE, [language], "starter/text", variables)
        assert found.folder == "starter/text"
