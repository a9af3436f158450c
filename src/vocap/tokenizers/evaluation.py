"""Intrinsic measures of a tokenizer on lines of each language, and on parallel text."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, compress, takewhile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vocap.tables.bits_per_byte import Floats, bits_per_byte, with_unknown_bytes
from vocap.tables.line_bits import GAP
from vocap.text_files.named_texts import is_gap
from vocap.text_files.text import Text, text_blocks
from vocap.tokenizer_files.encoders import BYTE_PIECE, Encoder
from vocap.tokenizer_files.splitting import Splitter, is_bracketed
from vocap.tokenizers.bigram import Bigram, Integers, fold_bits
from vocap.unigram.usage import LINE, Segments, with_bytes

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
    "unknown_bytes",
    "training_ids",
)
UNKNOWN_COLUMNS = ("language", "character", "count")
DISTINCT = 100_000  # words that are counted before they are split: bounds the memory of long texts
NUMBER = re.compile(r"(?<![0-9])[0-9]{2,8}(?![0-9])")  # longer ones are rarely numbers
DIGITS = frozenset("0123456789")
LEAST_NUMBERS = 20  # below it no share of them is given
ALPHA = 2.5  # order of the Rényi entropy: Zouhar et al. (2023), section 5
# ISO 15924 codes of scripts that put no spaces between words
WITHOUT_SPACES = frozenset(
    {"Thai", "Khmr", "Laoo", "Mymr", "Hans", "Hant", "Hani", "Jpan", "Tibt", "Bopo"}
)


@dataclass
class Differences:
    """Lines of one language, and those that differ, by kind; `examples` holds the first
    of each kind.
    """

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

    def update(self, other: "Differences") -> None:
        """Add the lines of another text."""
        self.lines += other.lines
        self.kinds.update(other.kinds)
        self.examples = other.examples | self.examples

    def cells(self, order: Sequence[str]) -> tuple[int, int, float | None, str]:
        """Lines, identical ones, their share (None without lines), and the examples of
        the kinds in this order.
        """
        share = self.identical / self.lines if self.lines else None
        shown = (
            f"{kind} {self.kinds[kind]}: {self.examples[kind]}"
            for kind in order
            if self.kinds[kind]
        )
        return self.lines, self.identical, share, "; ".join(shown)


@dataclass
class Tally:
    """One language's lines: their `segments`, and what is counted besides.

    `whole`: words that are one token; `cuts`: for each number of digits, how often
    which cut into tokens occurs; `trips`: lines that do not come back; `lengths`:
    `LineBits.lengths`.
    """

    segments: Segments
    words: int = 0
    whole: int = 0
    cuts: dict[int, Counter[tuple[int, ...]]] = field(default_factory=lambda: defaultdict(Counter))
    trips: Differences = field(default_factory=Differences)
    lengths: Floats = field(default_factory=lambda: np.zeros((2, 0)))


def shared_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    """The length of the longest common beginning.

    >>> shared_prefix("abc", "abx"), shared_prefix([1, 2], [1, 2, 3])
    (2, 2)
    """
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def tally(
    splitter: Splitter,
    blocks: Iterable[list[str]],
    model: Bigram | None = None,
    folds: bool = False,
) -> Tally:
    """Count tokens, words, numbers, characters, bytes, and bits as `LineBits`; decode the
    lines again.

    Words are the maximal runs of characters other than white space; numbers the maximal
    runs of 2 to 8 of the digits 0 to 9; characters are code points and bytes those of
    UTF-8, all of the raw line without its end.
    """
    encoder = splitter.encoder
    result = Tally(Segments.of(encoder))
    words: Counter[str] = Counter()
    bits = LineBits(encoder, model, folds)
    for lines in blocks:
        encoded = result.segments.add(lines)
        bits.add(encoded)
        losing = set(compress(lines, result.segments.blocks[-1]["dropped"]))
        decoded = encoder.decode_batch(encoded)
        add_round_trips(result.trips, lines, encoded, decoded, encoder.unk_id, losing)
        words.update(chain.from_iterable(map(str.split, lines)))
        if len(words) > DISTINCT:
            count_splits(splitter, words, result)
            words.clear()
    count_splits(splitter, words, result)
    result.lengths = bits.lengths(result.segments)
    return result


class LineBits:
    """Bits of the lines of a text: under a model, without one in ten `folds` of the text,
    or none.
    """

    def __init__(self, encoder: Encoder, model: Bigram | None = None, folds: bool = False):
        self.size, self.model, self.folds = encoder.size, model, folds
        self._blocks: list[Floats] = [np.zeros(0)]
        self._ids: list[NDArray[np.int32]] = []

    def add(self, ids: Sequence[Sequence[int]]) -> None:
        """Code the ids of further lines."""
        if self.model is not None:
            self._blocks.append(self.model.line_bits(ids))
        elif self.folds:
            self._ids += [np.array(numbers, np.int32) for numbers in ids]
        else:
            self._blocks.append(np.full(len(ids), math.nan))

    def lengths(self, segments: Segments) -> Floats:
        """Bits, with those of unknown characters, and bytes of all lines, float64
        [2, lines]; bits are NaN where nothing gives them.
        """
        folded = self.folds and self.model is None
        bits = fold_bits(self._ids, self.size) if folded else np.concatenate(self._blocks)
        table = segments.table
        return np.array([with_unknown_bytes(bits, table["unknown_bytes"]), table["bytes"]])


def count_splits(splitter: Splitter, words: Mapping[str, int], result: Tally) -> None:
    """Add words, each as it is cut after a space, to `words`, `whole` and `cuts` of `result`.

    A word is whole if it is one token, and known. Cut of a number: the digits of each
    token that holds some; a number with an unknown digit has none.
    """
    numbers: Counter[str] = Counter()
    for (word, count), split in zip(words.items(), splitter.split([*words]), strict=True):
        result.words += count
        if len(split) == 1 and not is_bracketed(split[0]):
            result.whole += count
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
    if not piece or DIGITS.isdisjoint(piece):  # most of them
        return 0
    if BYTE_PIECE.fullmatch(piece) or is_bracketed(piece):
        return 0
    return sum(character in DIGITS for character in piece)


def measure_counts(tally: Tally, splitter: Splitter, spaces: bool = True) -> dict[str, Any]:
    """The columns from `lines` on, as a dict; None where a measure is not defined.

    alp: Equation 1, natural logarithm, p_uni counted on the same lines, dropped
    characters as one unknown id.
    tokens_per_sentence: tokens / lines. tokens_per_word: tokens / words, None where
    `spaces` is false. chars_per_token, bytes_per_token: of the raw text. unk_rate:
    unknown tokens / tokens. vocabulary_used: distinct ids that occur / V. renyi:
    `renyi_efficiency`. single_char_share: share of tokens whose piece is one code point
    besides U+2581 (a lone U+2581 is none). whole_words: share of words that are one
    token, None where `spaces` is false. digits_per_token: digits 0 to 9 / tokens that
    hold some. numbers_alike: share of the numbers cut like most numbers of as many
    digits, None for fewer than `LEAST_NUMBERS`. broken_utf8: share of tokens whose
    bytes are no whole characters. bigram_bits_per_byte: None without a model.
    changed_lines: share of lines that decode to other text though all characters are
    known. unknown_bytes: UTF-8 bytes of the characters of all lines that are unknown.
    training_ids: distinct ids of the text of the bigram, which the caller fills in.
    """
    segments = tally.segments
    counts, total, lines = segments.counts, segments.total("tokens"), segments.lines
    row: dict[str, Any] = dict.fromkeys(COLUMNS[2:])
    row["lines"] = lines
    if not lines:
        return row
    row["alp"] = segments.alp
    row["tokens_per_sentence"] = total / lines
    row["vocabulary_used"] = np.count_nonzero(counts) / len(counts)
    row["bigram_bits_per_byte"] = bits_per_byte(tally.lengths)
    row["unknown_bytes"] = segments.total("unknown_bytes")
    row["changed_lines"] = (tally.trips.kinds.total() - tally.trips.kinds["unknown"]) / lines
    if not total:
        return row
    # by word and by character
    if spaces and tally.words:
        row["tokens_per_word"] = total / tally.words
        row["whole_words"] = tally.whole / tally.words
    row["chars_per_token"] = segments.total("characters") / total
    row["bytes_per_token"] = segments.total("bytes") / total
    row["unk_rate"] = segments.unk_rate
    row["renyi"] = renyi_efficiency(counts)
    # by the text of pieces, and by numbers
    used = np.flatnonzero(counts).tolist()
    pieces = splitter.encoder.pieces
    single = [number for number in used if len((pieces[number] or "").replace("\u2581", "")) == 1]
    row["single_char_share"] = int(counts[single].sum()) / total
    held = {number: held for number in used if (held := digits(pieces[number]))}
    if held:
        tokens = int(counts[list(held)].sum())
        row["digits_per_token"] = (
            sum(int(counts[number]) * count for number, count in held.items()) / tokens
        )
    numbers = sum(cuts.total() for cuts in tally.cuts.values())
    if numbers >= LEAST_NUMBERS:
        row["numbers_alike"] = sum(max(cuts.values()) for cuts in tally.cuts.values()) / numbers
    row["broken_utf8"] = int(counts[splitter.broken].sum()) / total
    return row


def renyi_efficiency(counts: Integers, alpha: float = ALPHA) -> float | None:
    """H_alpha / log V of the distribution of ids: 1 where all V are used equally
    (Zouhar et al. 2023).

    H_alpha = log(sum p^alpha) / (1 - alpha). `counts` int [V]; None where V is 1 or
    nothing was counted.

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

    `unknown`: it holds an unknown character; `U+2581`: this character, which stands for a
    space; `spaces`: only white space; `characters`: others, which the normaliser
    replaced.

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
    dropping: Collection[str] = (),
) -> None:
    """Count texts, and those that do not come back from their ids: decode(encode(text))
    != text. `dropping`: texts of which a character is dropped.
    """
    trips.lines += len(texts)
    for text, numbers, back in zip(texts, ids, decoded, strict=True):
        if back != text:
            trips.add(loss(text, back, unk_id in numbers or text in dropping), example(text, back))


