"""`vocap init`; its imports are inside, as `vocap --help` imports this file."""

import shlex
from pathlib import Path

import click

from vocap.errors import UsageError

KINDS = ("vocap", "joint", "pieces", "bpe")


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--total", type=click.IntRange(2), help="T, every id counted.  [default: by the amount of text]")
@click.option(
    "--lossless", is_flag=True, help="Text as it is, for generative models; so it is where code is found."
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS),
    help="Tokenizer to make; may be repeated.  [default: pieces and joint; of lossless text pieces and bpe]",
)
@click.option(
    "--languages-table",
    type=click.Path(path_type=Path),
    help="Table of languages  [default: the one that ships with vocap]",
)
def init(folder, total, lossless, kinds, languages_table):
    """Write DIR/config.yaml for the text files in DIR and its folders.

    Languages come from the names of files or folders (de.txt, german.txt, deu_Latn.jsonl.gz, de/part-1.txt),
    formats from their endings, the sizes of vocabularies and of the tokenizer from the amount of text. Where mean
    lines of languages differ by 2 or more, paragraphs are cut, or characters weighed. Translations in files such
    as parallel/de.txt, of equal numbers of lines, are what tokenizers are compared on. A config.yaml that is there
    stays. Run it with: snakemake --cores all --configfile DIR/config.yaml
    """
    from vocap.init.configuration import describe_folder

    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name the one that holds your text")
    path = folder.resolve() / "config.yaml"
    if path.exists():
        raise UsageError(f"{path}: there is a configuration already; edit it, or move it away")
    for line in describe_folder(path, languages_table, total, lossless, tuple(dict.fromkeys(kinds))):
        click.echo(line, err=True)
    click.echo(f"snakemake --cores all --configfile {shlex.quote(str(path))}")
