"""`vocap evaluate`: intrinsic measures of a tokenizer on held-out lines of each language, and on parallel text."""

import logging
import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, takewhile
from pathlib import Path

import click
import numpy as np

from vocap.errors import UsageError
from vocap.files.tsv import write_tsv
from vocap.languages import DOMAINS, read_languages, select
from vocap.text_files.lines import read_blocks
from vocap.text_files.named_texts import check_aligned, find_aligned, find_texts, is_gap, parse_languages
from vocap.tokenizer_files.encoders import Encoder, load_encoder
from vocap.tokenizer_files.splitter import BYTE_PIECE, Splitter, is_bracketed
from vocap.tokenizers.bigram import Bigram, bits_per_byte, code_lengths, train_on, write_lengths
from vocap.unigram.alp import average_log_probability

logger = logging.getLogger(__name__)

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
CORPORA = click.option(
    "--corpora", required=True, type=PATH, help="Folder with {language}/train.txt and heldout.txt."
)
LANGUAGES = click.option(
    "--languages", metavar="CODES", help="Comma-separated; all that have a folder in --corpora unless given."
)
COLUMNS = (
    "language",
    "resource",
    "lines",
    "alp",
    "tokens_per_sentence",
    "tokens_per_word",
    "chars_per_token",
    "bytes_per_token",
    "unk_rate",
    "vocabulary_used",
    "renyi",
    "single_char_share",
    "whole_words",
    "digits_per_token",
    "numbers_alike",
    "broken_utf8",
    "bigram_bits_per_byte",
    "changed_lines",
)
UNKNOWN_COLUMNS = ("language", "character", "count")
DISTINCT = 100_000  # words that are counted before they are split: bounds the memory of long texts
NUMBER = re.compile(r"(?<![0-9])[0-9]{2,8}(?![0-9])")  # longer ones are rarely numbers
DIGITS = frozenset("0123456789")
LEAST_NUMBERS = 20  # below it no share of them is given
ALPHA = 2.5  # order of the Rényi entropy: Zouhar et al. (2023), section 5
# ISO 15924 codes of scripts that put no spaces between words
WITHOUT_SPACES = frozenset({"Thai", "Khmr", "Laoo", "Mymr", "Hans", "Hant", "Hani", "Jpan", "Tibt", "Bopo"})


@dataclass
class Differences:
    """Lines of one language, and those that differ, by kind; `examples` holds the first of each kind."""

    lines: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    @property
    def identical(self) -> int:
        return self.lines - self.kinds.total()

    def add(self, kind: str, example: str) -> None:
        """Count a line that differs."""
        self.kinds[kind] += 1
        self.examples.setdefault(kind, example)

    def cells(self, order: Sequence[str]) -> tuple:
        """Lines, identical ones, their share (None without lines), and the examples of the kinds in this order."""
        share = self.identical / self.lines if self.lines else None
        shown = (f"{kind} {self.kinds[kind]}: {self.examples[kind]}" for kind in order if self.kinds[kind])
        return self.lines, self.identical, share, "; ".join(shown)


@dataclass
class Tally:
    """Counts over one language's lines: `counts` int64 [V] by id, and totals.

    `whole`: words that are one token; `cuts`: for each number of digits, how often which cut into tokens occurs;
    `unknown`: characters that `<unk>` stands for; `trips`: lines that do not come back.
    """

    counts: np.ndarray
    lines: int = 0
    words: int = 0
    characters: int = 0
    whole: int = 0
    cuts: dict[int, Counter[tuple[int, ...]]] = field(default_factory=lambda: defaultdict(Counter))
    unknown: Counter[str] = field(default_factory=Counter)
    trips: Differences = field(default_factory=Differences)
    blocks: list[np.ndarray] = field(default_factory=lambda: [np.zeros((2, 0))])

    @property
    def lengths(self) -> np.ndarray:
        """Bits and bytes of the lines, [2, lines]."""
        return np.concatenate(self.blocks, axis=1)


