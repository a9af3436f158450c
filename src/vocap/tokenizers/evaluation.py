"""Intrinsic measures of a tokenizer on lines of each language, and on parallel text."""

import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocap.tables.bits_per_byte import Floats, with_unknown_bytes
from vocap.text_files.named_texts import is_gap
from vocap.text_files.text import Text, text_blocks
from vocap.tokenizer_files.encoders import BYTE_PIECE, Encoder
from vocap.tokenizer_files.splitting import Splitter, is_bracketed
from vocap.tokenizers.bigram import Bigram, Integers, fold_bits
from vocap.unigram.usage import LINE, LOSSES, Columns, RoundTrips, Segments, sum_up

# The columns of evaluation.tsv: a sum of `Tally.sums`, or one over another. A column more
# is a line more here, and if its sum is new, a sum of lines (`LINE`), of ids (`ids_held`)
# or of words (`Tally`).
MEASURES: Columns = {
    "lines": "lines",
    "alp": "nats / lines",
    "tokens_per_sentence": "tokens / lines",
    "tokens_per_word": "tokens / words",
    "chars_per_token": "characters / tokens",
    "bytes_per_token": "bytes / tokens",
    "unk_rate": "unknown_tokens / tokens",
    "vocabulary_used": "ids_used / ids",
    "renyi": "renyi",
    "single_char_share": "single / tokens",
    "whole_words": "whole / words",
    "digits_per_token": "digits / with_digits",
    "numbers_alike": "alike / numbers",
    "broken_utf8": "broken / tokens",
    "bigram_bits_per_byte": "bits / bytes",
    "changed_lines": "changed / lines",
    "unknown_bytes": "unknown_bytes",
    "training_ids": "training_ids",
}
# those of parallel.tsv, of `compare_with_english`
PARALLEL: Columns = {
    "lines": "lines",
    "tokens": "tokens",
    "ratio_to_english": "tokens / english_tokens",
    "english_tokens": "english_tokens",
    "bytes": "bytes",
    "bigram_bits_per_byte": "bits / bytes",
    "unknown_tokens": "unknown_tokens",
    "unknown_bytes": "unknown_bytes",
    "ratio_with_bytes": "paid / english_paid",
}
# those of roundtrip.tsv
TRIPS: Columns = {
    "texts": "lines",
    "identical": "identical",
    "share": "identical / lines",
}
COLUMNS = ("language", "resource", *MEASURES)
PARALLEL_COLUMNS = ("language", *PARALLEL)
ROUND_TRIP_COLUMNS = ("language", "domain", *TRIPS, "example")
UNKNOWN_COLUMNS = ("language", "character", "count")
TEXT = "text"  # the domain of natural language
DISTINCT = 100_000  # words that are counted before they are split: bounds the memory of long texts
NUMBER = re.compile(r"(?<![0-9])[0-9]{2,8}(?![0-9])")  # longer ones are rarely numbers
DIGITS = frozenset("0123456789")
LEAST_NUMBERS = 20  # below it no share of them is given
ALPHA = 2.5  # order of the Rényi entropy: Zouhar et al. (2023), section 5
# ISO 15924 codes of scripts that put no spaces between words
WITHOUT_SPACES = frozenset(
    {"Thai", "Khmr", "Laoo", "Mymr", "Hans", "Hant", "Hani", "Jpan", "Tibt", "Bopo"}
)


class Tally(Segments):
    """A text under a tokenizer with its words, the maximal runs of characters other than
    white space, each as it is cut after a space, and their numbers, the maximal runs of 2
    to 8 of the digits 0 to 9.

    `whole`: words that are one token, and known; `cuts`: how often which cut of a number
    into tokens occurs, as the digits of each token that holds some; a number with an
    unknown digit has none.
    """

    def __init__(self, splitter: Splitter):
        super().__init__(splitter.encoder, decodes=True)
        self.splitter = splitter
        self.words = self.whole = 0
        self.cuts: Counter[tuple[int, ...]] = Counter()
        self._uncut: Counter[str] = Counter()

    def add(self, lines: list[str]) -> list[list[int]]:
        self._uncut.update(chain.from_iterable(map(str.split, lines)))
        if len(self._uncut) > DISTINCT:
            self._cut_words()
        return super().add(lines)

    def _cut_words(self) -> None:
        words, numbers = self._uncut, Counter[str]()
        for (word, count), split in zip(words.items(), self.splitter.split(words), strict=True):
            self.words += count
            if len(split) == 1 and not is_bracketed(split[0]):
                self.whole += count
            for number in NUMBER.findall(word):
                numbers[number] += count
        for number, split in zip(numbers, self.splitter.split(numbers), strict=True):
            cut = tuple(filter(None, map(digits, split)))
            if sum(cut) == len(number):
                self.cuts[cut] += numbers[number]
        words.clear()

    @property
    def sums(self) -> dict[str, Any]:
        """Those of lines; of ids; of words; `alike`: the numbers that are cut like most of
        as many digits. Of fewer than `LEAST_NUMBERS` there are none.
        """
        self._cut_words()
        most: dict[int, int] = {}
        for cut, count in self.cuts.items():
            most[sum(cut)] = max(most.get(sum(cut), 0), count)
        numbers = self.cuts.total()
        return {
            **super().sums,
            **{name: int(self.counts @ held) for name, held in ids_held(self.splitter).items()},
            "ids": len(self.counts),
            "ids_used": np.count_nonzero(self.counts),
            "renyi": renyi_efficiency(self.counts),
            "words": self.words,
            "whole": self.whole,
            "alike": sum(most.values()),
            "numbers": numbers if numbers >= LEAST_NUMBERS else 0,
        }


