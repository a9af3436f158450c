"""The stage corpora as functions: samples of one language's text, n of all languages,
and the multilingual sample.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vocap.corpora.sampling import (
    Sample,
    check_dropped,
    draw_sample,
    markup_warnings,
    overlong_languages,
    write_mix,
)
from vocap.corpora.shard_sample import ShardSample
from vocap.corpora.sources import Mixing, Sampling
from vocap.errors import UsageError, VocapError, log
from vocap.files.io import replacing
from vocap.files.paths import expand_all
from vocap.files.written import read_written
from vocap.languages import read_languages
from vocap.result import Result
from vocap.section import ConfigSection
from vocap.storage.listing import Listing, check_present, list_shards, local_shard, with_text
from vocap.storage.remote import Shard, is_remote
from vocap.tables.sampling_probabilities import (
    read_weights,
    sampling_probabilities,
    weigh_languages,
)
from vocap.text_files import Layout
from vocap.text_files.filters import RecordFilter, record_filter
from vocap.text_files.lines import FLAG, LineFile, holds_documents
from vocap.text_files.text import SENTENCES, SentenceFile, Text

# the counts of stats.json; docs/corpora.md explains each
COUNTS = (
    "read", "kept", "train", "heldout", "empty", "overlong", "invalid_utf8", "duplicates",
    "left_out", "no_field", "valid", "bytes",
)  # fmt: skip
WIDE = 0.2  # of n: its interval, from which weighing warns


@dataclass(frozen=True, repr=False)
class CorpusSample(Result):
    """The sample of one language's text; `stats`: the content of stats.json."""

    drawn: Sample
    stats: dict[str, Any]

    @property
    def train(self) -> list[str]:
        """The training lines, in the order of the text."""
        return [line.decode() for line in self.drawn.train]

    @property
    def heldout(self) -> list[str]:
        """The held-out lines, none of which is a training line."""
        return [line.decode() for line in self.drawn.heldout]

    def write(self, train: str | Path, heldout: str | Path, stats: str | Path) -> None:
        """Write both texts and the counts, all three or none."""
        with (
            replacing(stats) as counts,
            replacing(heldout, "wb") as held,
            replacing(train, "wb") as trained,
        ):
            for target, lines in ((trained, self.drawn.train), (held, self.drawn.heldout)):
                target.writelines(line + b"\n" for line in lines)
            json.dump(self.stats, counts, indent=2, ensure_ascii=False)
            counts.write("\n")


def sample_corpus(
    files: Text | Listing,
    train: str | Path | None = None,
    heldout: str | Path | None = None,
    stats: str | Path | None = None,
    *,
    language: str,
    settings: ConfigSection | None = None,
    **fields: object,
) -> CorpusSample:
    """Sample training and held-out lines from the text of one language.

    Invalid, empty, overlong and duplicate lines are left out and counted. Where not all
    of the text is read, the counts have an estimate of the whole with its 95 %
    interval. Files are read once, in bounded memory: some 60 bytes for each of
    `max_sentences`, whose lines lie in a temporary file.

    Parameters
    ----------
    files
        A path, a list of `Path` or a `Listing`: files, folders (all files in them) or
        patterns, compressed or not; or sentences. Several remote paths (`hf://`,
        `s3://`) are given as `list_shards([...])`, since a str in a list is a sentence.
    train, heldout, stats
        Files to write the lines to, and the counts as JSON. Give all three, or none.
    language
        The code of the language, for counts and messages.
    settings, **fields
        A `Sampling`, and its fields in the place of its own. `format` is text,
        jsonl:FIELD, tsv:COLUMN or parquet:COLUMN. With `split_sentences` lines are cut
        into sentences. With `escaped_newlines` a backslash followed by n is a line end.
        With `documents` records keep their line ends, and parts of up to 4,192 bytes
        take the place of lines. `max_sentences` and `max_characters` are the largest
        numbers of lines, training and held-out lines together, and of characters in the
        sample. `scan_bytes` is the number of bytes to read of the files as stored, spread
        evenly over them; of Parquet only the column of text counts, and at least one row
        group is read. By default, remote files are read as far as `max_sentences` needs,
        and local ones to their end. `filters` are conditions that a record must meet to
        be read. With `allow_empty` text may be missing: the sample is then empty, and its
        counts note it. `seed` is that of the random choice of lines, and `source` the
        name of the text.

    Raises
    ------
    VocapError
        For text that is missing, not in UTF-8, or without a usable line.
    UsageError
        For an unknown format.
    """
    own = Sampling.given(settings, **fields)
    paths = (train, heldout, stats)
    if any(paths) and not all(paths):
        raise UsageError("sample_corpus: give train, heldout and stats, or none of them")
    layout = own.layout
    chosen = record_filter(own.filters, language, layout)
    shards, texts = _texts_of(files, chosen)
    held = with_text(shards)
    corpus, missing = (
        ShardSample(held, layout, own.scan_bytes, own.max_sentences, own.seed, chosen),
        None,
    )
    try:
        check_present(language, shards)
        drawn = draw_sample(texts or corpus, own.max_sentences, own.seed, own.max_characters)
        if chosen:
            drawn.counts["filtered"] = chosen.dropped.total()
        warnings = check_dropped(held[0].path if held else SENTENCES, layout, drawn.counts)
        if not own.documents:  # which hold code
            warnings += markup_warnings(drawn.train)
    except VocapError as error:
        # text that cannot be used is no absence of text
        if not own.allow_empty or any(shard.size for shard in held):
            raise
        missing, warnings = f"source {own.source} has no text in {language}", []
        log.warning(
            "%s; give it another source under corpora, or leave it out (%s)", missing, error
        )
        corpus = ShardSample((), layout, None, own.max_sentences, own.seed)
        drawn = draw_sample(corpus, own.max_sentences, own.seed)
    counts = _summary_of(corpus, drawn, missing) | ({FLAG: True} if own.documents else {})
    if held and len(held) < len(shards):
        counts["empty_files"] = len(shards) - len(held)
    if chosen:
        counts["filtered"] = dict(sorted(chosen.dropped.items()))
    found = CorpusSample(drawn, {"language": language, "source": own.source, **counts})
    if train and heldout and stats:
        found.write(train, heldout, stats)
    _log_counts(found.stats, layout)
    warnings += _partial_warnings(corpus, found.stats, own.max_sentences, own.scan_bytes)
    for warning in warnings:
        log.warning("%s: %s", language, warning)
    return found


