"""Commands of `vocap`, in this process and in one of their own."""

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from vocap import cli

VOCAP = (sys.executable, "-c", "from vocap.command import main; main()")


def run(command: click.Command, *words: object, status: int = 0) -> str:
    """What the command prints. Its errors are raised; another exit status fails."""
    result = CliRunner().invoke(command, list(map(str, words)), catch_exceptions=False)
    assert result.exit_code == status, result.output
    return result.output


def caller(**places: object) -> Callable[..., str]:
    """A function that runs a line, as `trim {root}/old -o {tmp}/new`, with these places
    in it, and with further words behind it.
    """

    def call(line: str, *words: object, status: int = 0, **named: object) -> str:
        split = (word.format(**places, **named) for word in line.split())
        return run(cli.vocap, *split, *words, status=status)

    return call


def vocap(
    *words: object, cwd: Path | None = None, apart: bool = False, **environment: str
) -> subprocess.CompletedProcess:
    """`vocap WORDS`: exit status and both streams. In a process of its own if `apart`, or
    with environment variables besides the present ones; else in this one, where a start
    costs no import.
    """
    call = [*VOCAP, *map(str, words)]
    if apart or environment:
        return subprocess.run(
            call, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False
        )
    with CliRunner().isolation() as (out, err, _), chdir(cwd or "."), own_log():
        status = cli.run(call[len(VOCAP) :])
        sys.stdout.flush()
        said = (stream.getvalue().decode() for stream in (out, err))
        return subprocess.CompletedProcess(call, status, *said)


def ended(*words: object, status: int = 0, **options: Any) -> subprocess.CompletedProcess:
    """As `vocap`, with this exit status and without a traceback."""
    done = vocap(*words, **options)
    assert done.returncode == status and "Traceback" not in done.stderr, done.stderr
    return done


def ended_all(folder: Path, lines: str) -> None:
    """Run command lines in a folder."""
    for line in lines.splitlines():
        ended(*line.split(), cwd=folder)


def sample_words(out: Path, *words: object, language: str = "ka", **options: object) -> list:
    """The words of `vocap sample` into a folder: train.txt, heldout.txt, stats.json."""
    files = {"train": "train.txt", "heldout": "heldout.txt", "stats": "stats.json"}
    named = {name: out / file for name, file in files.items()} | {"language": language, **options}
    named = {name.replace("_", "-"): value for name, value in named.items()}
    return ["sample", *words, *(f"--{name}={value}" for name, value in named.items())]


def run_python(program: str, given: str, folder: Path) -> subprocess.CompletedProcess:
    """A program in a Python of its own, in a folder, that reads what is given."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@contextmanager
def own_log() -> Iterator[None]:
    """In the block the log has no handler, as when a process starts."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    root.handlers = []
    try:
        yield
    finally:
        root.handlers = handlers
        root.setLevel(level)
