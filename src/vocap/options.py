"""Command-line options: those of the fields of settings, and others that several verbs
share.
"""

import csv
import functools
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import click
from click.core import ParameterSource

from vocap.errors import UsageError
from vocap.files.io import parse_yaml, read_yaml
from vocap.languages import CODE
from vocap.unigram.text_settings import text_settings

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from vocap.section import ConfigSection
    from vocap.tokenizer_files.id_layout import IdLayout


Command = Callable[..., Any]
Decorator = Callable[[Command], Command]
PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
ANY_FOLDER = click.Path(path_type=Path, file_okay=False)  # it need not exist
SEED = click.IntRange(0, 2**63 - 1)  # the range of torch


class Number(click.FloatRange):
    """A number within limits, which nan, that no limit excludes, is not."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number", param, ctx)
        return number


def of(settings: "type[ConfigSection]", *names: str) -> Decorator:
    """The options of fields of a class of settings, by default of all; the command gets
    those that are given, by the names of the fields.
    """
    chosen = {name: settings.model_fields[name] for name in names or settings.model_fields}

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_given(**options: Any) -> Any:
            source = click.get_current_context().get_parameter_source
            left = {name for name in chosen if source(name) is ParameterSource.DEFAULT}
            return command(**{name: value for name, value in options.items() if name not in left})

        decorated: Command = with_given
        for name, field in reversed(chosen.items()):  # --help shows their order
            decorated = (OWN_OPTIONS.get(name) or _of_field(name, field))(decorated)
        return decorated

    return decorate


def _of_field(name: str, field: "FieldInfo") -> Decorator:
    """The option of a field: its name or alias, type, limits, default and description."""
    description = field.description or ""
    given: dict[str, Any] = {
        "default": None if field.is_required() else field.default,
        "required": field.is_required(),
        "help": f"{description[:1].upper()}{description[1:]}.",
    }
    flag = f"--{(field.alias or name).replace('_', '-')}"
    kind, limits = _kind_of(field)
    if kind is bool:
        flag = flag if field.default is False else f"{flag}/--no-{flag[2:]}"
        given["is_flag"] = True
    elif get_origin(kind) is Literal:
        given["type"] = click.Choice(get_args(kind))
    elif get_origin(kind) is list:
        given |= {"callback": _listed, "default": None, "metavar": "A,B", "multiple": True}
        given["help"] += " Separate several by commas, or repeat the option."
    elif kind is int:
        given["type"] = click.IntRange(limits.get("ge"), limits.get("le")) if limits else int
    elif kind is float:
        least, most = limits.get("ge"), limits.get("le")
        given["type"] = Number(least, most, min_open="gt" in limits)
    return click.option(flag, name, **given)


def _kind_of(field: "FieldInfo") -> tuple[Any, dict[str, Any]]:
    """The type of a field without None, and its limits, by their names in pydantic."""
    kinds = [kind for kind in get_args(field.annotation) if kind is not NoneType]
    optional = kinds and NoneType in get_args(field.annotation)
    kind, marks = (kinds[0] if optional else field.annotation), list(field.metadata)
    if get_origin(kind) is Annotated:
        kind, *further = get_args(kind)
        marks += [mark for one in further for mark in getattr(one, "metadata", [one])]
    names = ("ge", "gt", "le")
    return kind, {
        name: getattr(mark, name) for mark in marks for name in names if hasattr(mark, name)
    }


def _listed(context: click.Context, option: click.Parameter, values: Sequence[str]) -> Any:
    """The strings of all values, each a line of CSV, as SentencePiece's trainer takes
    them; None for no value.
    """
    try:
        rows = [row for value in values for row in csv.reader([value], strict=True)]
    except csv.Error as error:
        raise UsageError(
            f"{option.opts[0]}: {error}; write A,B, and a comma inside quotes"
        ) from None
    return [text for row in rows for text in row] or None


def path(flag: str, kind: click.Path, help: str, required: bool = False) -> Decorator:
    """An option of a file or folder."""
    return click.option(flag, type=kind, help=help, required=required)


def output(kind: click.Path, help: str) -> Decorator:
    """The option -o, without which the command does not run; it gets `output`."""
    return click.option("-o", "--output", required=True, type=kind, help=help)


def languages(default: str = "all that have text") -> Decorator:
    """The option --languages; the command gets the list of their codes, or None."""
    from vocap.text_files.named_texts import parse_languages

    return click.option(
        "--languages",
        metavar="CODES",
        callback=lambda _, __, codes: parse_languages(codes),
        help=f"Codes of languages, separated by commas.  [default: {default}]",
    )


def language(help: str) -> Decorator:
    """The option --language, without which the command does not run. The code becomes a
    folder's name and a cell of tables.
    """

    def check(context: click.Context, option: click.Parameter, code: str) -> str:
        if not CODE.fullmatch(code):
            raise click.BadParameter(
                f"{code!r} is not a language code; use letters, digits, - and _."
            )
        return code

    return click.option("--language", required=True, metavar="CODE", callback=check, help=help)


# of each language, as often as it is given; the command gets the values
text: Decorator = click.option(
    "--text",
    multiple=True,
    metavar="LANG=FILE",
    help="Text of a language. May be repeated.",
)


def threads(help: str, default: int = 1) -> Decorator:
    """The option --threads."""
    kind = click.IntRange(1, 1024)
    return click.option("--threads", type=kind, default=default, help=help)


languages_table: Decorator = path(
    "--languages-table", PATH, "Table of languages.  [default: the one that ships with vocap]"
)


def filters(command: Command) -> Command:
    """The option --filters, of which the command gets `Filters`, or None."""
    from vocap.text_files.filters import parse_filters  # pydantic

    return click.option(
        "--filters",
        metavar="JSON",
        callback=lambda _, __, text: parse_filters(text) if text else None,
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


totals: Decorator = click.option(
    "--total",
    "totals",
    required=True,
    multiple=True,
    type=click.IntRange(2),
    help="T, the number of all ids. May be repeated, and then -o must contain {total}.",
)


def parse_layout(text: str) -> "IdLayout":
    """The layout of the option --layout: `xlm-r`, or a map in YAML. Raises UsageError,
    naming the key.
    """
    from vocap.tokenizer_files.id_layout import SHORTHAND, XLM_R_LAYOUT, IdLayout  # sentencepiece

    if text == SHORTHAND:
        return XLM_R_LAYOUT
    value = parse_yaml(text, "--layout")
    if not isinstance(value, dict):
        raise UsageError(
            f"--layout {text!r}: write {SHORTHAND}, or a map such as '{{mask: false, reserved: 8}}'"
        )
    return IdLayout.parsed(value, "--layout")


def id_layout(command: Command) -> Command:
    """The option --layout of tokenizers; the command gets `layout`, an `IdLayout`."""
    return click.option(
        "--layout",
        default="xlm-r",
        metavar="YAML",
        callback=lambda _, __, value: parse_layout(value),
        help="Special tokens, reserved ids and mask, as a map in YAML with the keys of "
        "section `layout` of a configuration.",
    )(command)


def text_options(command: Command) -> Command:
    """The options --preset and those of single keys; the command gets `text`, a
    TextSettings.
    """
    from vocap.unigram.training_settings import TextSection

    @functools.wraps(command)
    def with_settings(**options: Any) -> Any:
        given = {name: options.pop(name) for name in TextSection.model_fields if name in options}
        return command(text=text_settings(**given), **options)

    return of(TextSection)(with_settings)


# of fields whose value is an object
OWN_OPTIONS = {"text": text_options, "layout": id_layout, "filters": filters}
