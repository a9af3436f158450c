"""`vocap fetch`, `vocap list-files`, `vocap sample`, `vocap weigh`, `vocap mix`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vocap import options
from vocap.corpora import MIN_CHARACTERS, stage
from vocap.errors import log
from vocap.files.io import write_text, write_tsv
from vocap.storage.listing import list_shards, named_text

if TYPE_CHECKING:
    from vocap.text_files.filters import Filters

FILE, FOLDER = click.Path(dir_okay=False), click.Path(file_okay=False)


@click.command
@click.argument("url")
@click.option("-o", "--output", required=True, type=FILE, help="The file; FILE.json beside it.")
@click.option("--sha256", help="Refuse the file unless this is its SHA-256, in hexadecimal.")
@click.option(
    "--limit-bytes", type=click.IntRange(min=1), help="Fetch only so many bytes from its start."
)
def fetch(url: str, output: str, sha256: str | None, limit_bytes: int | None) -> None:
    """Download one file over http or https, resuming where an earlier call stopped.

    Received bytes are kept in FILE.part until the download is complete. FILE.json has
    the length of the whole file and whether it was fetched to its end: `vocap sample`
    extrapolates by that.
    """
    from vocap.corpora.download import download

    note = download(url, Path(output), sha256=sha256, limit_bytes=limit_bytes)
    total = note["total_bytes"] or "an unknown number of"
    whole = "complete" if note["complete"] else f"the beginning of {total} bytes"
    log.info("%s: %s bytes, %s", output, f"{note['fetched_bytes']:,}", whole)


@click.command
@click.argument("patterns", nargs=-1, required=True, metavar="PATTERN...")
@click.option("--language", required=True, type=options.Code(), help="Its code, for messages.")
@click.option("--source", default="own", help="Name of the text, for messages.")
@click.option("--sha256", type=FILE, help="Also write a hash of what is listed.")
@click.option("-o", "--output", required=True, type=FILE, help="JSON to write.")
def list_files(
    patterns: tuple[str, ...], language: str, source: str, sha256: str | None, output: str
) -> None:
    """List the files of one language's text, with their sizes and versions, for
    `vocap sample --listing`.

    A PATTERN is a file, a folder (all files in it) or a quoted pattern, on this machine
    or another: hf://, s3://, gs://, https://. A data set of the Hub is listed at the
    revision that it has now.
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
@click.option("--listing", type=FILE, help="In place of FILEs: those of vocap list-files.")
@click.option(
    "--language", required=True, type=options.Code(), help="Its code, for stats.json and messages."
)
@click.option("--source", "source_name", default="own", help="Name noted in stats.json.")
@options.layout
@click.option(
    "--max-sentences",
    type=click.IntRange(min=1),
    default=1_000_000,
    help="Lines of the sample, train and held-out together.",
)
@click.option(
    "--max-characters",
    type=click.IntRange(min=MIN_CHARACTERS),
    help="Keep as many of the sampled lines as hold no more.",
)
@click.option("--seed", type=options.SEED, default=1, help="Of the random choice of lines.")
@click.option(
    "--scan-bytes",
    type=click.IntRange(min=1),
    help="Read no more than this of the files as stored, spread evenly over them.",
)
@options.filters
@click.option(
    "--allow-empty", is_flag=True, help="No text: write empty files and say so in stats.json."
)
@click.option("--train", required=True, type=FILE, help="Text to write: train lines.")
@click.option("--heldout", required=True, type=FILE, help="Text to write: held-out lines.")
@click.option("--stats", required=True, type=FILE, help="JSON to write: the counts.")
def sample(
    files: tuple[str, ...],
    listing: str | None,
    train: str,
    heldout: str,
    stats: str,
    source_name: str,
    layout: str,
    filters: "Filters | None",
    **settings: Any,
) -> None:
    """Sample the lines of one language's files into train and held-out text.

    FILEs are files, folders (all files in them) or quoted patterns, on this machine or
    another (hf://, s3://, gs://, https://); plain, gzip, xz, zstd or bzip2, read once, in
    bounded memory. Invalid, empty, overlong and duplicate
    lines are dropped and counted in stats.json. With --documents a record is cut into
    parts of up to 4,192 bytes behind line ends, and these are the lines.
    """
    stage.sample_corpus(
        named_text(files, listing),
        train,
        heldout,
        stats,
        source=source_name,
        format=layout,
        filters=filters,
        **settings,
    )


@click.command("weigh")
@click.argument("stats", nargs=-1, required=True, type=FILE, metavar="STATS.json...")
@click.option("--by", default="lines", help="Lines, bytes, or a numeric column of the table.")
@click.option("--languages-table", "table", type=FILE, help="Instead of the usual one.")
@click.option("-o", "--output", required=True, type=FILE, help="Columns language, n, source.")
def weigh_samples(stats: tuple[str, ...], by: str, table: str | None, output: str) -> None:
    """Collect n of every language, the size that Equation 3 weighs it by."""
    rows = stage.weigh_corpora(stats, by=by, languages_table=table)
    write_tsv(output, ("language", "n", "source"), rows)


@click.command
@click.option("--weights", required=True, type=FILE, help="Columns language, n.")
@click.option("--alpha", type=options.Real(0, 10), default=0.7, help="Of Equation 3.")
@click.option(
    "--sentences", type=click.IntRange(min=1), default=1_000_000, help="Lines of the sample."
)
@click.option("--seed", type=options.SEED, default=1, help="Of the random choice of lines.")
@click.option("--corpora", required=True, type=FOLDER, help="Holds {lang}/train.txt.")
@click.option("-o", "--output", required=True, type=FILE, help="Text to write.")
def mix(weights: str, alpha: float, sentences: int, seed: int, corpora: str, output: str) -> None:
    """Draw the multilingual sample: lines of every language in proportion to n^alpha,
    shuffled.

    Lines come from train.txt, and repeat where it has fewer than the language's share.
    """
    languages = stage.mix_corpora(
        weights, corpora, output, alpha=alpha, sentences=sentences, seed=seed
    )
    log.info("%s: %s lines of %s languages", output, f"{sentences:,}", languages)
