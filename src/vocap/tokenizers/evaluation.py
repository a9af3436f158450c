"""Intrinsic measures of a tokenizer on lines of each language, and on parallel text."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocap.tables.bits_per_byte import Floats, bits_per_byte, with_unknown_bytes
from vocap.text_files.named_texts import is_gap
from vocap.text_files.text import Text, text_blocks
from vocap.tokenizer_files.encoders import BYTE_PIECE, Encoder, find_unknown
from vocap.tokenizer_files.splitting import Splitter, is_bracketed
from vocap.tokenizer_files.unknown import Unknown
from vocap.tokenizers.bigram import Bigram, Integers, fold_bits
from vocap.unigram.alp import average_log_probability
from vocap.unigram.usage import with_bytes

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
    """Counts over one language's lines: `counts` int64 [V] by id, and totals.

    `whole`: words that are one token; `cuts`: for each number of digits, how often
    which cut into tokens occurs; `unknown`: characters that no id stands for, of which
    `dropped` have no token either; `trips`: lines that do not come back; `lengths`:
    `Coder.lengths`.
    """

    counts: Integers
    lines: int = 0
    words: int = 0
    characters: int = 0
    whole: int = 0
    cuts: dict[int, Counter[tuple[int, ...]]] = field(default_factory=lambda: defaultdict(Counter))
    unknown: Counter[str] = field(default_factory=Counter)
    dropped: int = 0
    trips: Differences = field(default_factory=Differences)
    lengths: Floats = field(default_factory=lambda: np.zeros((4, 0)))


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
    """Count tokens, words, numbers, characters, bytes, and bits as `Coder`; decode the
    lines again.

    Words are the maximal runs of characters other than white space; numbers the maximal
    runs of 2 to 8 of the digits 0 to 9; characters are code points and bytes those of
    UTF-8, all of the raw line without its end.
    """
    encoder = splitter.encoder
    result = Tally(np.zeros(encoder.size, np.int64))
    words: Counter[str] = Counter()
    coder = Coder(encoder, model, folds)
    for lines in blocks:
        encoded = encoder.encode_batch(lines)
        result.counts += np.bincount(
            np.fromiter(chain.from_iterable(encoded), np.int64), minlength=encoder.size
        )
        unknown = coder.add(lines, encoded)
        result.unknown.update(chain.from_iterable(one.characters for one in unknown))
        result.dropped += sum(one.dropped for one in unknown)
        decoded = encoder.decode_batch(encoded)
        losing = {line for line, one in zip(lines, unknown, strict=True) if one.dropped}
        add_round_trips(result.trips, lines, encoded, decoded, encoder.unk_id, losing)
        words.update(chain.from_iterable(map(str.split, lines)))
        if len(words) > DISTINCT:
            count_splits(splitter, words, result)
            words.clear()
        result.lines += len(lines)
        result.characters += sum(map(len, lines))
    count_splits(splitter, words, result)
    result.lengths = coder.lengths()
    return result


class Coder:
    """Bits, bytes and unknown tokens of the lines of a text: bits under a model, without
    one in ten `folds` of the text, or none.
    """

    def __init__(self, encoder: Encoder, model: Bigram | None = None, folds: bool = False):
        self.encoder, self.model, self.folds = encoder, model, folds
        self._blocks = [np.zeros((4, 0))]
        self._ids: list[NDArray[np.int32]] = []

    def add(self, lines: Sequence[str], ids: Sequence[Sequence[int]]) -> list[Unknown]:
        """Code further lines; returns the unknown characters of each."""
        tokens = [numbers.count(self.encoder.unk_id) for numbers in ids]
        unknown = find_unknown(self.encoder, lines, ids)
        bits = self.model.line_bits(ids) if self.model else np.zeros(len(lines))
        sizes = [len(line.encode()) for line in lines], [one.size for one in unknown]
        self._blocks.append(np.array([bits, sizes[0], tokens, sizes[1]], float))
        if self.folds:
            self._ids += [np.array(numbers, np.int32) for numbers in ids]
        return unknown

    def lengths(self) -> Floats:
        """Bits and bytes of all lines, their unknown tokens, and the UTF-8 bytes of their
        unknown characters, float64 [4, lines]; bits are NaN where nothing gives them.
        """
        found = np.concatenate(self._blocks, axis=1)
        if self.model is None:
            found[0] = fold_bits(self._ids, self.encoder.size) if self.folds else math.nan
        found[0] = with_unknown_bytes(found[0], found[3])
        return found


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
    """
    counts, total = tally.counts, int(tally.counts.sum())
    row: dict[str, Any] = dict.fromkeys(COLUMNS[2:])
    row["lines"] = tally.lines
    if not tally.lines:
        return row
    row["alp"] = average_log_probability(np.append(counts, tally.dropped), tally.lines)
    row["tokens_per_sentence"] = total / tally.lines
    row["vocabulary_used"] = np.count_nonzero(counts) / len(counts)
    row["bigram_bits_per_byte"] = bits_per_byte(tally.lengths[:2])
    row["unknown_bytes"] = int(tally.lengths[3].sum())
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
GAP = -1  # in the place of a number of tokens


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
) -> Floats:
    """[5, lines] tokens of the lines of an aligned text (`GAP` where there is no
    translation), and `Coder.lengths`.
    """
    tokens, coder = [], Coder(encoder, model, folds)
    for block in text_blocks(text, aligned=True)():
        filled = [line for line in block if not is_gap(line)]
        encoded = encoder.encode_batch(filled)
        coder.add(filled, encoded)
        counts = map(len, encoded)
        tokens += [GAP if is_gap(line) else next(counts) for line in block]
    found = np.array([tokens] * 5, float)
    found[1:, found[0] != GAP] = coder.lengths()
    return found


def compare_with_english(own: Floats, english: Floats | None) -> tuple[dict[str, Any], Floats]:
    """The columns from `lines` on, and bits and bytes [2, shared], of the lines that
    both languages have.

    `own`, `english`: `code_aligned`; all own lines without English. The ratio is tokens
    / English tokens, None where there are none, or no English; that with bytes is of
    `with_bytes`.
    """
    shared = own[0] != GAP
    if english is not None:
        shared &= english[0] != GAP
    lengths = own[1:3, shared]
    tokens, size, *unknown = (int(own[place, shared].sum()) for place in (0, 2, 3, 4))
    row: dict[str, Any] = dict.fromkeys(PARALLEL_COLUMNS[1:])
    row |= {"lines": int(shared.sum()), "tokens": tokens, "bytes": size}
    row["bigram_bits_per_byte"] = bits_per_byte(lengths)
    row["unknown_tokens"], row["unknown_bytes"] = unknown
    if english is not None:
        base, *other = (int(english[place, shared].sum()) for place in (0, 3, 4))
        row["english_tokens"] = base
        if base:
            row["ratio_to_english"] = tokens / base
            row["ratio_with_bytes"] = with_bytes(tokens, *unknown) / with_bytes(base, *other)
    return row, lengths
