"""Many tokenizers on one text: a summary, tables by language, and gates."""

import glob
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Union

from numpy.typing import NDArray

from vocap.errors import SettingError, UsageError, log
from vocap.files import io
from vocap.languages import DOMAINS, Language, read_languages
from vocap.result import Result
from vocap.section import ConfigSection
from vocap.tables.line_bits import BITS_FILE, LINE_TOKENS, write_lengths
from vocap.text_files import named_texts
from vocap.text_files.named_texts import ENGLISH
from vocap.text_files.text import Text, Texts, repeatable, text_name
from vocap.tokenizer_files import Cuts
from vocap.tokenizer_files.encoders import Encoder
from vocap.tokenizer_files.loading import AnyTokenizer, open_encoders
from vocap.tokenizer_files.splitting import Splitter
from vocap.tokenizers import bigram, evaluation
from vocap.tokenizers.gates import check_gates
from vocap.tokenizers.settings import EvaluationSettings
from vocap.unigram.usage import with_bytes

if TYPE_CHECKING:
    import pandas as pd

    from vocap.tokenizers.trained import TrainedTokenizer

# trained on train.txt, or on the text itself
BITS, FOLDED = "bigram_bits_per_byte", "ten_fold_bits_per_byte"
# names that all have
STOCK = (
    "sentencepiece.model",
    "tokenizer.model",
    "tokenizer.json",
    "huggingface",
    "tiktoken",
    "ranks.tiktoken",
)
SUMMARY = (
    "tokenizer",
    "total",
    "tokens_per_sentence",
    "ratio_to_english",
    "gini",
    "gini_per_byte",
    "worst",
    "worst_ratio",
    BITS,
    "round_trip",
    "unknown_bytes",
)
Tokenizer = Union[AnyTokenizer, "TrainedTokenizer"]
Row = dict[str, Any]
Table = tuple[Sequence[str], list[Sequence[Any]]]  # columns and rows


@dataclass(frozen=True)
class MeasuredTexts:
    """`lines`, `aligned`: language to its text; `table`: facts of languages.

    `corpora`: training text of the bigrams; `parallel`: the name of the aligned text.
    """

    lines: Mapping[str, Text]
    aligned: Mapping[str, Text]
    table: dict[str, Language]
    corpora: Texts | None
    parallel: str

    def columns(self, names: Sequence[str]) -> list[str]:
        """The columns of a table, with the name of the bits that it has."""
        return [FOLDED if name == BITS and self.corpora is None else name for name in names]

    def training_text(self, language: str) -> Text | None:
        """The training text of a language, if there is some."""
        if self.corpora is None or isinstance(self.corpora, Mapping):
            return (self.corpora or {}).get(language)
        path = Path(self.corpora) / language / "train.txt"
        return path if path.is_file() else None


@dataclass
class Measurement:
    """One tokenizer: the rows of its tables, `lengths` of lines for bits.npz; what it
    loses.
    """

    total: int
    rows: list[Row] = field(default_factory=list)
    parallel: list[Row] = field(default_factory=list)
    unknown: list[Sequence[Any]] = field(default_factory=list)
    round_trips: list[Sequence[Any]] = field(default_factory=list)
    lengths: dict[tuple[str, str], NDArray[Any]] = field(default_factory=dict)
    trips: evaluation.Differences = field(default_factory=evaluation.Differences)
    lost: Counter[str] = field(default_factory=Counter)

    def tables(self, texts: MeasuredTexts) -> dict[str, Table]:
        """The tables by language, by their names; parallel where there is parallel
        text.
        """
        found: dict[str, Table] = {
            "unknown": (evaluation.UNKNOWN_COLUMNS, self.unknown),
            "roundtrip": (evaluation.ROUND_TRIP_COLUMNS, self.round_trips),
        }
        if texts.aligned:
            found["parallel"] = _table(evaluation.PARALLEL_COLUMNS, self.parallel, texts)
        found["evaluation"] = _table(evaluation.COLUMNS, self.rows, texts)
        return found


