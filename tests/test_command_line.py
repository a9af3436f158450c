"""The command as a whole: every verb explains itself, and a mistake is one line with the right exit status."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from vocap.cli import VERBS, vocap

VOCAP = Path(sys.executable).parent / "vocap"


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([VOCAP, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb):
    shown = run(verb, "--help")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith(f"Usage: vocap {verb}")
    assert len(shown.stdout.splitlines()) > 4


def test_the_list_of_verbs_is_complete():
    shown = run("--help")
    assert shown.returncode == 0
    assert all(f"\n  {verb} " in shown.stdout for verb in VERBS)


@pytest.mark.parametrize(
    "arguments", [["no-such-verb"], ["allocate"], ["alp", "--no-such-option"], ["train", "--size", "x"]]
)
def test_a_wrong_call_exits_with_2(arguments):
    shown = run(*arguments)
    assert shown.returncode == 2
    assert "Traceback" not in shown.stderr
    assert shown.stdout == ""


def test_bad_input_exits_with_1_and_one_line(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("a\n")
    shown = run("alp", str(tmp_path / "missing.model"), str(text))
    assert shown.returncode == 1
    assert shown.stderr.startswith("vocap: error: ")
    assert "missing.model" in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_says_what_it_is(verb):
    for parameter in vocap.get_command(None, verb).params:
        if isinstance(parameter, click.Option):
            said = parameter.help or ""
            assert said.endswith((".", "]")) and not said[0].islower(), parameter.opts


def test_numbers_are_finite():
    for word in ("nan", "inf", "-inf"):
        shown = run("mix", "--alpha", word, "--weights", "w.tsv", "--corpora", ".", "-o", "mix.txt")
        assert shown.returncode == 2
        assert "--alpha" in shown.stderr and len(shown.stderr.splitlines()) == 1


@pytest.mark.parametrize("code", ["", "../x", "a b", "a\nb"])
def test_the_code_of_a_language_is_checked_at_once(code, tmp_path):
    shown = run("mono", "--model", "m.model", "--language", code, "-o", str(tmp_path / "out"))
    assert shown.returncode == 2
    assert "--language" in shown.stderr and "letters, digits" in shown.stderr
    assert not (tmp_path / "out").exists()


def test_a_file_where_a_folder_is_needed_is_named(tmp_path):
    (tmp_path / "text").write_text("a line\n" * 30)
    outputs = [f"--{part}={tmp_path / 'text' / part}" for part in ("train", "heldout", "stats")]
    shown = run("sample", "--language", "de", str(tmp_path / "text"), *outputs)
    assert shown.returncode == 1
    assert shown.stderr.splitlines()[-1].startswith(f"vocap: error: {tmp_path / 'text'}")
    assert "another path" in shown.stderr and "Traceback" not in shown.stderr
