"""`vocap init`: a first configuration for the text of a folder, or below an address."""

import shlex
from difflib import get_close_matches
from pathlib import Path

import click

from vocap import options
from vocap.errors import UsageError
from vocap.init.configuration import configure
from vocap.init.language_files import find_folder_texts
from vocap.languages import read_languages
from vocap.storage.remote import address_of, is_remote
from vocap.tokenizer_files.programs import NAMES

TOKENIZER_KINDS = ("vocap", "joint", "pieces", "bpe", "parity-bpe")


def _programs(context: click.Context, option: click.Parameter, value: str | None) -> list[str]:
    """The names of --for; click.BadParameter for one that is unknown, with near ones."""
    names = [name.strip() for name in (value or "").split(",") if name.strip()]
    for name in names:
        if name not in NAMES:
            near = get_close_matches(name.lower(), NAMES, n=2, cutoff=0.5) or list(NAMES)
            raise click.BadParameter(f"no program {name!r}; did you mean {' or '.join(near)}?")
    return names


@click.command()
@click.argument("folder", metavar="DIR")
@click.option(
    "-o",
    "--output",
    type=options.FILE,
    help="Configuration to write; its run goes into results-NAME beside NAME.yaml.  [default: "
    "DIR/config.yaml, with results; config.yaml here where DIR is an address]",
)
@click.option(
    "--total",
    type=click.IntRange(2),
    help="T, the number of all ids.  [default: by the amount of text]",
)
@click.option(
    "--lossless",
    is_flag=True,
    help="Keep the text as it is, for models that write. It is kept, too, where code is found.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(TOKENIZER_KINDS),
    help="Kind of tokenizer to make. May be repeated.  [default: vocap, pieces and joint, "
    "or pieces and bpe with --lossless]",
)
@click.option(
    "--for",
    "programs",
    metavar="NAMES",
    callback=_programs,
    help="Programs that have to load the tokenizer with equal ids, with commas between: "
    f"{', '.join(NAMES)}.",
)
@click.option(
    "--chat",
    is_flag=True,
    help="Add the tokens and the template of chat, reserved ids and a T in steps of 128. The "
    "text is kept, and the kind is bpe unless given.",
)
@options.languages_table
def init(
    folder: str,
    output: Path | None,
    total: int | None,
    lossless: bool,
    kinds: tuple[str, ...],
    programs: list[str],
    chat: bool,
    languages_table: Path | None,
) -> None:
    """Write DIR/config.yaml for the text files in DIR and its folders.

    The names of files or folders give the languages (de.txt, german.txt,
    deu_Latn.jsonl.gz, de/part-1.txt), and the endings of the names give the formats.
    The amount of text decides the sizes of the vocabularies and of the tokenizer. Where
    mean lines of languages differ by a factor of 2 or more in bytes under bzip2,
    paragraphs are cut into sentences, or languages are weighed by characters.
    Tokenizers are compared on translations in files such as parallel/de.txt, which must
    have equal numbers of lines. An existing config.yaml is never overwritten. Run the
    configuration with: snakemake --cores all --configfile DIR/config.yaml

    DIR may be a pattern of files of one format on another machine, with {lang} in the
    place of the language, such as "hf://datasets/OWNER/NAME/data/{lang}/*.parquet", of
    s3:// or https://. Its files are listed, and the beginning of one of each language
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
        text="chat" if chat else "lossless" if lossless else "",
        kinds=dict.fromkeys(kinds),
        programs=programs,
        table_file=languages_table,
    )
    for line in notes:
        click.echo(line, err=True)
    click.echo(f"snakemake --cores all --configfile {shlex.quote(str(path))}")


def _resolved(folder: str, output: Path | None) -> tuple[str, Path]:
    """Where the text is, and the configuration to write."""
    if is_remote(folder):
        shown = address_of(folder)
        if shown != folder:
            raise UsageError(
                f"{shown}: its user, password or query would be in the configuration; give them "
                "to the client by its variables of the environment"
            )
        if "{lang}" not in folder:
            raise UsageError(
                f"{folder}: write {{lang}} in the place of the language, as in "
                "hf://datasets/OWNER/NAME/data/{lang}/*.parquet"
            )
        return folder, (output or Path("config.yaml")).resolve()
    if not Path(folder).is_dir():
        raise UsageError(f"{folder}: no such folder; name the one that holds your text")
    place = Path(folder).resolve()
    return str(place), (output or place / "config.yaml").resolve()
