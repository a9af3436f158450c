"""`vocap fetch`, `vocap sample`, `vocap weigh`, `vocap mix`."""

import json
from pathlib import Path

import click

from vocap import options
from vocap.corpora import MIN_CHARACTERS
from vocap.corpora.sampling import check_dropped, draw_sample, overlong_languages, write_mix
from vocap.errors import VocapError, log
from vocap.files.io import read_object, replacing, write_tsv
from vocap.files.paths import expand_all
from vocap.languages import read_languages
from vocap.tables.sampling_probabilities import (
    read_weights,
    sampling_probabilities,
    weigh_languages,
)
from vocap.text_files import Layout
from vocap.text_files.lines import FLAG, holds_documents
from vocap.text_files.records import Corpus, check_present

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
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
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
    help="Read no more than this of the files as stored.",
)
@click.option(
    "--allow-empty", is_flag=True, help="No text: write empty files and say so in stats.json."
)
@click.option("--train", required=True, type=FILE, help="Text to write: train lines.")
@click.option("--heldout", required=True, type=FILE, help="Text to write: held-out lines.")
@click.option("--stats", required=True, type=FILE, help="JSON to write: the counts.")
def sample(
    files, language, source_name, layout, split_sentences, escaped_newlines, documents,
    max_sentences,
    max_characters, seed, scan_bytes, allow_empty, train, heldout, stats,
):  # fmt: skip
    """Sample the lines of one language's files into train and held-out text.

    FILEs are files, folders (all files in them) or quoted patterns; plain, gzip, xz,
    zstd or bzip2, read once, in bounded memory. Invalid, empty, overlong and duplicate
    lines are dropped and counted in stats.json. With --documents a record is cut into
    parts of up to 4,192 bytes behind line ends, and these are the lines.
    """
    # draw the sample, or find out that there is no text
    parsed = Layout.parse(layout, split_sentences, escaped_newlines, documents)
    missing, warnings = None, []
    files = expand_all(files)
    try:
        check_present(language, files)
        corpus = Corpus(files, parsed, scan_bytes)
        drawn = draw_sample(corpus, max_sentences, seed, max_characters)
        warnings = check_dropped(files[0], parsed, drawn.counts)
    except VocapError as error:
        # text that cannot be used is no absence of text
        if not allow_empty or any(
            Path(file).is_file() and Path(file).stat().st_size for file in files
        ):
            raise
        missing = f"source {source_name} has no text in {language}"
        log.warning(
            "%s; give it another source under corpora, or leave it out (%s)", missing, error
        )
        corpus, drawn = Corpus((), parsed), draw_sample((), max_sentences, seed)
    # write its parts and their counts; docs/corpora.md explains each
    names = (
        "read kept train heldout empty overlong invalid_utf8 duplicates left_out no_field "
        "valid bytes"
    )
    counts = {name: drawn.counts[name] for name in names.split()}
    summary = {
        "language": language,
        "source": source_name,
        **counts,
        "complete": corpus.complete,
        "n": corpus.extrapolated(counts["valid"]),
        "n_bytes": corpus.extrapolated(counts["bytes"]),
        "scanned_bytes": corpus.consumed,
        "total_bytes": corpus.total,
        "missing": missing,
    }
    if documents:
        summary[FLAG] = True
    with (
        replacing(stats) as out,
        replacing(heldout, "wb") as held,
        replacing(train, "wb") as trained,
    ):
        for target, lines in ((trained, drawn.train), (held, drawn.heldout)):
            target.writelines(line + b"\n" for line in lines)
        out.write(json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    log.info(
        "%s: %s lines read%s; %s kept: %s train, %s held out",
        language, f"{counts['read']:,}", "" if corpus.complete else f", about {summary['n']:,} in "
                                                                    "the whole",
        *(f"{counts[name]:,}" for name in ("kept", "train", "heldout")),
    )  # fmt: skip
    for warning in warnings:
        log.warning("%s: %s", language, warning)


# entries of a stats.json that weighing needs
STATS = {
    "kept",
    "n",
    "n_bytes",
    "complete",
    "total_bytes",
}


@click.command
@click.argument("stats", nargs=-1, required=True, type=FILE, metavar="STATS.json...")
@click.option("--by", default="lines", help="Lines, bytes, or a numeric column of the table.")
@click.option("--languages-table", "table", type=FILE, help="Instead of the usual one.")
@click.option("-o", "--output", required=True, type=FILE, help="Columns language, n, source.")
def weigh(stats: tuple[str, ...], by: str, table: str | None, output: str) -> None:
    """Collect n of every language, the size that Equation 3 weighs it by."""
    named = {} if by in ("lines", "bytes") else read_languages(table)
    entries = [_read_stats(path) for path in stats]
    rows = weigh_languages(entries, by, named, table or "the table of languages")
    write_tsv(output, ("language", "n", "source"), rows)
    if warning := overlong_languages(entries):
        log.warning(warning)
    if absent := [language for language, n, _ in rows if not n]:
        log.warning("no text, left out from here on: %s", " ".join(absent))
    if parts := [language for language, _, source in rows if source == "incomplete"]:
        log.warning(
            "n is of the part that was read, since the size of the whole is unknown: %s; weigh "
            "by a column of the "
            "table, or read all of it",
            " ".join(parts),
        )


def _read_stats(path: str) -> dict:
    entry = read_object(path, "make it again with: vocap sample", "make it with: vocap sample")
    if not isinstance(entry.get("language"), str) or not entry.keys() >= STATS:
        raise VocapError(
            f"{path}: not the stats.json of a sample; make it again with: vocap sample"
        )
    return entry


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
    sizes = read_weights(weights)
    files = [(language, Path(corpora) / language / "train.txt") for language in sizes]
    for language, file in files:
        if sizes[language] and not file.exists():
            raise VocapError(
                f"{file}: no such file, but {weights} gives {language} a weight; run: vocap sample"
            )
        if holds_documents(file):
            raise VocapError(
                f"{file}: documents, of which no sample is drawn; write corpora.mix.sentences: all"
            )
    try:
        q = sampling_probabilities(list(sizes.values()), alpha)
    except ValueError as error:
        raise VocapError(f"{weights}: {error}") from None
    counts = write_mix(output, files, q, sentences, seed)
    log.info("%s: %s lines of %s languages", output, f"{sentences:,}", int((counts > 0).sum()))
