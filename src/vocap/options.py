"""Command-line options that several verbs share, and their types."""

import math
import re
from collections.abc import Callable, Collection
from pathlib import Path

import click

from vocap.errors import UsageError

CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # a folder's name, and a part of a comma-separated list


class Real(click.FloatRange):
    """A number within bounds. Click's own range lets NaN pass, as every comparison with it is false."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Fails for anything but a finite number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class Code(click.ParamType):
    """The code of a language: it becomes a folder's name and a cell of tables."""

    name = "code"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Fails for anything but letters, digits, - and _."""
        if not CODE.fullmatch(value):
            self.fail(f"{value!r} is not a language code; use letters, digits, - and _.", param, ctx)
        return value


THREADS = click.IntRange(1, 1024)
SEED = click.IntRange(0, 2**63 - 1)  # the range of torch


def coverage(default: float, help: str) -> Callable:
    """The option --coverage, within SentencePiece's bounds; `help` says whose characters are meant."""
    return click.option("--coverage", type=Real(0.98, 1), default=default, show_default=True, help=help)


def totals(command: Callable) -> Callable:
    """The option --total, which may be repeated; the command gets `totals`."""
    return click.option(
        "--total",
        "totals",
        required=True,
        multiple=True,
        type=click.IntRange(2),
        help="T: every id counted; may be repeated, then -o must hold {total}.",
    )(command)


def folders(output: Path, totals: Collection[int]) -> dict[int, Path]:
    """The folder of each total, in rising order: the path with {total} replaced. UsageError where it has none."""
    if len(set(totals)) > 1 and "{total}" not in str(output):
        raise UsageError(f"-o {output}: put {{total}} for T into the path: it is the folder of several totals")
    return {total: Path(str(output).replace("{total}", str(total))) for total in sorted(set(totals))}


def id_layout(command: Callable) -> Callable:
    """The option --layout of tokenizers; the command gets `layout`, an `IdLayout`."""

    def parse(context: click.Context, option: click.Parameter, value: str):
        from vocap.tokenizer_files.id_layout import parse_layout

        return parse_layout(value)

    return click.option(
        "--layout",
        default="xlm-r",
        show_default=True,
        metavar="YAML",
        callback=parse,
        help="Special tokens, reserved ids, mask: the section layout of a configuration, as a map in YAML.",
    )(command)


def layout(command: Callable) -> Callable:
    """The options --format, --split-sentences, --escaped-newlines and --documents: how text lies in its files."""
    decorators = (
        click.option(
            "--format",
            "layout",
            default="text",
            show_default=True,
            help="Text, jsonl:FIELD, tsv:COLUMN or parquet:COLUMN.",
        ),
        click.option("--split-sentences", is_flag=True, help="Cut lines into sentences: for whole articles."),
        click.option("--escaped-newlines", is_flag=True, help="Backslash and n denote a line end."),
        click.option("--documents", is_flag=True, help="Records of jsonl and parquet keep their line ends."),
    )
    for decorate in reversed(decorators):  # as if written above the command one by one: --help shows this order
        command = decorate(command)
    return command