def example(text: str, decoded: str) -> str:
    """Both texts from a little before their first difference on.

    >>> example("one  two", "one two")
    '“one  two” → “one two”'
    """
    start = max(0, shared_prefix(text, decoded) - SHOWN // 3)
    shown = (
        ("…" if start else "")
        + one[start : start + SHOWN]
        + ("…" if len(one) > start + SHOWN else "")
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
    "unknown_tokens",
    "unknown_bytes",
    "ratio_with_bytes",
)


class AlignedLines(NamedTuple):
    """Lines of aligned text: whether each is `present`, its row of `LINE`, its bits and
    bytes, [2, lines]; zeros in the place of gaps.
    """

    present: NDArray[np.bool_]
    table: NDArray[np.void]
    lengths: Floats

    @property
    def tokens(self) -> NDArray[np.int64]:
        """Tokens of each line, [lines], an unknown character as its bytes; `GAP` for a gap."""
        counted = ("tokens", "unknown_tokens", "unknown_bytes")
        return np.where(self.present, with_bytes(*map(self.table.__getitem__, counted)), GAP)


def gini(values: Sequence[float]) -> float:
    """Gini coefficient: the mean absolute difference of all pairs, over twice the mean;
    0 is equality.

    Computed from the sorted values. Raises ValueError for no values, a negative one, or
    all zero.

    >>> gini([1, 1, 1]), gini([0, 1])
    (0.0, 0.5)
    """
    ordered = sorted(values)
    total = math.fsum(ordered)
    if not ordered or ordered[0] < 0 or not total > 0:
        raise ValueError(
            f"the Gini coefficient is of values that are not negative nor all 0, not {ordered[:5]}"
        )
    count = len(ordered)
    ranked = math.fsum(rank * value for rank, value in enumerate(ordered, start=1))
    return max(0.0, (2 * ranked - (count + 1) * total) / (count * total))


def code_aligned(
    encoder: Encoder, text: Text, model: Bigram | None = None, folds: bool = False
) -> AlignedLines:
    """The lines of an aligned text under a tokenizer, with bits as `LineBits`."""
    present: list[bool] = []
    segments, bits = Segments.of(encoder), LineBits(encoder, model, folds)
    for block in text_blocks(text, aligned=True)():
        bits.add(segments.add([line for line in block if not is_gap(line)]))
        present += [not is_gap(line) for line in block]
    shown = np.array(present, bool)
    table, lengths = np.zeros(len(shown), LINE), np.zeros((2, len(shown)))
    table[shown], lengths[:, shown] = segments.table, bits.lengths(segments)
    return AlignedLines(shown, table, lengths)


def compare_with_english(
    own: AlignedLines, english: AlignedLines | None
) -> tuple[dict[str, Any], Floats]:
    """The columns from `lines` on, and bits and bytes [2, shared], of the lines that
    both languages have; all own lines without English.

    The ratio is tokens / English tokens, None where there are none, or no English; that
    with bytes is of `with_bytes`.
    """
    shared = own.present if english is None else own.present & english.present
    lengths, table = own.lengths[:, shared], own.table[shared]
    counted = ("tokens", "bytes", "unknown_tokens", "unknown_bytes")
    sums = {name: int(table[name].sum()) for name in counted}
    row: dict[str, Any] = dict.fromkeys(PARALLEL_COLUMNS[1:])
    row |= {"lines": len(table), "bigram_bits_per_byte": bits_per_byte(lengths), **sums}
    if english is not None:
        table = english.table[shared]
        base = {name: int(table[name].sum()) for name in counted}
        row["english_tokens"] = base["tokens"]
        if base["tokens"]:
            row["ratio_to_english"] = sums["tokens"] / base["tokens"]
            paid, english_paid = (
                with_bytes(one["tokens"], one["unknown_tokens"], one["unknown_bytes"])
                for one in (sums, base)
            )
            row["ratio_with_bytes"] = paid / english_paid
    return row, lengths
