"""`vocap each` against one call for each language."""

import signal
import time
from itertools import islice

import pytest

from tests.commands import ended
from tests.made_text import draw_sentences, write_lines
from tests.test_interruption import start

SIZES = ("--sizes", "60,120")


def make_lines(language: str, lines: int) -> list[str]:
    return list(islice(draw_sentences(language, "abcdefghijklm"), lines))


@pytest.fixture
def texts(tmp_path):
    for language in ("de", "en", "fr"):
        write_lines(tmp_path / language / "train.txt", make_lines(language, 200))
    return tmp_path


def words(texts, out: str) -> tuple[str, ...]:
    return ("ladder", f"{texts}/{{lang}}/train.txt", *SIZES, "-o", f"{texts}/{out}/{{lang}}")


def test_the_bytes_of_single_calls(texts):
    ended("each", "--languages", "de,en,fr", "--threads", "2", *words(texts, "all"), apart=True)
    for language in ("de", "en", "fr"):
        ended(*(word.replace("{lang}", language) for word in words(texts, "one")))
    files = [path for path in (texts / "all").rglob("*") if path.is_file()]
    assert len(files) == 3 * 6
    for path in files:
        assert path.read_bytes() == (texts / "one" / path.relative_to(texts / "all")).read_bytes()


@pytest.mark.parametrize(
    "languages", ["xx,de,en,fr", "de,xx,en,fr"], ids=["the first", "a later one"]
)
def test_a_language_that_fails_ends_the_others_in_one_line(texts, languages):
    done = ended("each", "--languages", languages, *words(texts, "all"), status=1, apart=True)
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    assert errors == [f"vocap: error: {texts}/xx/train.txt: no such file; check the path"]
    assert not (texts / "all" / "fr" / "curve.tsv").exists()


def test_wrong_words_are_a_wrong_call(texts):
    done = ended("each", "--languages", "de,en", "ladder", "--sises", "60", status=2, apart=True)
    assert "--sises" in done.stderr


def test_a_signal_ends_all_processes(texts):
    write_lines(texts / "fr" / "train.txt", make_lines("fr", 60_000))
    run = start("each", "--languages", "de,fr,en", *words(texts, "all"))
    while not (texts / "all" / "de" / "curve.tsv").exists():
        assert run.poll() is None
        time.sleep(0.01)
    run.send_signal(signal.SIGTERM)
    _, stderr = run.communicate(timeout=600)  # ends when no process holds the pipe
    assert run.returncode == 143 and "interrupted" in stderr
    assert not (texts / "all" / "fr" / "curve.tsv").exists()
