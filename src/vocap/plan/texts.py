"""How much text each language will have: from an earlier run, the files themselves, a table, or a guess."""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

from vocap.config import Settings
from vocap.corpora.records import Layout, TextFile
from vocap.corpora.sampling import heldout_count
from vocap.corpora.sources import Resolved, resolve_all
from vocap.languages import Language
from vocap.tsv import read_tsv

MB = 1_000_000
PROBE_BYTES = 1 << 20  # of a language's first file as stored: enough lines for a mean length, in milliseconds
COMPRESSED = (".xz", ".gz", ".bz2", ".zst")
STORED_SHARE = 0.27  # compressed over plain: CC-100's English, 82 GB of .xz for 300.8 GB of text
PARAGRAPH = 4  # lines of the web are so many times as long as a program's messages: a guess
UNKNOWN_GB = 1.0  # of a language of which the table says nothing
UNKNOWN_LINES = {"lines": 1, "bytes": 60, "characters": 40}

Basis = Literal["earlier run", "files", "starter table", "guess"]


@dataclass(frozen=True)
class Text:
    """The text of one language; megabytes are millions of bytes.

    `stored_mb` and `read_mb`: what of its files is read, as stored and as plain text; `lines`: how many lines the
    whole text has, read or not; `kept`: how many of them are sampled; `line_bytes`, `line_characters`: their mean
    length, line end included; `reach`: the largest vocabulary that the text is known to reach, None where nobody
    knows.
    """

    language: str
    source: str
    basis: Basis
    stored_mb: float
    read_mb: float
    lines: float
    kept: float
    line_bytes: float
    line_characters: float
    reach: int | None = None

    @property
    def heldout(self) -> float:
        return heldout_count(int(self.kept))

    @property
    def heldout_mb(self) -> float:
        return self.heldout * self.line_bytes / MB

    @property
    def train_mb(self) -> float:
        return (self.kept - self.heldout) * self.line_bytes / MB

    @property
    def train_mchars(self) -> float:
        """Millions of characters."""
        return (self.kept - self.heldout) * self.line_characters / MB


def absent_files(settings: Settings) -> dict[str, list[str]]:
    """The files that are not there, by language, also those of pre-training; empty where all are."""
    further = settings.pretraining_sources()
    absent = {}
    for code, source in resolve_all(settings.corpora, settings.selected()).items():
        if missing := source.absent + (further[code].absent if further else []):
            absent[code] = list(dict.fromkeys(missing))
    return absent


def estimate_texts(settings: Settings, results: Path | None = None) -> dict[str, Text]:
    """The text of every language that a run would have, in the order of the configuration.

    A language whose files are absent is left out, as the workflow's dry run leaves it out. With `results`, the
    folder of an earlier run, what that run counted comes first. Raises UsageError as `resolve_all` does.
    """
    languages = {language.code: language for language in settings.selected()}
    starter = read_starter()
    texts = {}
    absent = absent_files(settings)
    for code, source in resolve_all(settings.corpora, languages.values()).items():
        if code not in absent:
            text = _estimate(settings, languages[code], source, starter)
            texts[code] = (_counted(settings, text, results) if results else None) or text
    return texts


def estimate_pretraining_texts(settings: Settings, languages: Iterable[str]) -> dict[str, Text]:
    """The text that models read, all of it: `read_mb`."""
    unlimited = {"max_sentences": sys.maxsize, "max_characters": None, "scan_bytes": None}
    whole = settings.model_copy(update={"corpora": settings.corpora.model_copy(update=unlimited)})
    table, starter = {language.code: language for language in settings.selected()}, read_starter()
    sources = settings.pretraining_sources() or resolve_all(settings.corpora, table.values())
    return {lang: _estimate(whole, table[lang], sources[lang], starter) for lang in languages if lang in sources}


def _estimate(settings: Settings, language: Language, source: Resolved, starter: Mapping[str, dict]) -> Text:
    if source.starter:
        return _of_starter(settings, language.code, starter.get(language.code))
    if source.url:
        return _of_download(settings, language, source, starter.get(language.code))
    return _of_files(settings, source)


def read_starter() -> dict[str, dict[str, int]]:
    """The table of the starter corpus: language to its counts, and the lines of each package."""
    columns = ("language", "lines", "bytes", "characters", "reach")
    rows = read_tsv(str(resources.files("vocap.plan") / "starter.tsv"), columns)
    return {row.pop("language"): {name: int(cell) for name, cell in row.items()} for row in rows}


