"""`vocap each`: one command for many languages, in processes that import once.

Loading what a ladder needs takes two seconds, as long as the ladder of a small text.
"""

import multiprocessing
import os
import signal
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

import click

from vocap import options
from vocap.cli import run
from vocap.progress import Steps

PLACE = "{lang}"  # in the words of the command


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--languages", required=True, metavar="CODES", help="Codes of languages, separated by commas."
)
@options.threads("Number of languages at a time.")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
def each(languages: str, threads: int, words: Sequence[str]) -> None:
    """Run another command for each language, with its code in the place of {lang}.

    COMMAND is the other command with its arguments. The first language that fails ends
    the others, and its exit status is that of this command.
    """
    codes = languages.split(",")
    with (
        Steps(words[0], len(codes)) as steps,
        ProcessPoolExecutor(threads, multiprocessing.get_context("fork"), _begin_process) as pool,
    ):
        try:
            for call in as_completed([pool.submit(_run_for, code, words) for code in codes]):
                if status := call.result():
                    raise click.exceptions.Exit(status)
                steps.advance()
        except BaseException:  # a failure or a signal: written files are whole or absent
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _run_for(code: str, words: Sequence[str]) -> int:
    """Run the command for one language."""
    return run([word.replace(PLACE, code) for word in words])


def _begin_process() -> None:
    """Ctrl-C is handled by the process that started this one, which then ends it.

    Libraries with threads of their own get one: threads that wait for work would take
    the processors of the other languages.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
