"""Command-line options that several verbs share, and their types; those of the text
also as words of a command.
"""

import csv
import functools
import json
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vocap.errors import UsageError
from vocap.files.io import read_yaml
from vocap.languages import CODE
from vocap.unigram.text_settings import PRESETS, TextSettings, text_settings

if TYPE_CHECKING:
    from vocap.text_files.filters import Filters
    from vocap.tokenizer_files.id_layout import IdLayout


class Real(click.FloatRange):
    """A number within bounds. Click's own range lets NaN pass, as every comparison with
    it is false.
    """

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Fails for anything but a finite number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class Code(click.ParamType[str]):
    """The code of a language: it becomes a folder's name and a cell of tables."""

    name = "code"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Fails for anything but letters, digits, - and _."""
        if not CODE.fullmatch(value):
            self.fail(
                f"{value!r} is not a language code; use letters, digits, - and _.", param, ctx
            )
        return value


Command = Callable[..., Any]
Decorator = Callable[[Command], Command]
FIELDS = {one.name: one for one in fields(TextSettings)}
PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
SEED = click.IntRange(0, 2**63 - 1)  # the range of torch


def coverage(default: float, help: str) -> Decorator:
    """The option --coverage, within SentencePiece's bounds; `help` says whose
    characters are meant.
    """
    return click.option("--coverage", type=Real(0.98, 1), default=default, help=help)


def threads(help: str, default: int = 1) -> Decorator:
    """The option --threads."""
    kind = click.IntRange(1, 1024)
    return click.option("--threads", type=kind, default=default, help=help)


def languages_table(command: Command) -> Command:
    """The option --languages-table."""
    help = "Table of languages.  [default: the one that ships with vocap]"
    return click.option("--languages-table", type=PATH, help=help)(command)


def without(command: Command) -> Command:
    """The option --without: codes of languages, of which the command gets a list."""
    return click.option(
        "--without",
        default="",
        metavar="LANG,LANG",
        show_default=False,
        callback=lambda _, __, listed: [code.strip() for code in listed.split(",") if code.strip()],
        help="Languages to leave out.",
    )(command)


def filters(command: Command) -> Command:
    """The option --filters, of which the command gets `Filters`, or None."""

    def parsed(_: Any, __: Any, text: str | None) -> "Filters | None":
        from vocap.text_files.filters import parse_filters  # pydantic

        return parse_filters(text) if text else None

    return click.option(
        "--filters",
        metavar="JSON",
        callback=parsed,
        help="Conditions that a record must meet to be read. docs/corpora.md lists the keys "
        "under `filters`.",
    )(command)


def split(command: Command) -> Command:
    """The option --split, which may be repeated, of commands that load tokenizers; the
    command gets `splits`.
    """
    from vocap.tokenizer_files import SPLITS

    return click.option(
        "--split",
        "splits",
        multiple=True,
        metavar="[NAME=]CUT",
        help="How text is cut before a tokenizer of tiktoken's ranks splits it, which the "
        f"ranks do not say. One of {', '.join(SPLITS)}. With NAME= it holds for that "
        "tokenizer alone.",
    )(command)


def read_settings(path: Path | None, text: str | None) -> dict[str, Any]:
    """The keys and values of --settings FILE, YAML or JSON, or of --settings-json TEXT;
    none where neither is given. Raises UsageError for both, and for anything else.
    """
    if path is not None and text is not None:
        raise UsageError("give --settings or --settings-json, not both")
    try:
        values = json.loads(text or "{}") if path is None else read_yaml(path)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--settings-json: not JSON, so no keys and values: {error}") from None
    if not isinstance(values, dict):
        found = type(values).__name__
        raise UsageError(f"{path or '--settings-json'}: no keys and values, but a {found}")
    return values


def totals(command: Command) -> Command:
    """The option --total, which may be repeated; the command gets `totals`."""
    return click.option(
        "--total",
        "totals",
        required=True,
        multiple=True,
        type=click.IntRange(2),
        help="T, the number of all ids. May be repeated, and then -o must contain {total}.",
    )(command)


def folders(output: str | Path | None, totals: Collection[int]) -> dict[int, Path]:
    """The folder of each total, in rising order: the path with {total} replaced; none
    without a path. UsageError where it has no {total}.
    """
    if output is None:
        return {}
    if len(set(totals)) > 1 and "{total}" not in str(output):
        raise UsageError(
            f"-o {output}: put {{total}} for T into the path: it is the folder of several totals"
        )
    return {
        total: Path(str(output).replace("{total}", str(total))) for total in sorted(set(totals))
    }


def id_layout(command: Command) -> Command:
    """The option --layout of tokenizers; the command gets `layout`, an `IdLayout`."""

    def parse(context: click.Context, option: click.Parameter, value: str) -> "IdLayout":
        from vocap.tokenizer_files.id_layout import parse_layout

        return parse_layout(value)

    return click.option(
        "--layout",
        default="xlm-r",
        metavar="YAML",
        callback=parse,
        help="Special tokens, reserved ids and mask, as a map in YAML with the keys of "
        "section `layout` of a configuration.",
    )(command)


def layout(command: Command) -> Command:
    """The options --format, --split-sentences, --escaped-newlines and --documents: how
    text lies in its files.
    """
    decorators = (
        click.option(
            "--format",
            "layout",
            default="text",
            help="Format of the files, one of text, jsonl:FIELD, tsv:COLUMN and parquet:COLUMN.",
        ),
        click.option(
            "--split-sentences",
            is_flag=True,
            help="Cut lines into sentences, for text of whole paragraphs or articles.",
        ),
        click.option(
            "--escaped-newlines", is_flag=True, help="Read a backslash followed by n as a line end."
        ),
        click.option(
            "--documents",
            is_flag=True,
            help="Keep the line ends within records of jsonl and parquet.",
        ),
    )
    for decorate in reversed(
        decorators
    ):  # as if written above the command one by one: --help shows this order
        command = decorate(command)
    return command


def text_options(command: Command) -> Command:
    """The options --preset and those of single keys; the command gets `settings`, a
    TextSettings.
    """

    @functools.wraps(command)
    def with_settings(preset: str, **options: Any) -> Any:
        given = {name: options.pop(name) for name in FIELDS}
        keys = {name: value for name, value in given.items() if value is not None}
        return command(settings=text_settings(preset, **keys), **options)

    preset = click.option(
        "--preset",
        type=click.Choice(list(PRESETS)),
        default=next(iter(PRESETS)),
        help="Settings of the text. The options that follow change single ones and have "
        "SentencePiece's names.",
    )
    return preset(text_keys(*FIELDS)(with_settings))


def text_keys(*names: str) -> Decorator:
    """A decorator with the options of some keys alone; one that is not given is
    None.
    """

    def decorate(command: Command) -> Command:
        for name in reversed(names):
            command = _option(FIELDS[name])(command)
        return command

    return decorate


def text_words(settings: TextSettings) -> list[str]:
    """The options that give these settings; none for those of preset xlm-r.

    >>> text_words(text_settings("lossless", split_digits=False, control_symbols=("<a>", "b,c")))
    ['--preset=lossless', '--no-split-digits', '--control-symbols=<a>,"b,c"']
    """
    written = (
        [f"--preset={name}", *_changed(settings, preset)] for name, preset in PRESETS.items()
    )
    words = min(written, key=len)  # of equally short ones the first
    return words[1:] if words[0] == f"--preset={next(iter(PRESETS))}" else words


def _changed(settings: TextSettings, preset: TextSettings) -> list[str]:
    words = []
    for key in FIELDS:
        value, flag = getattr(settings, key), key.replace("_", "-")
        if value != getattr(preset, key):
            if isinstance(value, bool):
                words.append(f"--{flag}" if value else f"--no-{flag}")
            else:
                words.append(f"--{flag}={_as_csv(value) if isinstance(value, tuple) else value}")
    return words


def _option(one: Field[Any]) -> Decorator:
    """An option without a default of its own: the preset has it."""
    flag = f"--{one.name.replace('_', '-')}"
    help = one.metadata["help"]
    if one.type is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", one.name, default=None, help=help)
    if one.default == ():
        help = f"{help} Separate several by commas, or repeat the option."
        return click.option(
            flag, one.name, multiple=True, metavar="A,B", callback=_split, help=help
        )
    assert one.default is not MISSING
    return click.option(flag, one.name, type=one.type, help=help)


def _split(
    context: click.Context, option: click.Parameter, values: Sequence[str]
) -> tuple[str, ...] | None:
    """The strings of all values, each a line of CSV, as SentencePiece's trainer takes
    them; None for no value.
    """
    try:
        rows = [row for value in values for row in csv.reader([value], strict=True)]
    except csv.Error as error:
        raise UsageError(
            f"{option.opts[0]}: {error}; write A,B, and a comma inside quotes"
        ) from None
    return tuple(text for row in rows for text in row) or None


def _as_csv(texts: Sequence[str]) -> str:
    quoted = (
        '"' + text.replace('"', '""') + '"' if set(text) & set(',"') else text for text in texts
    )
    return ",".join(quoted)
