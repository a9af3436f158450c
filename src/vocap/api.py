"""The library for notebooks: each function does what the command of its name does, and gives data frames.

Take them from the package: `import vocap; vocap.train_ladder(...)`. Options that have no parameter here are those
of the command, with `_` for `-`. Errors are `vocap.errors.VocapError`, with the command's message. Nothing is
printed; reports of progress go to the logger `vocap`.
"""

import contextlib
import io
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pandas as pd
from tokenizers import Tokenizer

from vocap.cli import vocap as commands
from vocap.errors import UsageError, VocapError

PathLike = str | os.PathLike
Weights = Mapping[str, float] | PathLike


def train_ladder(text: PathLike, output: PathLike, sizes: str = "1000:50000:1000", **options: Any) -> pd.DataFrame:
    """Train unigram models of all `sizes` on a text, a sentence a line; returns the curve, as `read_curve`.

    `sizes` as FIRST:LAST:STEP or with commas. Writes OUTPUT/models/{size}.model and OUTPUT/curve.tsv.
    """
    _run("ladder", text, output=output, sizes=sizes, **options)
    return read_curve(output)


def read_curve(folder: PathLike) -> pd.DataFrame:
    """The curve of a language's folder: `size pieces alp alp_heldout tokens_per_sentence status`, a row a size.

    ALP in nats a line; NaN in the cells of a size that the text does not reach, with the reason in `status`.
    """
    return read_table(Path(folder) / "curve.tsv")


def read_curves(vocabularies: PathLike) -> pd.DataFrame:
    """The curves of all languages that have a folder in `vocabularies`; the first column is `language`."""
    folders = sorted(path.parent for path in Path(vocabularies).glob("*/curve.tsv"))
    if not folders:
        raise VocapError(f"{vocabularies}: no {{language}}/curve.tsv in it; train ladders there first")
    curves = {folder.name: read_curve(folder) for folder in folders}
    return pd.concat(curves, names=["language"]).reset_index(level=0).reset_index(drop=True)


def alp(model: PathLike, text: PathLike) -> float:
    """Average log probability of a text under any SentencePiece or Hugging Face tokenizer, in nats a line."""
    return float(_run("alp", model, text))


def allocate(
    vocabularies: PathLike, weights: Weights, total: int, output: PathLike, **options: Any
) -> pd.DataFrame:
    """Share out `total` ids among languages; returns `language n q weight size gain own_pieces`, a row a language.

    `weights`: how much text each language has, by language, or a table's path with columns language, n. Options:
    `alpha`, `beta`, `rule` and the others of `vocap allocate`. Writes the folder OUTPUT for `build_tokenizer`.
    """
    with _weights(weights) as table:
        _run("allocate", vocabularies=vocabularies, weights=table, total=total, output=output, **options)
    return read_table(Path(output) / "allocation.tsv")


def build_tokenizer(
    allocation: PathLike, vocabularies: PathLike, weights: Weights, output: PathLike, **options: Any
) -> Tokenizer:
    """The VOCAP tokenizer of an allocation; writes OUTPUT/sentencepiece.model and OUTPUT/huggingface/.

    Options are those of `vocap fit`; its text is `corpora`, a folder with {language}/train.txt, or `mix`, a file.
    """
    with _weights(weights) as table:
        _run("fit", allocation=allocation, vocabularies=vocabularies, weights=table, output=output, **options)
    _run("export", Path(output) / "sentencepiece.model", output=Path(output) / "huggingface")
    return load_tokenizer(output)


def load_tokenizer(folder: PathLike) -> Tokenizer:
    """The tokenizer of a folder that `build_tokenizer` or the workflow wrote, or of a huggingface/ folder."""
    places = [Path(folder) / "huggingface" / "tokenizer.json", Path(folder) / "tokenizer.json"]
    for place in places:
        if place.is_file():
            return Tokenizer.from_file(str(place))
    raise VocapError(f"{folder}: no tokenizer.json in it, nor in huggingface/ there; build or export one first")


def compare(a: PathLike, b: PathLike, texts: Mapping[str, PathLike]) -> pd.DataFrame:
    """What two tokenizers do with the texts of some languages, a row a language: languages.tsv of `vocap diff`."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "diff"
        _run("diff", a, b, text=[f"{language}={path}" for language, path in texts.items()], output=out)
        return read_table(out / "languages.tsv")


def read_table(path: PathLike) -> pd.DataFrame:
    """A table of the results (TSV without quoting; an empty cell is a missing number). Codes stay as they are."""
    try:
        return pd.read_csv(path, sep="\t", quoting=3, keep_default_na=False, na_values=[""], encoding="utf-8")
    except FileNotFoundError:
        raise VocapError(f"{path}: no such table; check the path") from None
    except ValueError as error:
        raise VocapError(f"{path}: not a table of the results ({error}); write it again") from None


@contextlib.contextmanager
def _weights(weights: Weights):
    """The path of a table of weights."""
    if not isinstance(weights, Mapping):
        yield weights
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.tsv"
        pd.DataFrame(weights.items(), columns=["language", "n"]).to_csv(path, sep="\t", index=False)
        yield path


def _run(verb: str, *arguments: Any, **options: Any) -> str:
    """What a command prints. True is a flag, a list an option that is repeated; None leaves an option out."""
    command = commands.get_command(click.Context(commands), verb)
    words = [os.fspath(argument) for argument in arguments]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            values = value if isinstance(value, list | tuple) else [value]
            words += [part for one in values for part in (option, str(one))]
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            command.main(words, prog_name=f"vocap {verb}", standalone_mode=False)
    except click.ClickException as error:
        raise UsageError(error.format_message()) from None
    return printed.getvalue()
