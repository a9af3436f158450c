"""Commands of `vocap`, in this process and in one of their own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

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
    *words: object, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess:
    """`vocap WORDS`, with these environment variables besides the present ones."""
    return subprocess.run(
        [*VOCAP, *map(str, words)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