@lru_cache(1)
def ids_held(splitter: Splitter) -> dict[str, Integers]:
    """What each id holds, int64 [V]: a `single` code point besides U+2581 (a lone U+2581
    is none), `digits`, whether it is one `with_digits`, or `broken`, its bytes no whole
    characters.
    """
    pieces = splitter.encoder.pieces
    held = np.array(list(map(digits, pieces)), np.int64)
    single = [len((piece or "").replace("\u2581", "")) == 1 for piece in pieces]
    found = {"single": single, "digits": held, "with_digits": held > 0, "broken": splitter.broken}
    return {name: np.asarray(values, np.int64) for name, values in found.items()}


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


def add_lines(
    segments: Segments,
    blocks: Iterable[list[str]],
    model: Bigram | None,
    folds: bool,
) -> None:
    """Add a text, with the bits of its lines under a model, or in ten `folds`; with those
    of unknown characters.
    """
    ids: list[NDArray[np.int32]] = []
    for lines in blocks:
        rows = segments.add(lines)
        if folds:
            ids += [np.array(numbers, np.int32) for numbers in rows]
        elif model is not None:
            segments.blocks[-1]["bits"] = model.line_bits(rows)
    table = segments.table
    if folds:
        table["bits"] = fold_bits(ids, segments.encoder.size)
    table["bits"] = with_unknown_bytes(table["bits"], table["unknown_bytes"])
    segments.blocks = [table]


def encode_aligned(
    encoder: Encoder, text: Text, model: Bigram | None, folds: bool
) -> NDArray[np.void]:
    """The lines of an aligned text as `add_lines` has them, `LINE` [lines], zeros in the
    place of gaps.
    """
    segments, gaps = Segments(encoder), list[bool]()

    def present() -> Iterable[list[str]]:
        for block in text_blocks(text, aligned=True)():
            gaps.extend(map(is_gap, block))
            yield [line for line in block if not is_gap(line)]

    add_lines(segments, present(), model, folds)
    table = np.zeros(len(gaps), LINE)
    table[~np.array(gaps, bool)] = segments.table
    return table


def compare_with_english(
    own: NDArray[np.void], english: NDArray[np.void] | None
) -> tuple[dict[str, Any], Floats]:
    """The sums, and bits and bytes [2, shared], of the lines that both languages have, all
    own ones without English; sums of English begin with `english_`.
    """
    shared, base = own["bytes"] > 0, {}
    if english is not None:
        shared &= english["bytes"] > 0
        base = {f"english_{name}": value for name, value in sum_up(english[shared]).items()}
    lengths = lengths_of(own)[:, shared]
    # added line by line, as in every version of the file
    return base | sum_up(own[shared]) | {"bits": lengths.sum(1)[0].item()}, lengths


def lengths_of(table: NDArray[np.void]) -> Floats:
    """Bits and bytes of lines, float64 [2, lines]."""
    return np.array([table["bits"], table["bytes"]])


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


def show_losses(trips: RoundTrips) -> str:
    """The number of lines of each kind of loss, and an example."""
    return "; ".join(
        f"{kind} {trips.kinds[kind]}: {trips.examples[kind]}"
        for kind in LOSSES
        if trips.kinds[kind]
    )


def gini(values: Iterable[float]) -> float:
    """Gini coefficient: the mean absolute difference of all pairs, over twice the mean;
    0 is equality.

    Computed from the sorted values, none of which is negative, nor all are 0.

    >>> gini([1, 1, 1]), gini([0, 1])
    (0.0, 0.5)
    """
    ordered = sorted(values)
    total = math.fsum(ordered)
    count = len(ordered)
    ranked = math.fsum(rank * value for rank, value in enumerate(ordered, start=1))
    return max(0.0, (2 * ranked - (count + 1) * total) / (count * total))