def _partial_warnings(
    corpus: ShardSample, stats: Mapping[str, Any], max_sentences: int, scan_bytes: int | None
) -> list[str]:
    """Warnings for text of which a part was read."""
    found = []
    if stats["n_interval"] is None:
        found.append("n is estimated from one place of the text; how well cannot be told")
    if scan_bytes is None and not corpus.complete and corpus.valid < max_sentences:
        found.append(
            f"the parts that were read hold {corpus.valid:,} lines, fewer than max_sentences; "
            "give scan_bytes to read more"
        )
    return found


def _summary_of(corpus: ShardSample, drawn: Sample, missing: str | None) -> dict[str, Any]:
    """The counts of stats.json; `missing`: why there is no text."""
    counts = {name: drawn.counts[name] for name in COUNTS}
    n, n_interval = corpus.estimate("valid", counts["valid"])
    n_bytes, n_bytes_interval = corpus.estimate("bytes", counts["bytes"])
    return {
        **counts,
        "complete": corpus.complete,
        "n": n,
        "n_interval": n_interval,
        "n_bytes": n_bytes,
        "n_bytes_interval": n_bytes_interval,
        "shards_read": len({part.shard for part in corpus.parts}),
        "shards": len(corpus.shards),
        "scanned_bytes": corpus.consumed,
        "total_bytes": corpus.total,
        "missing": missing,
    }


def _log_counts(stats: Mapping[str, Any], layout: Layout) -> None:
    """Say what was read and kept."""
    whole = f", about {stats['n']:,} in the whole"
    if layout.kind != "parquet":
        whole += " if files go on as they begin"
    log.info(
        "%s: %s lines read%s%s; %s kept: %s train, %s held out",
        stats["language"],
        f"{stats['read']:,}",
        f", {empty:,} empty files left out" if (empty := stats.get("empty_files")) else "",
        "" if stats["complete"] else whole,
        *(f"{stats[name]:,}" for name in ("kept", "train", "heldout")),
    )


def _texts_of(
    files: Text | Listing, chosen: RecordFilter | None = None
) -> tuple[Sequence[Shard], list[LineFile]]:
    """The files, or the file of those sentences that are chosen. A local path that is
    not there stays, for `check_present`.
    """
    if isinstance(files, Listing):
        return files.shards, []
    if isinstance(files, str) and is_remote(files):
        return list_shards([files]).shards, []
    if isinstance(files, str | Path):
        files = [Path(files)]
    entries: list[Any] = list(files)
    if entries and isinstance(entries[0], Path):
        return [local_shard(path) for path in expand_all(map(str, entries))], []
    return [], [SentenceFile(chosen.keep_texts(entries) if chosen else entries)]


def weigh_corpora(
    stats: Sequence[str | Path], *, by: str = "lines", languages_table: str | Path | None = None
) -> list[tuple[str, float, str]]:
    """Collect n of every language, the size that Equation 3 weighs it by.

    Parameters
    ----------
    stats
        The files stats.json of the samples.
    by
        Lines, bytes, or a numeric column of the table of languages.
    languages_table
        Instead of the usual one.

    Returns
    -------
    list of (language, n, source)
        In the order of the files; source as of `weigh_languages`.

    Raises
    ------
    VocapError
        For a file of anything else, a language given twice, or one without a number.
    """
    named = {} if by in ("lines", "bytes") else read_languages(languages_table)
    entries = [read_written(path, "sample") for path in stats]
    rows = weigh_languages(entries, by, named, str(languages_table or "the table of languages"))
    if warning := overlong_languages(entries):
        log.warning(warning)
    uncertain = [
        entry["language"]
        for entry in entries
        if np.ptp(entry.get("n_interval") or 0) > WIDE * entry["n"]
    ]
    found = {
        "no text, left out from here on: %s": [language for language, n, _ in rows if not n],
        "n is uncertain, its interval wider than a fifth of it: %s; raise scan_bytes, or weigh "
        "by a column of the table": uncertain,
        "n is of the part that was read, since the size of the whole is unknown: %s; weigh by a "
        "column of the table, or read all of it": [
            language for language, _, source in rows if source == "incomplete"
        ],
    }
    for warning, languages in found.items():
        if languages:
            log.warning(warning, " ".join(languages))
    return rows


def mix_corpora(
    weights: str | Path,
    corpora: str | Path,
    output: str | Path,
    **fields: object,
) -> np.ndarray:
    """Draw the multilingual sample: lines of every language in proportion to n^alpha,
    shuffled; returns the number of lines of each.

    Lines come from `corpora/{language}/train.txt`, and repeat where it has fewer than
    the language's share. `weights`: a table with the columns language and n. `fields`:
    those of `Mixing`. Raises VocapError for a missing file, and for documents.
    """
    own = Mixing.given(None, **fields)
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
        q = sampling_probabilities(list(sizes.values()), own.alpha)
    except ValueError as error:
        raise VocapError(f"{weights}: {error}") from None
    return write_mix(output, files, q, own.sentences, own.seed)
