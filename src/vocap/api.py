"""The Python interface for notebooks: the commands as functions, the tables as data frames.

Call them from the package: `import vocap; vocap.train_ladder(...)`. Further keyword arguments (`**options`) are
the options of the command, with `_` for `-`. All functions raise `vocap.errors.VocapError` (for a wrong call its
subclass `UsageError`) with the command's message. They print nothing; progress goes to the logger `vocap`.
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
    """Train unigram models of every vocabulary size on one text.

    Parameters
    ----------
    text
        Path of a UTF-8 text, one sentence a line.
    output
        Folder to write: `models/{size}.model` and `curve.tsv`.
    sizes
        `FIRST:LAST:STEP`, or sizes with commas between.
    **options
        Options of `vocap ladder`, such as `heldout`, `coverage` and `threads`.

    Returns
    -------
    pandas.DataFrame
        The curve, as `read_curve` returns it.

    Examples
    --------
    >>> curve = vocap.train_ladder("en.txt", "vocabularies/en", sizes="1000:5000:1000")  # doctest: +SKIP
    """
    _run("ladder", text, output=output, sizes=sizes, **options)
    return read_curve(output)


def read_curve(folder: PathLike) -> pd.DataFrame:
    """Read the ALP curve of one language.

    Parameters
    ----------
    folder
        Folder that holds `curve.tsv`.

    Returns
    -------
    pandas.DataFrame
        One row a size, with the columns `size pieces alp alp_heldout tokens_per_sentence status`. ALP (Equation 1)
        in nats a line. A size beyond the text's reach has NaN in its cells and the reason in `status`.
    """
    return read_table(Path(folder) / "curve.tsv")


def read_curves(vocabularies: PathLike) -> pd.DataFrame:
    """Read the curves of all languages, `{language}/curve.tsv` below `vocabularies`.

    Returns
    -------
    pandas.DataFrame
        The rows of `read_curve`, with `language` as the first column.
    """
    folders = sorted(path.parent for path in Path(vocabularies).glob("*/curve.tsv"))
    if not folders:
        raise VocapError(f"{vocabularies}: no {{language}}/curve.tsv in it; train ladders there first")
    curves = {folder.name: read_curve(folder) for folder in folders}
    return pd.concat(curves, names=["language"]).reset_index(level=0).reset_index(drop=True)


def alp(model: PathLike, text: PathLike) -> float:
    """Compute the average log probability (Equation 1) of a text under a tokenizer.

    Parameters
    ----------
    model
        A SentencePiece model, or a Hugging Face `tokenizer.json`.
    text
        Path of a UTF-8 text, one sentence a line.

    Returns
    -------
    float
        Nats a line; the unigram distribution is that of the tokens of `text`.
    """
    return float(_run("alp", model, text))


def allocate(
    vocabularies: PathLike, weights: Weights, total: int, output: PathLike, **options: Any
) -> pd.DataFrame:
    """Allocate `total` ids to languages (Algorithm 1, or another rule).

    Parameters
    ----------
    vocabularies
        Folder with `{language}/curve.tsv` and `{language}/models/{size}.model`.
    weights
        Amount of text n by language: a mapping, or the path of a table with the columns `language` and `n`.
    total
        T, ids of the tokenizer.
    output
        Folder to write; `build_tokenizer` reads it.
    **options
        Options of `vocap allocate`, such as `alpha`, `beta` and `rule`.

    Returns
    -------
    pandas.DataFrame
        One row a language, with the columns `language n q weight size gain own_pieces`.
    """
    with _weights(weights) as table:
        _run("allocate", vocabularies=vocabularies, weights=table, total=total, output=output, **options)
    return read_table(Path(output) / "allocation.tsv")


def build_tokenizer(
    allocation: PathLike, vocabularies: PathLike, weights: Weights, output: PathLike, **options: Any
) -> Tokenizer:
    """Build the tokenizer of an allocation.

    Parameters
    ----------
    allocation
        Folder that `allocate` wrote.
    vocabularies, weights
        As for `allocate`.
    output
        Folder to write: `sentencepiece.model` and `huggingface/`, with the same ids.
    **options
        Options of `vocap fit`.

    Returns
    -------
    tokenizers.Tokenizer
    """
    with _weights(weights) as table:
        _run("fit", allocation=allocation, vocabularies=vocabularies, weights=table, output=output, **options)
    _run("export", Path(output) / "sentencepiece.model", output=Path(output) / "huggingface")
    return load_tokenizer(output)


def load_tokenizer(folder: PathLike) -> Tokenizer:
    """Load the tokenizer of a folder of `build_tokenizer` or the workflow, or of a `huggingface/` folder.

    Returns
    -------
    tokenizers.Tokenizer
    """
    places = [Path(folder) / "huggingface" / "tokenizer.json", Path(folder) / "tokenizer.json"]
    for place in places:
        if place.is_file():
            return Tokenizer.from_file(str(place))
    raise VocapError(f"{folder}: no tokenizer.json in it, nor in huggingface/ there; build or export one first")


def compare(a: PathLike, b: PathLike, texts: Mapping[str, PathLike]) -> pd.DataFrame:
    """Compare two tokenizers on texts.

    Parameters
    ----------
    a, b
        Tokenizers, as `vocap diff` takes them.
    texts
        Path of a text by language.

    Returns
    -------
    pandas.DataFrame
        One row a language: `languages.tsv` of `vocap diff`.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "diff"
        _run("diff", a, b, text=[f"{language}={path}" for language, path in texts.items()], output=out)
        return read_table(out / "languages.tsv")


def read_table(path: PathLike) -> pd.DataFrame:
    """Read a table of the results: TSV without quoting, where an empty cell is a missing number.

    Returns
    -------
    pandas.DataFrame
        Texts stay texts: the language code `no` or a piece `null` is no missing value.
    """
    try:
        return pd.read_csv(path, sep="\t", quoting=3, keep_default_na=False, na_values=[""], encoding="utf-8")
    except FileNotFoundError:
        raise VocapError(f"{path}: no such table; check the path") from None
    except ValueError as error:
        raise VocapError(f"{path}: not a table of the results ({error}); write it again") from None


@contextlib.contextmanager
def _weights(weights: Weights):
    """Path of a table of weights, in the block."""
    if not isinstance(weights, Mapping):
        yield weights
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.tsv"
        pd.DataFrame(weights.items(), columns=["language", "n"]).to_csv(path, sep="\t", index=False)
        yield path


def _run(verb: str, *arguments: Any, **options: Any) -> str:
    """Output of a command. True is a flag, a list a repeated option; None leaves an option out."""
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
