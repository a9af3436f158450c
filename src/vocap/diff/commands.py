"""`vocap diff`: two tokenizers on the user's text."""

import json
import os
from pathlib import Path

import click

from vocap import options
from vocap.errors import UsageError, VocapError, explain, system_error
from vocap.text_files.named_texts import find_texts, parse_languages

PATH = click.Path(path_type=Path)
LIMIT = options.Real(min=0)


@click.command()
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@click.option("--text", "texts", multiple=True, metavar="LANG=FILE", help="Text of a language; may be repeated.")
@click.option("--corpora", type=PATH, help="Folder with {language}/heldout.txt, such as results/corpora.")
@click.option("--languages", metavar="CODES", help="Comma-separated; all that have text unless given.")
@click.option(
    "--part",
    type=click.Choice(["heldout", "train"]),
    default="heldout",
    show_default=True,
    help="Part of --corpora.",
)
@click.option("--max-change", type=LIMIT, metavar="PERCENT", help="Limit on the change of tokens a line.")
@click.option("--max-words", type=LIMIT, metavar="PERCENT", help="Limit on words segmented differently.")
@click.option("--max-characters", type=LIMIT, metavar="PERCENT", help="Limit on text segmented differently.")
@click.option("--words", default=20, show_default=True, type=click.IntRange(0), help="Changed words to print.")
@click.option("--examples", default=3, show_default=True, type=click.IntRange(0), help="Languages with examples.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.option("-o", "--output", "out", type=PATH, help="Folder to write: tables and a summary.")
@click.pass_context
def diff(context, a, b, texts, corpora, languages, part, as_json, out, words, examples, **limits) -> None:
    """Compare two tokenizers on text: tokens, words, sentences, pieces.

    A and B are each a SentencePiece .model, a tokenizer.json, or a folder with one (results/tokenizers/NAME, or
    any Hugging Face tokenizer). The limits apply to every language separately. Exit status: 0; 1 where a limit is
    exceeded, for a check in CI; 2 for a wrong call and for unusable files.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the workflow starts as many jobs as there are cores
    limits = {name: value for name, value in limits.items() if value is not None}
    try:
        from vocap.diff.changes import compare  # numpy, SentencePiece, tokenizers: not for --help

        files = find_texts(texts, corpora, parse_languages(languages), [part])
        summary, text = compare((a, b), files, limits, out, words, examples)
    except Exception as error:
        system = system_error(error)
        if system is None and not isinstance(error, VocapError):
            raise
        raise UsageError(explain(system) if system else str(error)) from None  # 1 means that the tokenizers differ
    click.echo(json.dumps(summary, ensure_ascii=False) if as_json else text)
    if summary["beyond"]:
        context.exit(1)
