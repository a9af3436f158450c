"""The expected amount of text of each language: from an earlier run, the files
themselves, a table, or a guess.
"""

import json
import statistics
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vocap.allocation.inputs import uneven_lengths
from vocap.config import Settings
from vocap.corpora.sampling import heldout_count
from vocap.corpora.settings import resolve_all
from vocap.corpora.sources import MB, PROBE_BYTES, Basis, Resolved, Volume
from vocap.errors import VocapError
from vocap.languages import Language
from vocap.storage.listing import Listing
from vocap.tables.sampling_probabilities import sampling_probabilities
from vocap.text_files.records import TextFile
from vocap.tokenizers.settings import BytePair, Joint
from vocap.unigram.training_text import required_in_sample

# ids of byte-pair encoding by unigram pieces of the same text: 2.1 of English to 3.1 of Japanese
BPE_REACH = 3
# The largest vocabulary that a text gives: scale x amount ^ power of its megabytes, and of
# the bytes of its distinct words under bzip2 (`word_growth`). Fitted on the least N of
# SentencePiece's "too large" of 101 texts: 86 of the starter corpus, 15 of 0.5 to 8 MB.
REACH, WORD_REACH = (10_850.0, 0.7228), (0.785, 0.855)
NEEDED_SHARE = (
    1.5  # of the bytes of max_sentences lines: what is read of remote text without a limit
)


@dataclass(frozen=True)
class LanguageText:
    """The text of one language; megabytes are millions of bytes.

    `whole_mb`: its files, as stored; `stored_mb` and `read_mb`: the part of them that is
    read, as stored and as plain text; `remote`: on other machines; `lines`: number of
    lines of the whole text, read or not; `kept`: number of sampled lines; `line_bytes`,
    `line_characters`: their mean length, line end included; `reach`: the largest
    vocabulary that the text can give, `words`: its `word_growth`, both None if
    unknown.
    """

    language: str
    source: str
    basis: Basis
    remote: bool
    whole_mb: float
    stored_mb: float
    read_mb: float
    lines: float
    kept: float
    line_bytes: float
    line_characters: float
    reach: int | None
    words: tuple[float, float] | None

    @property
    def heldout(self) -> float:
        return heldout_count(int(self.kept))

    @property
    def heldout_mb(self) -> float:
        return self.heldout * self.line_bytes / MB

    @property
    def kept_mb(self) -> float:
        return self.kept * self.line_bytes / MB

    @property
    def train_mb(self) -> float:
        return (self.kept - self.heldout) * self.line_bytes / MB


def check_totals(settings: Settings, texts: Mapping[str, LanguageText]) -> None:
    """Raise VocapError, as a run does, where T holds fewer pieces than characters that
    must be pieces.

    Only of files that are there: characters are counted at their beginning, so that a
    run may find some more.
    """
    sources = resolve_all(settings.corpora, settings.selected())
    if any(found.remote or found.source.folder for found in sources.values()):
        return
    # characters per line
    per_line = {}
    for code, found in sources.items():
        blocks = TextFile(found.files()[0], found.source.layout, PROBE_BYTES)
        text = "".join(block.decode(errors="replace") for block in blocks)
        if settings.text.settings.normalization in ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"):
            text = unicodedata.normalize("NFKC", text)
        counts, lines = Counter(text), max(1, text.count("\n"))
        per_line[code] = {one: count / lines for one, count in counts.items() if not one.isspace()}
    for name, entry in _entries(settings).items():
        if isinstance(entry, BytePair):
            continue
        taking = [code for code in texts if code not in getattr(entry, "without", ())]
        # what T leaves for pieces
        capacity = getattr(entry, "capacity", entry.total - settings.layout.rows)
        q = sampling_probabilities([texts[code].lines for code in taking], entry.alpha)
        sampled = [per_line[code] for code in taking]
        coverage = settings.vocabularies.coverage
        required = len(required_in_sample(sampled, q.tolist(), coverage))
        if required > capacity:
            raise VocapError(
                f"{name}: a total of {entry.total:,} holds {capacity:,} pieces, but {required:,} "
                "characters at the beginning of the texts must be pieces; raise total, or leave "
                "out languages"
            )


def _entries(settings: Settings) -> dict[str, Any]:
    """Allocations, JOINT and byte-pair encoding, by their keys: those with a T."""
    found: dict[str, Any] = {f"allocation.{name}": one for name, one in settings.allocation.items()}
    return found | {
        f"tokenizers.{name}": one
        for name, one in settings.tokenizers.items()
        if isinstance(one, Joint | BytePair)
    }


def warn_of_lines(settings: Settings, texts: Mapping[str, LanguageText]) -> list[str]:
    """The warning of an allocation on lines of uneven length, where the texts have been
    looked at.

    Before there are models, the lesser of the distances in bytes and in characters from
    the median language counts: scripts differ in one or the other for the same
    sentence.
    """
    entries = [*settings.allocation.values(), *settings.tokenizers.values()]
    per_line = any(getattr(entry, "per", "character") != "character" for entry in entries)
    if not per_line or any(text.basis not in ("files", "earlier run") for text in texts.values()):
        return []
    lengths = {
        code: (text.line_bytes, text.line_characters)
        for code, text in texts.items()
        if text.line_bytes
    }
    if not lengths:
        return []
    middle = [statistics.median(one) for one in zip(*lengths.values(), strict=True)]
    distances = {
        code: sorted([1.0, one / middle[0], two / middle[1]])[1]
        for code, (one, two) in lengths.items()
    }
    return uneven_lengths(distances, "length")