def _table(names: Sequence[str], rows: Iterable[Row], texts: MeasuredTexts) -> Table:
    return texts.columns(names), list(map(itemgetter(*names), rows))


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """Tokenizers on one text.

    `measured`: name to what was measured; `rows`: those of the summary, with the gates
    that were checked.
    """

    texts: MeasuredTexts
    measured: dict[str, Measurement]
    rows: list[Row]

    @property
    def gates(self) -> dict[str, dict[str, str]]:
        """The result of each gate of each tokenizer; none that was not checked."""
        return {row["tokenizer"]: dict(list(row.items())[len(SUMMARY) :]) for row in self.rows}

    @cached_property
    def summary(self) -> "pd.DataFrame":
        """The table of `vocap evaluate`: a row a tokenizer."""
        from vocap.tables.frames import build_frame

        return build_frame(*_table(list(self.rows[0]), self.rows, self.texts))

    def tables(self, name: str) -> "dict[str, pd.DataFrame]":
        """The tables by language of one tokenizer: evaluation, parallel (of parallel
        text), unknown, roundtrip.
        """
        from vocap.tables.frames import build_frame

        if name not in self.measured:
            raise UsageError(f"no tokenizer {name!r}; measured are {', '.join(self.measured)}")
        found = self.measured[name].tables(self.texts)
        return {title: build_frame(*table) for title, table in found.items()}

    def write(self, path: str | Path) -> None:
        """Write the summary (TSV)."""
        io.write_tsv(path, *_table(list(self.rows[0]), self.rows, self.texts))

    def write_tables(self, folder: str | Path) -> None:
        """Write the tables by language, and bits.npz, to NAME/ in a folder."""
        for name, found in self.measured.items():
            write_lengths(Path(folder) / name / BITS_FILE, found.lengths)
            for title, table in found.tables(self.texts).items():
                io.write_tsv(Path(folder) / name / f"{title}.tsv", *table)


def evaluate(
    tokenizer: Tokenizer | Sequence[str] | Mapping[str, Tokenizer],
    *,
    split: Cuts = (),
    corpora: Texts | None = None,
    text: Mapping[str, Text] | None = None,
    languages: Sequence[str] | None = None,
    parallel: str | Mapping[str, Text] | None = None,
    output: str | Path | None = None,
    tables: str | Path | None = None,
    settings: ConfigSection | None = None,
    **fields: object,
) -> Evaluation:
    """Measure tokenizers on text.

    Tokens, the ratio to English, the Gini coefficient and the worst language are
    measured on the parallel text. Bits per byte and the round trip are measured on
    `text` and the held-out lines of `corpora`, or on the parallel text where neither is
    given. Counts of tokens count an unknown character as its bytes in UTF-8.

    Parameters
    ----------
    tokenizer
        Tokenizers by name, each a path or loaded. A single tokenizer is allowed too,
        and so are paths, which may be written NAME=PATH.
    split
        The name of the cut for tiktoken's ranks, which do not say how text is cut, or
        one name for each of several tokenizers.
    corpora
        Folder with {language}/train.txt and heldout.txt, or the training text of each
        language. For bits per byte a bigram is trained on the training text. Without it
        the bigram is trained on ten folds of each text, which must have 1,000 lines.
    text
        Text to measure on, by language.
    languages
        Codes of the languages to measure, by default all that have text.
    parallel
        Line-aligned text by language, or a pattern of its files with {lang}. An empty
        line means that there is no translation.
    output, tables
        File to write the summary to, and folder to write the tables by language to.
    settings, **fields
        `EvaluationSettings`, and its fields in the place of its own: languages_table,
        gates.

    Returns
    -------
    Evaluation

    Raises
    ------
    UsageError
        For names that cannot be names of folders, and where no text is given.
    VocapError
        For a tokenizer or a text that is missing or cannot be used.
    """
    own = EvaluationSettings.given(settings, **fields)
    # one language after another
    encoders = _encoders(tokenizer, split)
    texts = find_measured_texts(corpora, text, languages, own.languages_table, parallel)
    measured, rows = {}, []
    for name, encoder in encoders.items():
        splitter = Splitter(encoder)
        found = measured[name] = measure_tokenizer(splitter, texts)
        rows.append(summary_row(name, found))
        if own.gates:
            rows[-1] |= check_gates(splitter, found.trips, found.lost)
    for row in found.parallel:
        if not row["lines"]:
            why = " in common with English, so no ratio" if ENGLISH in texts.aligned else ""
            log.warning("%s: no line%s", _named(texts.aligned, row["language"]), why)
    # whole outputs, at the end
    result = Evaluation(texts, measured, rows)
    if tables is not None:
        result.write_tables(tables)
    if output is not None:
        result.write(output)
    return result


