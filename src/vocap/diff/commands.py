"""`vocap diff`: two tokenizers on the user's text; as text, JSON and tables."""

import json
from pathlib import Path
from typing import Any

import click

from vocap import options
from vocap.diff.analysis import MOVED, Comparison, Limits, compare
from vocap.errors import UsageError, VocapError, explain, system_error
from vocap.options import PATH
from vocap.text_files.named_texts import parse_files

SHOWN = [  # columns of languages.tsv
    "language",
    "lines",
    "lines_changed",
    "tokens_per_sentence_a",
    "tokens_per_sentence_b",
    "change_percent",
    "words_changed_percent",
    "characters_changed_percent",
]


@click.command()
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@options.text
@options.split
@options.path("--corpora", PATH, "Folder with {language}/heldout.txt, such as results/corpora.")
@options.languages()
@options.of(Limits)
@click.option(
    "--words",
    default=20,
    type=click.IntRange(0),
    help="Number of changed words, and of pieces, to print.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.option("-o", "--output", type=PATH, help="Folder to write tables and a summary to.")
@click.pass_context
def diff(
    context: click.Context,
    a: Path,
    b: Path,
    text: tuple[str, ...],
    splits: tuple[str, ...],
    as_json: bool,
    words: int,
    **settings: Any,
) -> None:
    """Compare the tokens, words and pieces of two tokenizers on text.

    A and B are each a .model of SentencePiece, a tokenizer.json, tiktoken's ranks, a
    tekken.json, or a folder with one of them (results/tokenizers/NAME, or any Hugging
    Face tokenizer). In --split they are named a and b. Counts of tokens count an
    unknown character as its bytes in UTF-8, as in vocap evaluate. The limits apply to
    every language separately. The exit status is 1 where a limit is exceeded, so that
    CI can check it, and 2 for a wrong call and for files that cannot be used.
    """
    try:
        found = compare(a, b, text=parse_files(text), split=splits, **settings)
    except UsageError:
        raise
    except Exception as error:  # 1 means that the tokenizers differ
        system = system_error(error)
        if system is None and not isinstance(error, VocapError):
            raise
        raise UsageError(explain(system) if system else str(error)) from None
    if as_json:
        click.echo(json.dumps(found.summary(), ensure_ascii=False))
    else:
        click.echo(diff_text(found, words))
    if found.beyond:
        context.exit(1)


def diff_text(found: Comparison, most: int) -> str:
    """Tables of the languages, of at most `most` words that are segmented differently
    and pieces that one of the two lacks, each with the largest first; then the limits
    that are exceeded.
    """
    import pandas as pd

    pieces = found.pieces
    tables = [
        found.languages[SHOWN].sort_values("change_percent", key=abs, ascending=False),
        found.words.sort_values("count", ascending=False, kind="stable").head(most),
        pieces.loc[pieces.status != MOVED, ["piece", "status", "uses_a", "uses_b"]].head(most),
    ]
    parts = [f"A: {found.a}, {found.ids_a:,} ids. B: {found.b}, {found.ids_b:,} ids."]
    with pd.option_context("display.unicode.east_asian_width", True):
        for table in tables:
            if len(table):
                text = table.to_string(index=False, float_format="{:.2f}".format, na_rep="-")
                parts.append(text)
    parts += [f"BEYOND THE LIMIT: {reason}" for reason in found.beyond]
    return "\n\n".join(parts)