def warn_of_totals(settings: Settings, reach: Mapping[str, float]) -> list[str]:
    """Warnings of every T above the sum of the languages' largest vocabularies, `reach`; of
    byte-pair encoding, which takes rarer pieces too, above `BPE_REACH` times that sum.
    """
    pieces = sum(reach.values())
    entries = _entries(settings)
    most = {
        name: BPE_REACH * pieces if isinstance(entry, BytePair) else pieces
        for name, entry in entries.items()
    }
    return [
        f"{name}: T = {entry.total:,} is above the pieces that the text gives, about "
        f"{most[name]:,.0f}; bring more text, or lower total"
        for name, entry in entries.items()
        if entry.total > most[name]
    ]


def reach_of(texts: Mapping[str, LanguageText]) -> dict[str, float]:
    """The largest vocabulary of each language, in pieces: known, or by a power law of
    its words where they were looked at, else of its megabytes.
    """
    reach: dict[str, float] = {}
    for lang, text in texts.items():
        (scale, power), amount = REACH, text.train_mb
        if text.words is not None:
            of_one_mb, growth = text.words
            (scale, power), amount = WORD_REACH, of_one_mb * text.train_mb**growth
        reach[lang] = scale * amount**power if text.reach is None else text.reach
    return reach


def estimate_texts(
    settings: Settings, results: Path | None = None, volumes: Mapping[str, Volume] | None = None
) -> dict[str, LanguageText]:
    """The text of every language of a run, in the order of the configuration.

    With `results`, the folder of an earlier run, its counts take precedence; `volumes`:
    amounts that are known, by language. Raises UsageError as `resolve_all`.
    """
    languages = {language.code: language for language in settings.selected()}
    texts = {}
    for code, source in resolve_all(settings.corpora, languages.values()).items():
        known = (volumes or {}).get(code)
        text = _estimate(settings, languages[code], source, "corpora", known)
        texts[code] = (_counted(settings, text, results) if results else None) or text
    return texts


def estimate_pretraining_texts(
    settings: Settings, languages: Iterable[str]
) -> dict[str, LanguageText]:
    """The text that models read, all of it: `read_mb`."""
    unlimited = {"max_sentences": sys.maxsize, "max_characters": None, "scan_bytes": None}
    whole = settings.model_copy(update={"corpora": settings.corpora.model_copy(update=unlimited)})
    table = {language.code: language for language in settings.selected()}
    own = settings.pretraining_sources()
    sources = own or resolve_all(settings.corpora, table.values())
    stage = "pretraining" if own else "corpora"
    return {
        lang: _estimate(whole, table[lang], sources[lang], stage)
        for lang in languages
        if lang in sources
    }


def _estimate(
    settings: Settings,
    language: Language,
    found: Resolved,
    stage: str,
    known: Volume | None = None,
) -> LanguageText:
    """From the amount of text, by the limits of the sample."""
    volume = known or found.source.volume(found, language, settings.corpora.starter.packages)
    listing = Path(found.listing(settings.results, stage))
    if not known and found.remote and listing.exists():
        stored_mb = Listing.read(listing).total / MB
        lines = volume.lines * stored_mb / volume.stored_mb
        volume = replace(volume, basis="listing", stored_mb=stored_mb, lines=lines)
    limit = settings.corpora.scan_bytes
    if limit is None and found.remote:
        needed = settings.corpora.max_sentences * volume.line_bytes / volume.growth
        limit = round(NEEDED_SHARE * needed)
    scanned = volume.stored_mb if limit is None else min(volume.stored_mb, limit / MB)
    valid = volume.lines * (scanned / volume.stored_mb) if volume.stored_mb else 0
    kept = _kept(settings, valid, volume.line_characters)
    return LanguageText(
        language=language.code,
        source=found.name,
        basis=volume.basis,
        remote=found.remote,
        whole_mb=volume.stored_mb,
        stored_mb=scanned,
        read_mb=scanned * volume.growth,
        lines=volume.lines,
        kept=kept,
        line_bytes=volume.line_bytes,
        line_characters=volume.line_characters,
        reach=volume.reach if kept == volume.lines else None,
        words=volume.words,
    )


def _kept(settings: Settings, lines: float, line_characters: float) -> float:
    """The number of sampled lines of so many."""
    limit = settings.corpora.max_characters
    fitting = lines if limit is None else limit / max(line_characters, 1)
    return min(lines, settings.corpora.max_sentences, fitting)


def _counted(settings: Settings, guess: LanguageText, results: Path) -> LanguageText | None:
    """The counts in `stats.json` of an earlier run, if it read this source and kept
    enough lines.
    """
    path = results / "corpora" / guess.language / "stats.json"
    try:
        stats = json.loads(path.read_bytes())
        line_bytes = stats["bytes"] / stats["read"]
        line_characters = line_bytes * guess.line_characters / max(guess.line_bytes, 1)
        kept = _kept(settings, stats["n"], line_characters)
        sampled = stats["kept"] + stats.get("duplicates", 0) + stats.get("left_out", 0)
        if stats["source"] != guess.source or (not stats["complete"] and sampled < kept):
            return None  # it read another text, or less than this configuration reads
        return replace(
            guess,
            basis="earlier run",
            stored_mb=stats["scanned_bytes"] / MB,
            read_mb=stats["bytes"] / MB,
            lines=stats["n"],
            kept=kept,
            line_bytes=line_bytes,
            line_characters=line_characters,
            reach=guess.reach if kept == guess.kept else None,
        )
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
        return None  # none yet, or of another version
