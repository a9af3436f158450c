"""The Python interface for notebooks: the commands as functions, the tables as data
frames.

Call them from the package: `import vocap; vocap.train_ladder(...)`. All functions raise
`vocap.errors.VocapError` (for a wrong call its subclass `UsageError`) with the
command's message. They print nothing; progress goes to the logger `vocap`.
"""

import contextlib
import inspect
import io
import keyword
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import pandas as pd
from tokenizers import Tokenizer

from vocap.cli import load_command
from vocap.errors import UsageError, VocapError

PathLike = str | Path
TABLES = {
    "ladder": "curve.tsv",
    "allocate": "allocation.tsv",
    "diff": "languages.tsv",
    "evaluate": "",
}


def command_function(name: str, verb: str) -> Callable:
    """A command as a function of this name; its arguments and required options come
    first, in their order.

    Options are named as in the shell, with `_` for `-`, and have their defaults. A
    mapping is written into a table where a file of weights is expected, else given as
    `KEY=VALUE`; a list repeats its option. The function returns the table that the
    command writes (`TABLES`: its file in the output folder), or else what it prints.
    """
    command = load_command(verb)
    shown = (option for option in command.params if not getattr(option, "hidden", False))
    named = {_name(option): option for option in shown if option.name != "as_json"}

    def call(*arguments: Any, **options: Any) -> pd.DataFrame | float | str:
        try:
            given = signature.bind(*arguments, **options).arguments
        except TypeError as error:
            raise UsageError(f"vocap.{name}: {error}") from None
        with tempfile.TemporaryDirectory() as folder:
            if verb in TABLES:
                given.setdefault("output", Path(folder, "output"))
            words = [
                word
                for key, value in given.items()
                for word in _words(named[key], value, Path(folder))
            ]
            printed = _run(command, words)
            if verb in TABLES:
                return read_table(Path(given["output"], TABLES[verb]))
        return float(printed) if verb == "alp" else printed

    # its names, defaults and help
    parameters = [
        inspect.Parameter(
            key,
            inspect.Parameter.POSITIONAL_OR_KEYWORD
            if option.required
            else inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty
            if option.required
            else option.to_info_dict()["default"],
        )
        for key, option in named.items()
    ]
    signature = inspect.Signature(sorted(parameters, key=lambda one: one.kind))
    call.__signature__ = signature  # type: ignore[attr-defined]  # of `inspect`, for help()
    call.__name__ = call.__qualname__ = name
    said = [
        f"{key}\n    {getattr(option, 'help', None) or 'An argument.'}"
        for key, option in named.items()
    ]
    call.__doc__ = "\n".join(
        [inspect.cleandoc(command.help or ""), "", "Parameters", "----------", *said]
    )
    return call


def _name(option: click.Parameter) -> str:
    name = (
        next(flag for flag in option.opts if len(flag) > 2 or flag[0] != "-")
        .lstrip("-")
        .replace("-", "_")
    )
    return option.name if keyword.iskeyword(name) else name


def _words(option: click.Parameter, value: Any, folder: Path) -> list[str]:
    """The words of one option; None leaves it out, True and False are a flag."""
    if value is None:
        return []
    if isinstance(value, bool):
        flags = option.opts if value else option.secondary_opts
        return flags[:1]
    if isinstance(value, Mapping) and option.name == "weights":
        path = folder / "weights.tsv"
        pd.DataFrame(value.items(), columns=["language", "n"]).to_csv(path, sep="\t", index=False)
        value = path
    elif isinstance(value, Mapping):
        value = [f"{key}={entry}" for key, entry in value.items()]
    values = value if isinstance(value, list | tuple) else [value]
    flag = [] if isinstance(option, click.Argument) else option.opts[-1:]
    return [word for one in values for word in (*flag, str(one))]


def _run(command: click.Command, words: list[str]) -> str:
    """What the command prints."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            command.main(words, prog_name=f"vocap {command.name}", standalone_mode=False)
    except click.ClickException as error:
        raise UsageError(error.format_message()) from None
    return printed.getvalue()


def load_tokenizer(folder: PathLike) -> Tokenizer:
    """Load the tokenizer of a folder that has `huggingface/` in it, or of such a
    folder.
    """
    places = [Path(folder) / "huggingface" / "tokenizer.json", Path(folder) / "tokenizer.json"]
    for place in places:
        if place.is_file():
            return Tokenizer.from_file(str(place))
    raise VocapError(
        f"{folder}: no tokenizer.json in it, nor in huggingface/ there; build or export one first"
    )


def read_curves(vocabularies: PathLike) -> pd.DataFrame:
    """Read the ALP curves of all languages, `{language}/curve.tsv` below `vocabularies`.

    Returns
    -------
    pandas.DataFrame
        One row a size, with the columns
        `language size pieces alp alp_heldout tokens_per_sentence status`; ALP (Equation
        1) in nats a line. A size beyond the text's reach has NaN in its cells, the
        reason in `status`.
    """
    folders = sorted(path.parent for path in Path(vocabularies).glob("*/curve.tsv"))
    if not folders:
        raise VocapError(
            f"{vocabularies}: no {{language}}/curve.tsv in it; train ladders there first"
        )
    curves = {folder.name: read_table(folder / "curve.tsv") for folder in folders}
    return pd.concat(curves, names=["language"]).reset_index(level=0).reset_index(drop=True)


def read_table(path: PathLike) -> pd.DataFrame:
    """Read a table of the results: TSV without quoting, where an empty cell is a
    missing number.

    Texts stay texts: the language code `no` or a piece `null` is no missing value.
    """
    try:
        return pd.read_csv(
            path, sep="\t", quoting=3, keep_default_na=False, na_values=[""], encoding="utf-8"
        )
    except FileNotFoundError:
        raise VocapError(f"{path}: no such table; check the path") from None
    except ValueError as error:
        raise VocapError(f"{path}: not a table of the results ({error}); write it again") from None
