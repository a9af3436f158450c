"""Command-line options that several verbs share, and their types."""

import math
import re
from collections.abc import Callable

import click

CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # a folder's name, and a part of a comma-separated list


class Real(click.FloatRange):
    """A number within bounds. Click's own range lets NaN pass, as every comparison with it is false."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Fails for what is no finite number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class Code(click.ParamType):
    """The code of a language: it becomes a folder's name and stands in tables."""

    name = "code"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Fails for anything but letters, digits, - and _."""
        if not CODE.fullmatch(value):
            self.fail(f"{value!r} is not a language code; use letters, digits, - and _.", param, ctx)
        return value


THREADS = click.IntRange(1, 1024)
SEED = click.IntRange(0, 2**63 - 1)  # what torch takes too


def coverage(default: float, help: str) -> Callable:
    """The option --coverage, within SentencePiece's bounds; `help` says whose characters are meant."""
    return click.option("--coverage", type=Real(0.98, 1), default=default, show_default=True, help=help)
