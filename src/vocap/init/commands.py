"""`vocap init`: a first configuration for the text of a folder, or below an address."""

import shlex
from pathlib import Path

import click

from vocap import options
from vocap.errors import UsageError
from vocap.init.configuration import configure
from vocap.init.language_files import find_folder_texts
from vocap.languages import read_languages
from vocap.storage.remote import is_remote

TOKENIZER_KINDS = ("vocap", "joint", "pieces", "bpe", "parity-bpe")


@click.command()
@click.argument("folder", metavar="DIR")
@click.option(
    "-o",
    "--output",
    type=options.FILE,
    help="The configuration.  [default: DIR/config.yaml; of an address config.yaml]",
)
@click.option(
    "--total", type=click.IntRange(2), help="T, every id counted.  [default: by the amount of text]"
)
@click.option(
    "--lossless",
    is_flag=True,
    help="Text as it is, for generative models; so it is where code is found.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(TOKENIZER_KINDS),
    help="Tokenizer to make; may be repeated.  [default: vocap, pieces and joint; of lossless "
    "text pieces and bpe]",
)
@options.languages_table
def init(
    folder: str,
    output: Path | None,
    total: int | None,
    lossless: bool,
    kinds: tuple[str, ...],
    languages_table: Path | None,
) -> None:
    """Write DIR/config.yaml for the text files in DIR and its folders.

    Languages come from the names of files or folders (de.txt, german.txt,
    deu_Latn.jsonl.gz, de/part-1.txt), formats from their endings, the sizes of
    vocabularies and of the tokenizer from the amount of text. Where mean lines of
    languages differ by 2 or more, paragraphs are cut, or characters weighed.
    Translations in files such as parallel/de.txt, of equal numbers of lines, are what
    tokenizers are compared on. A config.yaml that is there stays. Run it with:
    snakemake --cores all --configfile DIR/config.yaml

    DIR may be an address of another machine, hf://datasets/OWNER/NAME/data, s3://,
    gs://, or a pattern, "https://HOST/{lang}/*.jsonl.gz" with {lang} in the place of
    the language: its files are listed, and of one file of each language the beginning
    is read.
    """
    place, path = _resolved(folder, output)
    if path.exists():
        raise UsageError(f"{path}: there is a configuration already; edit it, or move it away")
    table = read_languages(languages_table)
    texts = find_folder_texts(place, table)
    for line in texts.notes():
        click.echo(line, err=True)
    notes = configure(
        path,
        texts,
        table,
        total=total,
        lossless=lossless,
        kinds=dict.fromkeys(kinds),
        table_file=languages_table,
    )
    for line in notes:
        click.echo(line, err=True)
    click.echo(f"snakemake --cores all --configfile {shlex.quote(str(path))}")


def _resolved(folder: str, output: Path | None) -> tuple[str, Path]:
    """Where the text is, and the configuration to write."""
    if is_remote(folder):
        return folder, (output or Path("config.yaml")).resolve()
    if not Path(folder).is_dir():
        raise UsageError(f"{folder}: no such folder; name the one that holds your text")
    place = Path(folder).resolve()
    return str(place), (output or place / "config.yaml").resolve()
