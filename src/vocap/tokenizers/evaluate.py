"""`vocap evaluate`: many tokenizers on one text, and gates; `vocap parity`: both forms
of one, line by line.
"""

import glob
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import click
import numpy as np

from vocap import options
from vocap.errors import UsageError, VocapError, log
from vocap.files import io
from vocap.languages import DOMAINS, Language, read_languages
from vocap.progress import Steps
from vocap.tables.line_bits import BITS_FILE, write_lengths
from vocap.text_files import named_texts
from vocap.text_files.records import read_blocks
from vocap.tokenizer_files.encoders import (
    HuggingFaceEncoder,
    Splitter,
    load_encoders,
    parse_encoder,
)
from vocap.tokenizer_files.model_file import CONTROL, build_processor, read_model
from vocap.tokenizers import bigram, evaluation
from vocap.tokenizers.gates import check_gates

if TYPE_CHECKING:
    from sentencepiece.sentencepiece_model_pb2 import ModelProto

PATH = click.Path(path_type=Path)
WHITE = str.maketrans({"\t": r"\t", "\n": r"\n", "\r": r"\r"})  # in a cell on the terminal
# trained on train.txt, or on the text itself
BITS, FOLDED = "bigram_bits_per_byte", "ten_fold_bits_per_byte"
# names that all have
STOCK = (
    "sentencepiece.model",
    "tokenizer.model",
    "tokenizer.json",
    "huggingface",
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
PARITY_COLUMNS = ("language", "lines", "identical", "share", "example")
PARITY_KINDS = ("normaliser", "special token", "unknown", "tie", "score")
LEAST_SHARE = 0.999  # of the lines of every language
# lines in all; or lines of each language, of so many languages
SAMPLE, OF_MANY, MANY = 10_000, 1_000, 10
_ROUNDING = 0.01  # nats: the largest error of float32 sums of a long line
_SHOWN = 8  # pieces of an example on each side
_LINE = 60  # characters of its line


@dataclass(frozen=True)
class Texts:
    """`lines`, `aligned`: language to its file; `table`: facts of languages; `corpora`:
    {language}/train.txt.
    """

    lines: dict[str, Path]
    aligned: dict[str, Path]
    table: dict[str, Language]
    corpora: Path | None

    def columns(self, names: Sequence[str]) -> list[str]:
        """The columns of a table, with the name of the bits that it has."""
        return [FOLDED if name == BITS and self.corpora is None else name for name in names]


@dataclass
class Measured:
    """One tokenizer: the rows of its tables, `lengths` of lines for bits.npz; what it
    loses.
    """

    total: int
    rows: list[dict] = field(default_factory=list)
    parallel: list[dict] = field(default_factory=list)
    unknown: list[tuple] = field(default_factory=list)
    round_trips: list[tuple] = field(default_factory=list)
    lengths: dict[tuple[str, str], np.ndarray] = field(default_factory=dict)
    trips: evaluation.Differences = field(default_factory=evaluation.Differences)
    lost: Counter[str] = field(default_factory=Counter)

    def write(self, folder: Path, texts: Texts) -> None:
        """Write the tables by language into `folder`, parallel.tsv where there is
        parallel text.
        """
        rows = map(itemgetter(*evaluation.COLUMNS), self.rows)
        io.write_tsv(folder / "unknown.tsv", evaluation.UNKNOWN_COLUMNS, self.unknown)
        io.write_tsv(folder / "roundtrip.tsv", evaluation.ROUND_TRIP_COLUMNS, self.round_trips)
        write_lengths(folder / BITS_FILE, self.lengths)
        if texts.aligned:
            columns = evaluation.PARALLEL_COLUMNS
            aligned = map(itemgetter(*columns), self.parallel)
            io.write_tsv(folder / "parallel.tsv", texts.columns(columns), aligned)
        io.write_tsv(folder / "evaluation.tsv", texts.columns(evaluation.COLUMNS), rows)


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
            raise UsageError(
                f"--tokenizer {entry}: {name!r} is no name of a folder; write NAME=PATH"
            )
        if name in named:
            raise UsageError(
                f"--tokenizer {entry}: {named[name]} is named {name} too; write NAME={path}"
            )
        named[name] = path
    return named


def aligned_languages(pattern: str) -> list[str]:
    """The languages of the files of a pattern that holds {lang}, sorted."""
    parts = pattern.split("{lang}")
    first, *rest = map(re.escape, parts)
    known = re.compile(rf"{first}([^/]+)" + r"\1".join(rest))
    found = map(known.fullmatch, glob.glob("*".join(map(glob.escape, parts))))
    return sorted({match[1] for match in found if match})


def find(
    corpora: Path | None,
    texts: Sequence[str],
    languages: str | None,
    table: Path | None,
    parallel: str | None,
) -> Texts:
    """The text to measure on. Raises UsageError and VocapError as `find_texts` and
    `find_aligned`.
    """
    codes = named_texts.parse_languages(languages)
    lines: dict[str, Path] = {}
    aligned: dict[str, Path] = {}
    if corpora or texts or not parallel:
        with_text = {entry.partition("=")[0] for entry in texts}
        own = (
            [code for code in codes or () if code in with_text]
            if parallel and not corpora
            else None
        )
        found = named_texts.find_texts(texts, corpora, own or codes, ["heldout"])
        lines = {code: next(iter(files.values())) for code, files in found.items()}
    if parallel:
        wanted = list(lines) if codes or corpora else aligned_languages(parallel)
        aligned, without = named_texts.find_aligned(parallel, codes or wanted)
        for code in without:
            log.warning("%s: no parallel text, left out", parallel.replace("{lang}", code))
    return Texts(lines or aligned, aligned, read_languages(table), corpora)


def measure(splitter: Splitter, texts: Texts) -> Measured:
    """Measure one tokenizer on every language. Raises VocapError for aligned files of
    different lengths.
    """
    encoder = splitter.encoder
    aligned: dict[str, np.ndarray] = {}
    found, folds = Measured(encoder.size), texts.corpora is None
    for code in dict.fromkeys([*texts.lines, *texts.aligned]):
        model = None
        if texts.corpora is not None:
            model = bigram.train_on(texts.corpora / code / "train.txt", encoder)
        if code in texts.lines:
            language = texts.table.get(code) or Language(code, code, "", "", {})
            blocks = named_texts.read_sentences(texts.lines[code])
            counted = evaluation.tally(splitter, blocks, model, folds)
            spaces = language.script not in evaluation.WITHOUT_SPACES
            facts = {"language": code, "resource": language.resource}
            found.rows.append(facts | evaluation.measure(counted, splitter, spaces))
            ordered = sorted(counted.unknown.items(), key=lambda entry: (-entry[1], entry[0]))
            found.unknown += [(code, *entry) for entry in ordered]
            domain = language.resource if language.resource in DOMAINS else evaluation.TEXT
            found.round_trips.append((code, domain, *counted.trips.cells(evaluation.LOSSES)))
            found.lengths["heldout", code] = counted.lengths[:2]
            found.lost.update(counted.unknown)
            found.trips.update(counted.trips)
        if code in texts.aligned:
            aligned[code] = evaluation.code_aligned(encoder, texts.aligned[code], model, folds)
    # parallel text
    named_texts.check_aligned({code: own.shape[1] for code, own in aligned.items()}, texts.aligned)
    english = aligned.get(evaluation.ENGLISH)
    for code, own in aligned.items():
        row, found.lengths["parallel", code] = evaluation.compare_with_english(own, english)
        found.parallel.append({"language": code, **row})
    return found


def summarize(name: str, found: Measured) -> dict:
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
        code: evaluation.with_bytes(one["tokens"], one["unknown_tokens"], one["unknown_bytes"])
        for code, one in rows.items()
    }
    costs = {
        code: one["ratio_with_bytes"]
        for code, one in rows.items()
        if one["ratio_with_bytes"] is not None
    }
    if costs:
        english = paid[evaluation.ENGLISH] / rows[evaluation.ENGLISH]["lines"]
        row["ratio_to_english"] = fmean(costs.values())
        row["tokens_per_sentence"] = row["ratio_to_english"] * english
    else:
        costs = {code: paid[code] / one["lines"] for code, one in rows.items()}
        lengths = [
            evaluation.with_bytes(
                length, length * (one["unk_rate"] or 0), one["unknown_bytes"] / one["lines"]
            )
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


def as_text(rows: Sequence[dict], texts: Texts, parallel: str | None) -> str:
    """The summary for a terminal, and on which text it is."""
    bits = "bits/byte" if texts.corpora else "bits/byte (ten folds)"
    heads = [
        "tokenizer",
        "T",
        "tokens",
        "ratio",
        "Gini",
        "worst",
        bits,
        "round trip",
        "unknown bytes",
    ]

    def shown(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    def languages(files: Mapping[str, Path]) -> str:
        return f"{len(files)} languages" if len(files) > 1 else f"{len(files)} language"

    cells = [
        [
            row["tokenizer"],
            f"{row['total']:,}",
            shown(row["tokens_per_sentence"], ".2f"),
            shown(row["ratio_to_english"], ".3f"),
            shown(row["gini"], ".4f"),
            "-" if row["worst"] is None else f"{row['worst']} {shown(row['worst_ratio'], '.2f')}",
            shown(row[BITS], ".4f"),
            # 100 % only where every line comes back
            "-"
            if row["round_trip"] is None
            else f"{math.floor(row['round_trip'] * 1e4) / 100:.2f} %",
            f"{row['unknown_bytes']:,}",
        ]
        for row in rows
    ]
    where = f"text of {languages(texts.lines)}"
    if texts.aligned:
        where = f"parallel text {parallel} of {languages(texts.aligned)}"
        if texts.lines is not texts.aligned:
            where += f"; {bits} and round trip: text of {len(texts.lines)}"
    return "\n".join([where, *io.aligned([heads, *cells], left=[0, 5])])


@click.command()
@click.option(
    "--tokenizer",
    "tokenizers",
    required=True,
    multiple=True,
    metavar="[NAME=]PATH",
    help="A .model, a tokenizer.json, tiktoken's ranks, a tekken.json, or a folder with one; "
    "may be repeated.",
)
@options.split
@click.option("--corpora", type=PATH, help="Folder with {language}/train.txt and heldout.txt.")
@click.option(
    "--text",
    "texts",
    multiple=True,
    metavar="LANG=FILE",
    help="Text of a language; may be repeated.",
)
@click.option(
    "--languages", metavar="CODES", help="Comma-separated; all that have text unless given."
)
@click.option(
    "--languages-table", type=PATH, help="Scripts and resource groups; the package's unless given."
)
@click.option(
    "--parallel",
    metavar="PATTERN",
    help="Line-aligned files with {lang} in their path (.xz, .gz, .zst too; of .jsonl, .tsv and "
    ".parquet each record is a line); an empty line: no translation.",
)
@click.option(
    "--gates", is_flag=True, help="Check what breaks in use: pass or fail, with an example."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Summary to write (TSV).",
)
@click.option(
    "--tables",
    type=PATH,
    help="Folder to write tables by language to: NAME/evaluation.tsv and others.",
)
def evaluate(
    tokenizers, splits, corpora, texts, languages, languages_table, parallel, gates, output, tables
) -> None:
    """Measure tokenizers on text: a row each.

    Tokens, ratio to English, Gini coefficient and worst language are of the parallel
    text; bits per byte and round trip of --text and of the held-out lines of --corpora,
    or else of the parallel text too. Bits per byte are those of a bigram of the
    train.txt of --corpora; without it of ten folds of each text, from 1,000 lines on.
    Tokens, and what follows from them, count an unknown character as its bytes in
    UTF-8; unknown bytes are all of that text.
    --tables has, in a folder a tokenizer, evaluation.tsv, parallel.tsv, unknown.tsv and
    roundtrip.tsv, a row a language, and bits.npz, bits and bytes of every line. --gates
    checks: every line comes back, no unknown characters, all bytes, dead ids, runs of
    one character, ids longer than 64 characters, fragments of characters.
    """
    # one language after another
    named = name_tokenizers(tokenizers)
    text = find(corpora, texts, languages, languages_table, parallel)
    encoders = load_encoders(named, splits)
    splitters = {name: Splitter(encoder) for name, encoder in encoders.items()}
    results, rows = {}, []
    for name, splitter in splitters.items():
        found = results[name] = measure(splitter, text)
        rows.append(summarize(name, found))
        if gates:
            rows[-1] |= check_gates(splitter, found.trips, found.lost)
    for row in found.parallel:
        if not row["lines"]:
            why = (
                " in common with English, so no ratio" if evaluation.ENGLISH in text.aligned else ""
            )
            log.warning("%s: no line%s", text.aligned[row["language"]], why)
    # whole outputs, at the end
    if tables:
        for name, found in results.items():
            found.write(tables / name, text)
    if output:
        io.write_tsv(output, text.columns(list(rows[0])), [list(row.values()) for row in rows])
    click.echo(as_text(rows, text, parallel))
    if gates:
        checked = [["tokenizer", "gate", "result"]]
        checked += [
            [row["tokenizer"], gate.translate(WHITE), result.translate(WHITE)]
            for row in rows
            for gate, result in list(row.items())[len(SUMMARY) :]
        ]
        click.echo("\n" + "\n".join(io.aligned(checked, left=[0, 1, 2])))


class TokenizerForms:
    """SentencePiece's model and its export, side by side."""

    def __init__(
        self, proto: "ModelProto", encoder: HuggingFaceEncoder, name: str | Path = "the model"
    ):
        self.proto, self.encoder, self.processor = proto, encoder, build_processor(proto, name)
        if (size := len(encoder.ids)) != len(proto.pieces):
            raise VocapError(
                f"the export has {size} ids, the model {len(proto.pieces)}; run vocap export again"
            )

    @classmethod
    def load(cls, folder: str | Path) -> "TokenizerForms":
        """From `sentencepiece.model` and `huggingface/` of a tokenizer's folder, both
        parsed, never executed.
        """
        path = Path(folder) / "huggingface" / "tokenizer.json"
        if not path.exists():
            raise VocapError(f"{path}: no such file; run vocap export first")
        model = Path(folder) / "sentencepiece.model"
        return cls(read_model(model), parse_encoder(path.read_bytes(), path), model)

    def compare(self, blocks: Iterable[list[str]]) -> evaluation.Differences:
        """Ids of every line from both, without special tokens; one block of lines is
        held at a time.
        """
        result = evaluation.Differences()
        for lines in filter(None, blocks):
            wanted = self.processor.encode(lines, num_threads=1)
            result.lines += len(lines)
            for line, ids, others in zip(
                lines, wanted, self.encoder.encode_batch(lines), strict=True
            ):
                if ids != others:
                    result.add(self.kind(line, ids, others), self.show(line, ids, others))
        return result

    def kind(self, line: str, wanted: list[int], given: list[int]) -> str:
        """The reason for a line that differs.

        `normaliser`: the normalised texts differ; `special token`: the export found one
        in the text; `unknown`: another number of unknown characters; `tie`: another
        path of the same score; `score`: of another score.
        """
        normalizer = self.encoder.tokenizer.normalizer
        if normalizer and normalizer.normalize_str(line) != self.processor.normalize(line):
            return "normaliser"
        if any(self.proto.pieces[number].type == CONTROL for number in given):
            return "special token"
        unknown = self.processor.unk_id()
        if wanted.count(unknown) != given.count(unknown):
            return "unknown"
        own, other = (sum(map(self.processor.get_score, ids)) for ids in (wanted, given))
        return "tie" if abs(own - other) < _ROUNDING else "score"

    def show(self, line: str, wanted: list[int], given: list[int]) -> str:
        """The line, shortened, and both splits from two pieces before their first
        difference on.
        """
        start = max(evaluation.shared_prefix(wanted, given) - 2, 0)
        both = []
        for ids in (wanted, given):
            pieces = " ".join(
                self.processor.id_to_piece(number) for number in ids[start : start + _SHOWN]
            )
            both.append(
                ("… " if start else "") + pieces + (" …" if start + _SHOWN < len(ids) else "")
            )
        text = line if len(line) <= _LINE else line[:_LINE] + "…"
        return f"“{text}”: {both[0]} | {both[1]}"


def lines_of_each(languages: int) -> int:
    """How many lines of each language are compared: fewer where there are many
    languages.
    """
    return OF_MANY if languages >= MANY else SAMPLE // languages


def sampled_blocks(folder: Path, sample: int, seed: int) -> Iterator[list[str]]:
    """At most `sample` lines of heldout.txt and train.txt in `folder`, which follow
    from `seed` and its name.
    """
    paths = folder / "heldout.txt", folder / "train.txt"
    total = sum(len(lines) for path in paths for lines in read_blocks(path))
    chosen = choose_lines(total, sample, seed, folder.name)
    first = 0
    for lines in chain.from_iterable(map(read_blocks, paths)):
        low, high = np.searchsorted(chosen, (first, first + len(lines)))
        yield [line for number in chosen[low:high].tolist() if (line := lines[number - first])]
        first += len(lines)


def choose_lines(total: int, count: int, seed: int, name: str) -> np.ndarray:
    """`count` of the numbers below `total` (all, if there are no more), rising, drawn
    by `seed` and `name`.
    """
    if count >= total:
        return np.arange(total)
    generator = np.random.Generator(np.random.Philox([seed, zlib.crc32(name.encode("utf-8"))]))
    return np.sort(generator.choice(total, count, replace=False, shuffle=False))


@click.command()
@click.option(
    "--tokenizer",
    required=True,
    type=PATH,
    help="Folder with sentencepiece.model and huggingface/.",
)
@click.option(
    "--corpora", required=True, type=PATH, help="Folder with {language}/train.txt and heldout.txt."
)
@click.option(
    "--languages", metavar="CODES", help="Comma-separated; all in --corpora unless given."
)
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="LINES",
    help="Lines of each language. [default: 1,000 where there are 10 languages or more, else "
    "10,000 in all]",
)
@click.option("--seed", default=0, type=options.SEED, help="Of the sample.")
@click.option("-o", "--output", required=True, type=PATH, help="Table to write.")
def parity(tokenizer, corpora, languages, sample, seed, output) -> None:
    """Compare a tokenizer's SentencePiece and Hugging Face forms, line by line.

    Writes, a language a row, the share of lines with identical ids, and the number of
    others by kind of difference, with an example of each.
    """
    codes = list(
        named_texts.find_texts(
            (), corpora, named_texts.parse_languages(languages), ["heldout", "train"]
        )
    )
    forms, sample = TokenizerForms.load(tokenizer), sample or lines_of_each(len(codes))
    results = {}
    with Steps("parity", len(codes)) as steps:
        for code in codes:
            found = results[code] = forms.compare(sampled_blocks(corpora / code, sample, seed))
            if found.lines and found.identical < LEAST_SHARE * found.lines:
                share = 100 * found.identical / found.lines
                log.warning("%s: only %.3f %% of the lines are identical", code, share)
            steps.advance()
    io.write_tsv(
        output,
        PARITY_COLUMNS,
        [(code, *found.cells(PARITY_KINDS)) for code, found in results.items()],
    )
    lines = sum(found.lines for found in results.values())
    identical = sum(found.identical for found in results.values())
    click.echo(
        f"{output}: {identical} of {lines} lines identical, at most {sample} of a language (seed "
        f"{seed})",
        err=True,
    )