def shared_prefix(one: Sequence, other: Sequence) -> int:
    """The length of the longest common beginning.

    >>> shared_prefix("abc", "abx"), shared_prefix([1, 2], [1, 2, 3])
    (2, 2)
    """
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def tally(splitter: Splitter, blocks: Iterable[list[str]], model: Bigram | None = None) -> Tally:
    """Count tokens, words, numbers, characters, bytes, and bits under `model`; decode the lines again.

    Words are the maximal runs of characters other than white space; numbers the maximal runs of 2 to 8 of the
    digits 0 to 9; characters are code points and bytes those of UTF-8, all of the raw line without its end.
    """
    encoder = splitter.encoder
    result = Tally(np.zeros(encoder.size, np.int64))
    words: Counter[str] = Counter()
    for lines in blocks:
        encoded = encoder.encode_batch(lines)
        result.counts += np.bincount(np.fromiter(chain.from_iterable(encoded), np.int64), minlength=encoder.size)
        unknown, lengths = coded_lines(encoder, lines, encoded, model)
        result.unknown.update(chain.from_iterable(unknown))
        result.blocks.append(lengths)
        add_round_trips(result.trips, lines, encoded, encoder.decode_batch(encoded), encoder.unk_id)
        words.update(chain.from_iterable(map(str.split, lines)))
        if len(words) > DISTINCT:
            count_splits(splitter, words, result)
            words.clear()
        result.lines += len(lines)
        result.characters += sum(map(len, lines))
    count_splits(splitter, words, result)
    return result


def coded_lines(
    encoder: Encoder, lines: Sequence[str], ids: Sequence[Sequence[int]], model: Bigram | None
) -> tuple[list[str], np.ndarray]:
    """The unknown characters of each line; and [2, lines] its bits under the model (NaN without one) and bytes."""
    unknown = [
        unknown_characters(encoder, line) if encoder.unk_id in numbers else ""
        for line, numbers in zip(lines, ids, strict=True)
    ]
    lost, sizes = (np.array([len(text.encode("utf-8")) for text in texts], np.int64) for texts in (unknown, lines))
    bits = np.full(len(sizes), math.nan) if model is None else code_lengths(model, ids, lost)
    return unknown, np.stack([bits, sizes])


def count_splits(splitter: Splitter, words: Mapping[str, int], result: Tally) -> None:
    """Add words, each as it is cut after a space, to `words`, `whole` and `cuts` of `result`.

    A word is whole if it is one token, and known. Cut of a number: the digits of each token that holds some; a
    number with an unknown digit has none.
    """
    numbers: Counter[str] = Counter()
    for (word, count), split in zip(words.items(), splitter.split([*words]), strict=True):
        result.words += count
        result.whole += count * (len(split) == 1 and not is_bracketed(split[0]))
        for number in NUMBER.findall(word):
            numbers[number] += count
    for (number, count), split in zip(numbers.items(), splitter.split([*numbers]), strict=True):
        cut = tuple(filter(None, map(digits, split)))
        if sum(cut) == len(number):
            result.cuts[len(number)][cut] += count


@cache
def digits(piece: str | None) -> int:
    """The number of digits 0 to 9 in a piece, none in a byte or unknown text.

    >>> digits("\u25812026"), digits("<0x30>")
    (4, 0)
    """
    if piece is None or BYTE_PIECE.fullmatch(piece) or is_bracketed(piece):
        return 0
    return sum(character in DIGITS for character in piece)


def unknown_characters(encoder: Encoder, line: str) -> str:
    """The characters of the line that `<unk>` stands for: normalised for SentencePiece, else as written."""
    if hasattr(encoder, "processor"):
        proto = encoder.processor.encode(line, out_type="immutable_proto")
        return "".join(piece.piece for piece in proto.pieces if piece.id == encoder.unk_id)
    encoding = encoder.tokenizer.encode(line, add_special_tokens=False)
    return "".join(
        line[start:end]
        for number, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
        if number == encoder.unk_id
    )


