"""The command as a whole: every verb explains itself, and a mistake is one line with the right exit status."""

import subprocess
import sys
from pathlib import Path

import pytest

from vocap.cli import VERBS

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
