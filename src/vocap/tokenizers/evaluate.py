"""Many tokenizers on one text: a summary, tables by language, and gates."""

import glob
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import NDArray

from vocap.errors import SettingError, UsageError, log
from vocap.files import io
from vocap.languages import DOMAINS, Language, read_languages
from vocap.result import Result
from vocap.section import ConfigSection
from vocap.tables.line_bits import BITS_FILE, GAP, LINE_TOKENS, write_lengths
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
from vocap.unigram.usage import RoundTrips, Sums, cell, cells

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
Tokenizer = Union[AnyTokenizer, "TrainedTokenizer"]
Row = dict[str, Any]
Table = tuple[Sequence[str], list[Sequence[Any]]]  # columns and rows
TABLES = {
    "unknown": evaluation.UNKNOWN_COLUMNS,
    "roundtrip": evaluation.ROUND_TRIP_COLUMNS,
    "parallel": evaluation.PARALLEL_COLUMNS,
    "evaluation": evaluation.COLUMNS,
}


@dataclass(frozen=True)
class MeasuredTexts:
    """`lines`, `aligned`: language to its text; `table`: facts of languages.

    `corpora`: training text of the bigrams; `parallel`: the name of the aligned text.
    """

    lines: Mapping[str, Text]
    aligned: Mapping[str, Text]
    table: dict[str, Language]
    corpora: Mapping[str, Text] | None
    parallel: str

    def columns(self, names: Sequence[str]) -> list[str]:
        """The columns of a table, with the name of the bits that it has."""
        return [FOLDED if name == BITS and self.corpora is None else name for name in names]


@dataclass
class Measurement:
    """One tokenizer: the `rows` of each of `TABLES`; by language the `sums` of the text
    and of the parallel text, and `lengths` of lines for bits.npz; what it loses.
    """

    total: int
    rows: dict[str, list[Sequence[Any]]] = field(
        default_factory=lambda: {one: [] for one in TABLES}
    )
    sums: dict[str, Sums] = field(default_factory=dict)
    parallel: dict[str, Sums] = field(default_factory=dict)
    lengths: dict[tuple[str, str], NDArray[Any]] = field(default_factory=dict)
    trips: RoundTrips = field(default_factory=RoundTrips)
    lost: Counter[str] = field(default_factory=Counter)
    gates: dict[str, str] = field(default_factory=dict)

    def tables(self, texts: MeasuredTexts) -> dict[str, Table]:
        """The tables by language, by their names; parallel where there is parallel
        text.
        """
        return {
            name: (texts.columns(TABLES[name]), rows)
            for name, rows in self.rows.items()
            if texts.aligned or name != "parallel"
        }


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """Tokenizers on one text.

    `measured`: name to what was measured; `rows`: those of the summary, with the gates
    that were checked.
    """

    texts: MeasuredTexts
    measured: dict[str, Measurement]

    @cached_property
    def rows(self) -> list[Row]:
        return [summary_row(name, found) | found.gates for name, found in self.measured.items()]

    @property
    def gates(self) -> dict[str, dict[str, str]]:
        """The result of each gate of each tokenizer; none that was not checked."""
        return {name: found.gates for name, found in self.measured.items()}

    @property
    def _table(self) -> Table:
        columns = self.texts.columns(list(self.rows[0]))
        return columns, [tuple(row.values()) for row in self.rows]

    @cached_property
    def summary(self) -> "pd.DataFrame":
        """The table of `vocap evaluate`: a row a tokenizer."""
        from vocap.tables.frames import build_frame

        return build_frame(*self._table)

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
        io.write_tsv(path, *self._table)

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
    measured = {}
    for name, encoder in encoders.items():
        splitter = Splitter(encoder)
        found = measured[name] = measure_tokenizer(splitter, texts)
        if own.gates:
            found.gates = check_gates(splitter, found.trips, found.lost)
    for code, sums in found.parallel.items():
        if not sums["lines"]:
            why = " in common with English, so no ratio" if ENGLISH in texts.aligned else ""
            log.warning("%s: no line%s", _named(texts.aligned, code), why)
    # whole outputs, at the end
    result = Evaluation(texts, measured)
    if tables is not None:
        result.write_tables(tables)
    if output is not None:
        result.write(output)
    return result


def _encoders(
    tokenizer: Tokenizer | Sequence[str] | Mapping[str, Tokenizer], split: Cuts
) -> dict[str, Encoder]:
    """The encoder of each tokenizer, by name."""
    named: Mapping[str, Tokenizer] = {}
    if isinstance(tokenizer, str | Path):
        tokenizer = [str(tokenizer)]
    if isinstance(tokenizer, list | tuple):
        named = name_tokenizers(tokenizer)
    else:
        named = tokenizer if isinstance(tokenizer, Mapping) else {"tokenizer": tokenizer}
    return open_encoders(
        {name: getattr(one, "measured", one) for name, one in named.items()}, split
    )


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
    folder = Path(corpora) if isinstance(corpora, str | Path) else None
    given, lines = text or {}, dict[str, Text]()
    if folder or given or not parallel:
        codes = languages
        if parallel and not folder:
            codes = [code for code in languages or () if code in given] or languages
        found = named_texts.find_texts(given, folder, codes, ["heldout"])
        lines = {code: next(iter(parts.values())) for code, parts in found.items()}
    wanted = languages or (list(lines) if folder else None)
    name, files = "given", dict[str, Text]()
    if isinstance(parallel, str):
        name = parallel
        paths, without = named_texts.find_aligned(parallel, wanted or aligned_languages(parallel))
        for code in without:
            log.warning("%s: no parallel text, left out", parallel.replace("{lang}", code))
        files.update(paths)
    else:
        files.update(parallel or {})
    aligned = {code: repeatable(files[code]) for code in wanted or files if code in files}
    training: dict[str, Text] | None = None
    if folder:
        paths = {code: folder / code / "train.txt" for code in lines | aligned}
        training = {code: path for code, path in paths.items() if path.is_file()}
    elif isinstance(corpora, Mapping):
        training = {code: repeatable(own) for code, own in corpora.items()}
    return MeasuredTexts(lines or aligned, aligned, read_languages(table), training, name)


