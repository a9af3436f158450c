"""The text settings as command-line options, one for each field of `TextSettings`, and as words of a command."""

import csv
import functools
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields

import click

from vocap.errors import UsageError
from vocap.unigram.text_settings import PRESETS, TextSettings, text_settings

FIELDS = {one.name: one for one in fields(TextSettings)}


def text_options(command: Callable) -> Callable:
    """The options --preset and those of single keys; the command gets `settings`, a TextSettings."""

    @functools.wraps(command)
    def with_settings(preset: str, **options):
        given = {name: options.pop(name) for name in FIELDS}
        keys = {name: value for name, value in given.items() if value is not None}
        return command(settings=text_settings(preset, **keys), **options)

    preset = click.option(
        "--preset",
        type=click.Choice(list(PRESETS)),
        default=next(iter(PRESETS)),
        show_default=True,
        help="Settings of the text; the options below change single ones, and are named as in SentencePiece.",
    )
    return preset(text_keys(*FIELDS)(with_settings))


def text_keys(*names: str) -> Callable:
    """A decorator with the options of some keys alone; one that is not given is None."""

    def decorate(command: Callable) -> Callable:
        for name in reversed(names):
            command = _option(FIELDS[name])(command)
        return command

    return decorate


def text_words(settings: TextSettings) -> list[str]:
    """The options that give these settings; none for those of preset xlm-r.

    >>> text_words(text_settings("lossless", split_digits=False, control_symbols=("<a>", "b,c")))
    ['--preset=lossless', '--no-split-digits', '--control-symbols=<a>,"b,c"']
    """
    presets = [(sum(_differs(settings, PRESETS[name], key) for key in FIELDS), name) for name in PRESETS]
    name = min(presets, key=lambda entry: entry[0])[1]  # the nearest; of equally near ones the first
    words = [] if name == next(iter(PRESETS)) else [f"--preset={name}"]
    for key in FIELDS:
        if _differs(settings, PRESETS[name], key):
            value, flag = getattr(settings, key), key.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{flag}" if value else f"--no-{flag}")
            else:
                words.append(f"--{flag}={_as_csv(value) if isinstance(value, tuple) else value}")
    return words


def _differs(settings: TextSettings, preset: TextSettings, key: str) -> bool:
    return getattr(settings, key) != getattr(preset, key)


def _option(one: Field) -> Callable:
    """An option without a default of its own: the preset has it."""
    flag = f"--{one.name.replace('_', '-')}"
    help = one.metadata["help"]
    if one.type is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", one.name, default=None, help=help)
    if one.default == ():
        help = f"{help} Several: separated by commas, or the option repeated."
        return click.option(flag, one.name, multiple=True, metavar="A,B", callback=_split, help=help)
    assert one.default is not MISSING
    return click.option(flag, one.name, type=one.type, help=help)


def _split(context: click.Context, option: click.Parameter, values: Sequence[str]) -> tuple[str, ...] | None:
    """The strings of all values, each a line of CSV, as SentencePiece's trainer takes them; None for no value."""
    try:
        rows = [row for value in values for row in csv.reader([value], strict=True)]
    except csv.Error as error:
        raise UsageError(f"{option.opts[0]}: {error}; write A,B, and a comma inside quotes") from None
    return tuple(text for row in rows for text in row) or None


def _as_csv(texts: Sequence[str]) -> str:
    quoted = ('"' + text.replace('"', '""') + '"' if set(text) & set(',"') else text for text in texts)
    return ",".join(quoted)
