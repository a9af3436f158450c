"""`vocap trim`: a tokenizer, and its model, for some languages; `vocap extend`: a
language added to both.
"""

from pathlib import Path
from typing import Any

import click

from vocap import options
from vocap.adapt import extend as extending
from vocap.adapt import trim as trimming
from vocap.adapt.messages import extended_text, trimmed_text
from vocap.languages import CODE
from vocap.options import PATH
from vocap.text_files.named_texts import parse_files


@click.command()
@click.argument("tokenizer", type=PATH)
@options.languages()
@options.text
@click.option(
    "--heldout",
    multiple=True,
    metavar="LANG=FILE",
    help="Held-out text of a language. May be repeated.",
)
@options.path(
    "--corpora",
    PATH,
    "Folder with {language}/train.txt and heldout.txt.  [default: the corpora of the "
    "run that made TOKENIZER]",
)
@options.of(trimming.TrimSettings)
@options.path("--model", PATH, "Hugging Face model of the tokenizer, which is reduced too.")
@options.output(PATH, "Folder to write.")
def trim(
    tokenizer: Path,
    output: Path,
    text: tuple[str, ...],
    heldout: tuple[str, ...],
    **settings: Any,
) -> None:
    """Reduce a tokenizer to the pieces that some languages need.

    TOKENIZER is results/tokenizers/NAME, a unigram .model of SentencePiece, or a
    tokenizer.json of byte-pair encoding. The pieces that the text uses, those of the
    languages, and the characters of both are kept. Of byte-pair encoding, the merges
    that occur in the text are kept, with the merges that they are made of. Then every
    line is segmented again and compared. The command writes a tokenizer's folder,
    ids.tsv (old and new ids), comparison.tsv and, with --model, model/.
    """
    found = trimming.trim(
        tokenizer,
        output,
        text=parse_files(text),
        heldout=parse_files(heldout, "heldout"),
        **settings,
    )
    click.echo(trimmed_text(found))
    click.echo(f"{output}: {len(found.ids)} of {found.source.total} ids", err=True)


def _with_code(named: str, language: str) -> str:
    """LANG=FILE as it is; FILE, which may have = in its path, with the code of `language`.

    >>> _with_code("de=german.txt", "th"), _with_code("runs/n=5.txt", "th")
    ('de=german.txt', 'th=runs/n=5.txt')
    """
    code, equals, _ = named.partition("=")
    return named if equals and CODE.fullmatch(code) else f"{language}={named}"


@click.command()
@click.argument("tokenizer", type=PATH)
@options.language("Code of the language to add.")
@click.option(
    "--text",
    "--train",
    multiple=True,
    metavar="[LANG=]FILE",
    help="Training text of --language, or text of another language, to measure the "
    "changes on. May be repeated.  [default: train.txt of --corpora]",
)
@click.option(
    "--heldout",
    multiple=True,
    metavar="[LANG=]FILE",
    help="Held-out text of --language or of another language, to measure the changes on. "
    "May be repeated.  [default: heldout.txt of --corpora]",
)
@click.option(
    "--pieces", required=True, type=click.IntRange(1), metavar="N", help="Number of new pieces."
)
@options.path(
    "--corpora",
    PATH,
    "Folder with {language}/heldout.txt, to measure the changes for the languages "
    "that the tokenizer has.  [default: the corpora of the run that made TOKENIZER]",
)
@options.of(extending.Extension)
@options.path("--model", PATH, "Hugging Face model of the tokenizer, which is extended too.")
@options.output(PATH, "Folder to write.")
def extend(
    tokenizer: Path,
    language: str,
    pieces: int,
    output: Path,
    text: tuple[str, ...],
    heldout: tuple[str, ...],
    **settings: Any,
) -> None:
    """Add a language to a finished tokenizer, whose ids all stay.

    TOKENIZER is results/tokenizers/NAME, XLM-R's folder, or a tokenizer.json of
    byte-pair encoding, whose merges come before those of the new language. Pieces are
    trained for the new language alone, and they get the ids after all others. The
    command writes a tokenizer's folder, ids.tsv, additions.tsv, comparison.tsv (the
    changes for every language measured) and, with --model, model/.
    """
    found = extending.extend(
        tokenizer,
        language,
        pieces,
        output,
        text=parse_files([_with_code(one, language) for one in text]),
        heldout=parse_files([_with_code(one, language) for one in heldout], "heldout"),
        **settings,
    )
    click.echo(extended_text(found, output))