def _encoders(
    tokenizer: Tokenizer | Sequence[str] | Mapping[str, Tokenizer], split: Cuts
) -> dict[str, Encoder]:
    """The encoder of each tokenizer, by name."""
    named: Mapping[str, Tokenizer]
    if isinstance(tokenizer, Mapping):
        named = tokenizer
    elif isinstance(tokenizer, str | Path):
        named = name_tokenizers([str(tokenizer)])
    elif isinstance(tokenizer, list | tuple):
        named = name_tokenizers(tokenizer)
    else:
        named = {"tokenizer": tokenizer}
    return open_encoders({name: _content(one) for name, one in named.items()}, split)


def _content(tokenizer: Tokenizer) -> AnyTokenizer:
    """What `open_encoders` takes: of a trained tokenizer its model."""
    if isinstance(tokenizer, str | Path):
        return tokenizer
    # with the settings of tokenizers, which files do not need
    from vocap.tokenizers.trained import TrainedTokenizer, TrainedUnigram

    if isinstance(tokenizer, TrainedUnigram):
        return tokenizer.model
    return tokenizer.tokenizer if isinstance(tokenizer, TrainedTokenizer) else tokenizer


def _named(texts: Mapping[str, Text], language: str) -> str:
    """The name of a text in messages: its path, or the language of its sentences."""
    text = texts[language]
    return text_name(text) if isinstance(text, str | Path) else language


def name_tokenizers(given: Sequence[str]) -> dict[str, Path]:
    """Name to path of options written PATH or NAME=PATH. A path has the name of its
    folder, or its own.

    Raises UsageError for a name given twice, and one that is no folder's.

    >>> files = ["results/tokenizers/a/sentencepiece.model", "b=x.model", "hub/tokenizer.json"]
    >>> name_tokenizers(files)
    {'a': PosixPath('results/tokenizers/a/sentencepiece.model'), 'b':
    PosixPath('x.model'), \
'hub': PosixPath('hub/tokenizer.json')}
    """
    named: dict[str, Path] = {}
    for entry in given:
        name, equals, rest = entry.partition("=")
        path = Path(entry) if Path(entry).exists() or not equals else Path(rest)
        if str(path) == entry:
            parts = [part for part in path.absolute().parts if part not in STOCK]
            name = re.sub(r"\.(model|json|tiktoken)$", "", parts[-1])
        if not name or Path(name).name != name:
            raise SettingError(
                "tokenizer", f"{entry}: {name!r} is no name of a folder; write NAME=PATH"
            )
        if name in named:
            raise SettingError(
                "tokenizer", f"{entry}: {named[name]} is named {name} too; write NAME={path}"
            )
        named[name] = path
    return named


def find_measured_texts(
    corpora: Texts | None,
    text: Mapping[str, Text] | None,
    languages: Sequence[str] | None,
    table: str | Path | None,
    parallel: str | Mapping[str, Text] | None,
) -> MeasuredTexts:
    """The text to measure on. Raises UsageError and VocapError as `find_texts` and
    `find_aligned`.
    """
    if isinstance(corpora, Mapping):
        corpora = {code: repeatable(own) for code, own in corpora.items()}
    folder = Path(corpora) if isinstance(corpora, str | Path) else None
    given = text or {}
    lines: dict[str, Text] = {}
    aligned: dict[str, Text] = {}
    if folder is not None or given or not parallel:
        codes = languages
        if parallel and folder is None:
            codes = [code for code in languages or () if code in given] or languages
        found = named_texts.find_texts(given, folder, codes, ["heldout"])
        lines = {code: next(iter(parts.values())) for code, parts in found.items()}
    if isinstance(parallel, Mapping):
        wanted = languages or (list(lines) if folder is not None else list(parallel))
        aligned = {code: repeatable(parallel[code]) for code in wanted if code in parallel}
    elif parallel:
        wanted = list(lines) if languages or folder else aligned_languages(parallel)
        paths, without = named_texts.find_aligned(parallel, languages or wanted)
        aligned.update(paths)
        for code in without:
            log.warning("%s: no parallel text, left out", parallel.replace("{lang}", code))
    name = parallel if isinstance(parallel, str) else "given"
    return MeasuredTexts(lines or aligned, aligned, read_languages(table), corpora, name)


def aligned_languages(pattern: str) -> list[str]:
    """The languages of the files of a pattern that holds {lang}, sorted."""
    parts = pattern.split("{lang}")
    first, *rest = map(re.escape, parts)
    known = re.compile(rf"{first}([^/]+)" + r"\1".join(rest))
    found = map(known.fullmatch, glob.glob("*".join(map(glob.escape, parts))))
    return sorted({match[1] for match in found if match})