def measure(tally: Tally, splitter: Splitter, spaces: bool = True) -> dict:
    """The columns from `lines` on, as a dict; None where a measure is not defined.

    alp: Equation 1, natural logarithm, p_uni counted on the same lines. tokens_per_sentence: tokens / lines.
    tokens_per_word: tokens / words, None where `spaces` is false. chars_per_token, bytes_per_token: of the raw
    text. unk_rate: unknown tokens / tokens. vocabulary_used: distinct ids that occur / V. renyi:
    `renyi_efficiency`. single_char_share: share of tokens whose piece is one code point besides U+2581 (a lone
    U+2581 is none). whole_words: share of words that are one token, None where `spaces` is false.
    digits_per_token: digits 0 to 9 / tokens that hold some. numbers_alike: share of the numbers cut like most
    numbers of as many digits, None for fewer than `LEAST_NUMBERS`. broken_utf8: share of tokens whose bytes are no
    whole characters. bigram_bits_per_byte: None without a model. changed_lines: share of lines that decode to
    other text though all characters are known.
    """
    counts, total = tally.counts, int(tally.counts.sum())
    row: dict = dict.fromkeys(COLUMNS[2:])
    row["lines"] = tally.lines
    if not tally.lines:
        return row
    row["alp"] = average_log_probability(counts, tally.lines)
    row["tokens_per_sentence"] = total / tally.lines
    row["vocabulary_used"] = np.count_nonzero(counts) / len(counts)
    row["bigram_bits_per_byte"] = bits_per_byte(tally.lengths)
    row["changed_lines"] = (tally.trips.kinds.total() - tally.trips.kinds["unknown"]) / tally.lines
    if not total:
        return row
    # by word and by character
    if spaces and tally.words:
        row["tokens_per_word"] = total / tally.words
        row["whole_words"] = tally.whole / tally.words
    row["chars_per_token"] = tally.characters / total
    row["bytes_per_token"] = int(tally.lengths[1].sum()) / total
    unk_id = splitter.encoder.unk_id
    row["unk_rate"] = int(counts[unk_id]) / total if unk_id is not None else 0.0
    row["renyi"] = renyi_efficiency(counts)
    # by the text of pieces, and by numbers
    used = np.flatnonzero(counts)
    pieces = splitter.encoder.pieces
    single = (number for number in used if len((pieces[number] or "").replace("\u2581", "")) == 1)
    row["single_char_share"] = sum(int(counts[number]) for number in single) / total
    held = {number: held for number in used if (held := digits(pieces[number]))}
    if held:
        tokens = sum(int(counts[number]) for number in held)
        row["digits_per_token"] = sum(int(counts[number]) * count for number, count in held.items()) / tokens
    numbers = sum(cuts.total() for cuts in tally.cuts.values())
    if numbers >= LEAST_NUMBERS:
        row["numbers_alike"] = sum(max(cuts.values()) for cuts in tally.cuts.values()) / numbers
    row["broken_utf8"] = int(counts[splitter.broken].sum()) / total
    return row


def renyi_efficiency(counts: np.ndarray, alpha: float = ALPHA) -> float | None:
    """H_alpha / log V of the distribution of ids: 1 where all V are used equally (Zouhar et al. 2023).

    H_alpha = log(sum p^alpha) / (1 - alpha). `counts` int [V]; None where V is 1 or nothing was counted.

    >>> renyi_efficiency(np.array([3, 3, 3, 3]))
    1.0
    """
    total = int(counts.sum())
    if len(counts) < 2 or not total:
        return None
    powers = math.fsum((count / total) ** alpha for count in counts[counts > 0].tolist())
    return math.log(powers) / (1 - alpha) / math.log(len(counts))


ROUND_TRIP_COLUMNS = ("language", "domain", "texts", "identical", "share", "example")
TEXT = "text"  # the domain of natural language
LOSSES = ("unknown", "U+2581", "spaces", "characters")
SHOWN = 24  # characters of an example, from a little before its first difference on


def loss(text: str, decoded: str, unknown: bool) -> str:
    """The reason for which a text does not come back.

    `unknown`: it holds an unknown token; `U+2581`: this character, which stands for a space; `spaces`: only white
    space; `characters`: others, which the normaliser replaced.

    >>> loss("a  b", "a b", False), loss("1½", "11⁄2", False)
    ('spaces', 'characters')
    """
    if unknown:
        return "unknown"
    if decoded.split() != text.replace("\u2581", " ").split():
        return "characters"
    return "U+2581" if "\u2581" in text else "spaces"


