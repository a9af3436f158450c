"""`vocap fetch`, `vocap list-files`, `vocap sample`, `vocap count`, `vocap weigh`, `vocap mix`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vocap import options
from vocap.corpora import stage
from vocap.corpora.sources import Mixing, Sampling
from vocap.errors import log
from vocap.files.io import write_text, write_tsv
from vocap.options import ANY_FOLDER, FILE
from vocap.storage.listing import list_shards, named_text

if TYPE_CHECKING:
    from vocap.tokenizer_files.id_layout import IdLayout
    from vocap.unigram.text_settings import TextSettings


@click.command
@click.argument("url")
@options.output(FILE, "File to write. FILE.json is written beside it.")
@click.option(
    "--sha256", help="SHA-256 of the file, in hexadecimal. A file with another one is refused."
)
@click.option(
    "--limit-bytes",
    type=click.IntRange(min=1),
    help="Number of bytes to fetch, from the start of the file.",
)
def fetch(url: str, output: Path, **given: Any) -> None:
    """Download one file over http or https, and go on where an earlier call stopped.

    Received bytes are kept in FILE.part until the download is complete. FILE.json has
    the length of the whole file, and says whether it was fetched to its end. vocap
    sample extrapolates by these two.
    """
    from vocap.corpora.download import download

    note = download(url, output, **given)
    total = note["total_bytes"] or "an unknown number of"
    whole = "complete" if note["complete"] else f"the beginning of {total} bytes"
    log.info("%s: %s bytes, %s", output, f"{note['fetched_bytes']:,}", whole)


@click.command
@click.argument("patterns", nargs=-1, required=True, metavar="PATTERN...")
@options.language("Code of the language, for messages.")
@click.option("--source", default="own", help="Name of the source of the text, for messages.")
@options.path("--sha256", FILE, "File to write a hash of the listing to.")
@options.output(FILE, "JSON file to write.")
def list_files(
    patterns: tuple[str, ...], language: str, source: str, sha256: Path | None, output: Path
) -> None:
    """List the files of one language's text, with their sizes and versions, for vocap
    sample --listing.

    A PATTERN is a file, a folder (all files in it) or a quoted pattern. It may be on
    another machine (hf://, s3://, gs://, https://). A data set of the Hub is listed at
    its current revision.
    """
    listing = list_shards(patterns)
    listing.write(output, language, source)
    if sha256:
        write_text(sha256, listing.sha256() + "\n")
    log.info(
        "%s: %s files of %s, %s bytes",
        output,
        f"{len(listing.shards):,}",
        language,
        f"{listing.total:,}",
    )


@click.command
@click.argument("files", nargs=-1, metavar="FILE...")
@options.path("--listing", FILE, "List that vocap list-files wrote, in place of FILEs.")
@options.language("Code of the language, for --stats and messages.")
@options.of(Sampling)
@options.path("--train", FILE, "File to write the training lines to.", required=True)
@options.path("--heldout", FILE, "File to write the held-out lines to.", required=True)
@options.path("--stats", FILE, "JSON file to write the counts to.", required=True)
def sample(files: tuple[str, ...], listing: Path | None, **given: Any) -> None:
    """Sample training and held-out lines from the files of one language.

    FILEs are files, folders (all files in them) or quoted patterns. They may be on
    another machine (hf://, s3://, gs://, https://), and compressed (gzip, xz, zstd,
    bzip2). They are read once, in bounded memory. Invalid, empty, overlong and
    duplicate lines are left out, and --stats counts them. With --documents a record is
    cut behind line ends into parts of up to 4,192 bytes, which take the place of lines.
    """
    stage.sample_corpus(named_text(files, listing), **given)


@click.command
@click.argument("train", type=FILE)
@options.path("--heldout", FILE, "Held-out text, which is counted too.")
@options.text_options
@options.id_layout
@click.option(
    "--memory",
    type=click.IntRange(min=1),
    default=1000,
    help="Megabytes that distinct text may take. More is sorted on the disk, beside -o. "
    "The result does not depend on it.",
)
@options.output(FILE, "File to write.")
def count(
    train: Path,
    heldout: Path | None,
    text: "TextSettings",
    layout: "IdLayout",
    memory: int,
    output: Path,
) -> None:
    """Count the text TRAIN of a language once, for --counts of other commands.

    The command writes the distinct stretches of the normalised text, with how often
    each occurs. Give the options of the text and the layout that the other commands
    get.
    """
    from vocap.unigram.counts import count_texts  # numba

    texts = {"train": train} | ({} if heldout is None else {"heldout": heldout})
    counts = count_texts(texts, output, text, layout.names, memory * 1_000_000)
    log.info("%s: %d lines", output, counts.facts["texts"]["train"]["lines"])


@click.command("weigh")
@click.argument("stats", nargs=-1, required=True, type=FILE, metavar="STATS.json...")
@click.option(
    "--by",
    default="lines",
    help="What n counts, which is lines, bytes, or a numeric column of the table of languages.",
)
@options.languages_table
@options.output(FILE, "Table to write, with the columns language, n and source.")
def weigh_samples(output: Path, **given: Any) -> None:
    """Collect n of every language, the amount of text from which Equation 3 computes
    its share.
    """
    rows = stage.weigh_corpora(**given)
    write_tsv(output, ("language", "n", "source"), rows)


@click.command
@options.path("--weights", FILE, "Table with the columns language and n.", required=True)
@options.of(Mixing)
@options.path("--corpora", ANY_FOLDER, "Folder with {lang}/train.txt.", required=True)
@options.output(FILE, "File to write the lines to.")
def mix(output: Path, **given: Any) -> None:
    """Draw the multilingual sample, shuffled lines of every language in proportion to
    n^alpha.

    Lines come from train.txt. They repeat where a language has fewer lines than its
    share.
    """
    lines = stage.mix_corpora(output=output, **given)
    log.info("%s: %s lines of %d languages", output, f"{lines.sum():,}", (lines > 0).sum())
