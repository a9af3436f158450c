"""`vocap diff`: two tokenizers on the user's text."""

import os
from pathlib import Path

import click

from vocap import options
from vocap.errors import UsageError, VocapError, explain, system_error

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
        summary, text = _compare(a, b, texts, corpora, languages, part, limits, out, words, examples)
    except Exception as error:
        system = system_error(error)
        if system is None and not isinstance(error, VocapError):
            raise
        raise UsageError(explain(system) if system else str(error)) from None  # 1 means that the tokenizers differ
    if as_json:
        import json

        click.echo(json.dumps(summary, ensure_ascii=False))
    else:
        click.echo(text)
    if summary["beyond"]:
        context.exit(1)


def _compare(a, b, texts, corpora, languages, part, limits, out, words, examples) -> tuple[dict, str]:
    from vocap.diff.changes import compare_text  # numpy, SentencePiece, tokenizers: not for --help
    from vocap.diff.writing import as_text, compare_ids, describe, write_tables
    from vocap.text_files.named_texts import find_texts, parse_languages, read_sentences
    from vocap.tokenizer_files.encoders import load_encoder
    from vocap.tokenizer_files.splitter import Splitter

    files = find_texts(texts, corpora, parse_languages(languages), [part])
    one, other = Splitter(load_encoder(a)), Splitter(load_encoder(b))
    found = {
        code: compare_text(one, other, (block for path in parts.values() for block in read_sentences(path)))
        for code, parts in files.items()
    }
    if not any(change.lines for change in found.values()):
        raise VocapError("no line in any text; give text with a sentence a line")
    uses = (sum(getattr(change, side).counts for change in found.values()) for side in "ab")
    pieces = compare_ids(one, other, *uses)
    summary = describe((str(a), str(b)), (one.encoder.size, other.encoder.size), found, pieces, limits)
    if out is not None:
        write_tables(out, summary, found, pieces)
    return summary, as_text(summary, found, pieces, words, examples)