def _of_starter(settings: Settings, code: str, row: Mapping[str, int] | None) -> Text:
    """Lines of the chosen packages; equal lines of two packages count twice, up to what all six give together."""
    packages = settings.corpora.starter.packages
    row = row or {"lines": 0, "bytes": 0, "characters": 0, "reach": 0}
    lines = min(row["lines"], sum(row.get(package, 0) for package in packages))
    line_bytes, line_characters = (row[unit] / max(row["lines"], 1) for unit in ("bytes", "characters"))
    kept = _kept(settings, lines, line_characters)
    return Text(
        code,
        settings.corpora.languages.get(code, settings.corpora.source),
        "starter table",
        stored_mb=lines * line_bytes / MB,
        read_mb=lines * line_bytes / MB,
        lines=lines,
        kept=kept,
        line_bytes=line_bytes,
        line_characters=line_characters,
        reach=row["reach"] if kept == row["lines"] else None,
    )


def _kept(settings: Settings, lines: float, line_characters: float) -> float:
    """How many of so many lines are sampled."""
    limit = settings.corpora.max_characters
    fitting = lines if limit is None else limit / max(line_characters, 1)
    return min(lines, settings.corpora.max_sentences, fitting)


def _of_files(settings: Settings, source: Resolved) -> Text:
    """Files' sizes, and what the beginning of the first says of its lines and of its compression."""
    layout = Layout.parse(source.source.format, source.source.split_sentences, source.source.escaped_newlines)
    files = source.files()
    total = sum(os.path.getsize(path) for path in files)
    probe = TextFile(files[0], layout, PROBE_BYTES)
    lines = plain = characters = 0
    for block in probe:
        lines += block.count(b"\n")
        plain += len(block)
        characters += len(block.decode(errors="replace"))
    growth = plain / max(probe.consumed, 1)
    means = plain / max(lines, 1), characters / max(lines, 1)
    return _from_volume(settings, source, "files", total / MB, growth, *means)


def _of_download(settings: Settings, language: Language, source: Resolved, row: Mapping[str, int] | None) -> Text:
    """The table of languages says how much text the paper's corpora hold; no server is asked."""
    column = "paper_wikipedia_gb" if "wiki" in source.url else "paper_cc_gb"
    try:
        gigabytes = float(language.facts[column])
    except (KeyError, ValueError):
        gigabytes = UNKNOWN_GB
    share = STORED_SHARE if source.url.endswith(COMPRESSED) else 1.0
    row = row if row and row["lines"] else UNKNOWN_LINES
    means = (PARAGRAPH * row[unit] / row["lines"] for unit in ("bytes", "characters"))
    return _from_volume(settings, source, "guess", gigabytes * 1000 * share, 1 / share, *means)


def _from_volume(
    settings: Settings,
    source: Resolved,
    basis: Basis,
    stored_mb: float,
    growth: float,
    line_bytes: float,
    line_characters: float,
) -> Text:
    """`growth`: plain bytes of text for a stored byte."""
    limit = settings.corpora.scan_bytes
    scanned = stored_mb if limit is None else min(stored_mb, limit / MB)
    lines = stored_mb * growth * MB / max(line_bytes, 1)
    valid = scanned * growth * MB / max(line_bytes, 1)
    return Text(
        source.language,
        source.name,
        basis,
        stored_mb=scanned,
        read_mb=scanned * growth,
        lines=lines,
        kept=_kept(settings, valid, line_characters),
        line_bytes=line_bytes,
        line_characters=line_characters,
    )


def _counted(settings: Settings, guess: Text, results: Path) -> Text | None:
    """What `stats.json` of an earlier run counted, if it read this source and kept as much as is asked for."""
    try:
        stats = json.loads((results / "corpora" / guess.language / "stats.json").read_text("utf-8"))
        if stats["source"] != guess.source or not stats["read"]:
            return None
        line_bytes = stats["bytes"] / stats["read"]
        line_characters = line_bytes * guess.line_characters / max(guess.line_bytes, 1)
        kept = _kept(settings, stats["n"], line_characters)
        if not stats["complete"] and stats["kept"] < kept:
            return None  # it read less than is asked for
        return Text(
            guess.language,
            guess.source,
            "earlier run",
            stored_mb=stats["scanned_bytes"] / MB,
            read_mb=stats["bytes"] / MB,
            lines=stats["n"],
            kept=kept,
            line_bytes=line_bytes,
            line_characters=line_characters,
            reach=guess.reach if kept == guess.kept else None,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None  # none yet, or of another version


def bases(texts: Iterable[Text]) -> dict[str, int]:
    """How many languages' numbers rest on what."""
    counts: dict[str, int] = {}
    for text in texts:
        counts[text.basis] = counts.get(text.basis, 0) + 1
    return counts