def measure_tokenizer(splitter: Splitter, texts: MeasuredTexts) -> Measurement:
    """Measure one tokenizer on every language. Raises VocapError for aligned files of
    different lengths.
    """
    encoder = splitter.encoder
    aligned: dict[str, evaluation.AlignedLines] = {}
    found, folds = Measurement(encoder.size), texts.corpora is None
    for code in dict.fromkeys([*texts.lines, *texts.aligned]):
        model = bigram.train_on(texts.training_text(code), encoder)
        if code in texts.lines:
            language = texts.table.get(code) or Language(code, code, "", "", {})
            blocks = named_texts.read_sentences(texts.lines[code])
            counted = evaluation.tally(splitter, blocks, model, folds)
            spaces = language.script not in evaluation.WITHOUT_SPACES
            row = {"language": code, "resource": language.resource}
            row |= evaluation.measure_counts(counted, splitter, spaces)
            found.rows.append(row | {"training_ids": model.used if model else None})
            ordered = sorted(
                counted.segments.unknown.items(), key=lambda entry: (-entry[1], entry[0])
            )
            found.unknown += [(code, *entry) for entry in ordered]
            domain = language.resource if language.resource in DOMAINS else evaluation.TEXT
            found.round_trips.append((code, domain, *counted.trips.cells(evaluation.LOSSES)))
            found.lengths["heldout", code] = counted.lengths
            found.lost.update(counted.segments.unknown)
            found.trips.update(counted.trips)
        if code in texts.aligned:
            aligned[code] = evaluation.code_aligned(encoder, texts.aligned[code], model, folds)
    # parallel text
    counts = {code: len(own.present) for code, own in aligned.items()}
    named_texts.check_aligned(counts, {code: _named(texts.aligned, code) for code in aligned})
    english = aligned.get(ENGLISH)
    for code, own in aligned.items():
        row, found.lengths["parallel", code] = evaluation.compare_with_english(own, english)
        found.lengths[LINE_TOKENS, code] = own.tokens
        found.parallel.append({"language": code, **row})
    return found


def summary_row(name: str, found: Measurement) -> Row:
    """The row of a tokenizer in the summary; None where the text gives no such measure.

    Tokens, ratio, Gini and worst language are of parallel text: ratios to English times
    the tokens of English; without English tokens a line, without parallel text those of
    the other. Tokens count each unknown character as its bytes, `unknown_bytes` in all
    of that text. Bits and round trip are of the text.
    """
    # of the text
    known = [row[BITS] for row in found.rows if row[BITS] is not None]
    row = dict.fromkeys(SUMMARY) | {
        "tokenizer": name,
        "total": found.total,
        BITS: fmean(known) if known else None,
    }
    row["round_trip"] = found.trips.cells(())[2]
    row["unknown_bytes"] = sum(one["unknown_bytes"] or 0 for one in found.parallel or found.rows)
    # tokens, and their ratios to English
    rows = {one["language"]: one for one in found.parallel if one["lines"]}
    paid = {
        code: with_bytes(one["tokens"], one["unknown_tokens"], one["unknown_bytes"])
        for code, one in rows.items()
    }
    costs = {
        code: one["ratio_with_bytes"]
        for code, one in rows.items()
        if one["ratio_with_bytes"] is not None
    }
    if costs:
        english = paid[ENGLISH] / rows[ENGLISH]["lines"]
        row["ratio_to_english"] = fmean(costs.values())
        row["tokens_per_sentence"] = row["ratio_to_english"] * english
    else:
        costs = {code: paid[code] / one["lines"] for code, one in rows.items()}
        lengths = [
            with_bytes(length, length * (one["unk_rate"] or 0), one["unknown_bytes"] / one["lines"])
            for one in found.rows
            if (length := one["tokens_per_sentence"]) is not None
        ]
        if given := costs.values() if found.parallel else lengths:
            row["tokens_per_sentence"] = fmean(given)
    # inequality
    if any(costs.values()):
        worst = row["worst"] = max(costs, key=costs.__getitem__)
        row["worst_ratio"] = costs[worst] if row["ratio_to_english"] else None
        row["gini"] = evaluation.gini(list(costs.values()))
        row["gini_per_byte"] = evaluation.gini(
            [paid[code] / one["bytes"] for code, one in rows.items()]
        )
    return row