def aligned_languages(pattern: str) -> list[str]:
    """The languages of the files of a pattern that holds {lang}, sorted."""
    paths = glob.glob(glob.escape(pattern).replace("{lang}", "*"))
    first, *rest = re.escape(pattern).split(re.escape("{lang}"))
    known = re.compile(rf"{first}([^/]+)" + r"\1".join(rest))
    return sorted({match[1] for match in map(known.fullmatch, paths) if match})


def measure_tokenizer(splitter: Splitter, texts: MeasuredTexts) -> Measurement:
    """Measure one tokenizer on every language. Raises VocapError for aligned files of
    different lengths.
    """
    encoder = splitter.encoder
    aligned = {}
    found, folds = Measurement(encoder.size), texts.corpora is None
    for code in dict.fromkeys([*texts.lines, *texts.aligned]):
        model = bigram.train_on((texts.corpora or {}).get(code), encoder)
        if code in texts.lines:
            own = evaluation.Tally(splitter)
            evaluation.add_lines(own, named_texts.read_sentences(texts.lines[code]), model, folds)
            language = texts.table.get(code) or Language(code, code, "", "", {})
            _add_text(found, own, language, None if model is None else model.used)
        if code in texts.aligned:
            aligned[code] = evaluation.encode_aligned(encoder, texts.aligned[code], model, folds)
    # parallel text
    counts = {code: len(lines) for code, lines in aligned.items()}
    named_texts.check_aligned(counts, {code: _named(texts.aligned, code) for code in aligned})
    for code, lines in aligned.items():
        sums, lengths = evaluation.compare_with_english(lines, aligned.get(ENGLISH))
        found.parallel[code], found.lengths["parallel", code] = sums, lengths
        found.lengths[LINE_TOKENS, code] = np.where(lines["bytes"] > 0, lines["paid"], GAP)
        found.rows["parallel"].append((code, *cells(evaluation.PARALLEL, sums).values()))
    return found


def _add_text(
    found: Measurement, own: evaluation.Tally, language: Language, training_ids: int | None
) -> None:
    """Add the rows of a language's text; `training_ids`: distinct ids of the bigram's text."""
    code, group, sums = language.code, language.resource, own.sums
    if language.script in evaluation.WITHOUT_SPACES:
        sums["words"] = 0
    if not sums["lines"]:  # no measures
        sums = dict.fromkeys(("lines", "identical"), 0)
    sums["training_ids"] = training_ids
    found.sums[code], found.lengths["heldout", code] = sums, evaluation.lengths_of(own.table)
    found.lost.update(own.unknown)
    found.trips.update(own.trips)
    found.rows["evaluation"].append((code, group, *cells(evaluation.MEASURES, sums).values()))
    most = sorted(own.unknown.items(), key=lambda entry: (-entry[1], entry[0]))
    found.rows["unknown"] += [(code, *entry) for entry in most]
    trips = cells(evaluation.TRIPS, sums).values()
    domain = group if group in DOMAINS else evaluation.TEXT
    found.rows["roundtrip"].append((code, domain, *trips, evaluation.show_losses(own.trips)))


def summary_row(name: str, found: Measurement) -> Row:
    """The row of a tokenizer in the summary; None where the text gives no such measure.

    Tokens, ratio, Gini and worst language are of parallel text: ratios to English times
    the tokens of English; without English tokens a line, without parallel text those of
    the other. Tokens count each unknown character as its bytes, `unknown_bytes` in all
    of that text. Bits and round trip are of the text.
    """
    paid = found.parallel or found.sums
    # tokens, and their ratios to English
    pairs = {code: sums for code, sums in found.parallel.items() if sums["lines"]}
    tokens = ratio = _mean(costs := _ratios(pairs, "paid / english_paid"))
    if ratio is not None:
        tokens = ratio * cell(pairs[ENGLISH], "paid / lines")
    else:
        costs = _ratios(pairs, "paid / lines")
        tokens = _mean(costs if found.parallel else _ratios(found.sums, "paid / lines"))
    worst = max(costs, key=costs.__getitem__) if any(costs.values()) else None
    by_byte = _ratios(pairs, "paid / bytes")
    return {
        "tokenizer": name,
        "total": found.total,
        "tokens_per_sentence": tokens,
        "ratio_to_english": ratio,
        "gini": worst and evaluation.gini(costs.values()),
        "gini_per_byte": worst and evaluation.gini(by_byte.values()),
        "worst": worst,
        "worst_ratio": costs[worst] if worst and ratio else None,
        BITS: _mean(_ratios(found.sums, "bits / bytes")),
        "round_trip": cell(found.trips.sums, "identical / lines"),
        "unknown_bytes": sum(sums.get("unknown_bytes", 0) for sums in paid.values()),
    }


def _ratios(texts: Mapping[str, Sums], formula: str) -> dict[str, float]:
    """The ratio of two sums of each text that has it."""
    found = {code: cell(sums, formula) for code, sums in texts.items()}
    return {code: value for code, value in found.items() if value is not None}


def _mean(values: Mapping[str, float]) -> float | None:
    return fmean(values.values()) if values else None