def add_round_trips(
    trips: Differences,
    texts: Sequence[str],
    ids: Sequence[Sequence[int]],
    decoded: Sequence[str],
    unk_id: int | None,
) -> None:
    """Count texts, and those that do not come back from their ids: decode(encode(text)) != text."""
    trips.lines += len(texts)
    for text, numbers, back in zip(texts, ids, decoded, strict=True):
        if back != text:
            trips.add(loss(text, back, unk_id in numbers), example(text, back))


def example(text: str, decoded: str) -> str:
    """Both texts from a little before their first difference on.

    >>> example("one  two", "one two")
    '“one  two” → “one two”'
    """
    start = max(0, shared_prefix(text, decoded) - SHOWN // 3)
    shown = (
        ("…" if start else "") + one[start : start + SHOWN] + ("…" if len(one) > start + SHOWN else "")
        for one in (text, decoded)
    )
    return " → ".join(f"“{one}”" for one in shown)


PARALLEL_COLUMNS = (
    "language",
    "lines",
    "tokens",
    "ratio_to_english",
    "english_tokens",
    "bytes",
    "bigram_bits_per_byte",
)
ENGLISH = "en"
GAP = -1  # in the place of a number of tokens


def gini(values: Sequence[float]) -> float:
    """Gini coefficient: the mean absolute difference of all pairs, over twice the mean; 0 is equality.

    Computed from the sorted values. Raises ValueError for no values, a negative one, or all zero.

    >>> gini([1, 1, 1]), gini([0, 1])
    (0.0, 0.5)
    """
    ordered = sorted(values)
    total = math.fsum(ordered)
    if not ordered or ordered[0] < 0 or not total > 0:
        raise ValueError(f"the Gini coefficient is of values that are not negative nor all 0, not {ordered[:5]}")
    count = len(ordered)
    ranked = math.fsum(rank * value for rank, value in enumerate(ordered, start=1))
    return max(0.0, (2 * ranked - (count + 1) * total) / (count * total))


def code_aligned(encoder: Encoder, path: Path, model: Bigram | None = None) -> np.ndarray:
    """[3, lines] tokens (`GAP` where there is no translation), bits and bytes of the lines of a file."""
    blocks = []
    for block in read_blocks(path):
        encoded = encoder.encode_batch(block)
        tokens = [GAP if is_gap(line) else len(ids) for line, ids in zip(block, encoded, strict=True)]
        blocks.append(np.vstack([tokens, coded_lines(encoder, block, encoded, model)[1]]))
    return np.concatenate(blocks, axis=1) if blocks else np.zeros((3, 0))


def compare_with_english(own: np.ndarray, english: np.ndarray | None) -> tuple[dict, np.ndarray]:
    """The columns from `lines` on, and bits and bytes [2, shared], of the lines that both languages have.

    `own`, `english`: `code_aligned`; all own lines without English. The ratio is tokens / English tokens, None
    where there are none, or no English.
    """
    shared = own[0] != GAP if english is None else (own[0] != GAP) & (english[0] != GAP)
    tokens, size = (int(own[place, shared].sum()) for place in (0, 2))
    base = None if english is None else int(english[0, shared].sum())
    lengths = own[1:, shared]
    found = int(shared.sum()), tokens, tokens / base if base else None, base, size, bits_per_byte(lengths)
    return dict(zip(PARALLEL_COLUMNS[1:], found, strict=True)), lengths


@click.command()
@click.option("--tokenizer", required=True, type=PATH, help="A .model, a tokenizer.json, or a folder with one.")
@CORPORA
@LANGUAGES
@click.option(
    "--languages-table", type=PATH, help="Table of scripts and resource groups; the package's unless given."
)
@click.option("-o", "--output", required=True, type=FILE, help="Table to write.")
@click.option("--unknown", type=FILE, help="Table to write: which characters are unknown, how often.")
@click.option("--round-trip", type=FILE, help="Table to write: lines that decode to themselves, and the losses.")
@click.option("--bits", type=FILE, help="File to write: bits and bytes of every line, for intervals (NumPy).")
@click.option(
    "--parallel",
    metavar="PATTERN",
    help="Line-aligned files with {lang} in their path (.xz, .gz, .zst too); an empty line: no translation.",
)
@click.option("--parallel-output", type=FILE, help="Table to write, with --parallel.")
def evaluate(
    tokenizer, corpora, languages, languages_table, output, unknown, round_trip, bits, parallel, parallel_output
) -> None:
    """Measure any tokenizer on every language's held-out lines.

    One row a language: ALP, tokens per sentence and word, characters and bytes per token, unknown rate, share of
    the vocabulary used, Rényi efficiency, single-character share, share of words that are one token, digits per
    token, share of numbers cut alike, tokens that are broken UTF-8, bits per byte under a bigram of the training
    lines' tokens (empty without train.txt), lines that normalisation changes. On parallel text: tokens relative to
    English, on the lines that both languages have, and bits per byte.
    """
    if (parallel is None) != (parallel_output is None):
        raise UsageError("--parallel and --parallel-output go together; give both or none")
    # one language after another
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    texts = find_texts((), corpora, parse_languages(languages), ["heldout"])
    paths, without = find_aligned(parallel, list(texts)) if parallel else ({}, [])
    for code in without:
        logger.warning("%s: no parallel text, left out", parallel.replace("{lang}", code))
    splitter = Splitter(load_encoder(tokenizer))
    rows, unknown_rows, trip_rows, lengths, aligned = [], [], [], {}, dict.fromkeys(paths)
    for language in select(read_languages(languages_table), list(texts)):
        heldout = texts[code := language.code]["heldout"]
        model = train_on(heldout.with_name("train.txt"), splitter.encoder)
        blocks = ([line for line in lines if line] for lines in read_blocks(heldout))
        counted = tally(splitter, blocks, model)
        measures = measure(counted, splitter, language.script not in WITHOUT_SPACES)
        rows.append((code, language.resource, *(measures[column] for column in COLUMNS[2:])))
        ordered = sorted(counted.unknown.items(), key=lambda entry: (-entry[1], entry[0]))
        unknown_rows += [(code, character, count) for character, count in ordered]
        domain = language.resource if language.resource in DOMAINS else TEXT
        trip_rows.append((code, domain, *counted.trips.cells(LOSSES)))
        lengths["heldout", code] = counted.lengths
        if code in paths:
            aligned[code] = code_aligned(splitter.encoder, paths[code], model)
    # the tables
    if parallel:
        lengths |= _write_parallel(aligned, paths, parallel, parallel_output)
    if unknown:
        write_tsv(unknown, UNKNOWN_COLUMNS, unknown_rows)
    if round_trip:
        write_tsv(round_trip, ROUND_TRIP_COLUMNS, trip_rows)
    if bits:
        write_lengths(bits, lengths)
    write_tsv(output, COLUMNS, rows)
    click.echo(f"{output}: {len(rows)} languages{_mean_bits(row[-2] for row in rows)}", err=True)


def _write_parallel(aligned, paths, pattern: str, output: Path) -> dict:
    """Write the table of lines coded by language; returns the bits and bytes of the lines that it counts."""
    check_aligned({code: own.shape[1] for code, own in aligned.items()}, paths)
    english, rows, lengths = aligned.get(ENGLISH), [], {}
    for language, own in aligned.items():
        row, lengths["parallel", language] = compare_with_english(own, english)
        rows.append({"language": language, **row})
        if not row["lines"]:
            why = "" if english is None else " in common with English, so no ratio"
            logger.warning("%s: no line%s", paths[language], why)
    write_tsv(output, PARALLEL_COLUMNS, [tuple(row[column] for column in PARALLEL_COLUMNS) for row in rows])
    # languages with gaps have other lines than others: ratios compare, tokens do not
    rows = [row for row in rows if row["lines"]]
    ratios = [row["ratio_to_english"] for row in rows if row["ratio_to_english"] is not None]
    if any(costs := ratios or [row["tokens"] / row["lines"] for row in rows]):
        by_byte = gini([row["tokens"] / row["bytes"] for row in rows])
        said = f"Gini coefficient of tokens per sentence {gini(costs):.4f}, per byte {by_byte:.4f}"
        click.echo(
            f"{output}: on {pattern}, {said}{_mean_bits(row[PARALLEL_COLUMNS[-1]] for row in rows)}", err=True
        )
    return lengths


def _mean_bits(found) -> str:
    known = [bits for bits in found if bits is not None]
    return f"; bits per byte {sum(known) / len(known):.4f} (mean of {len(known)} languages)" if known else ""
