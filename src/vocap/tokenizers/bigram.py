"""Bits of held-out lines under a Kneser-Ney bigram over tokens: one model a language and
tokenizer.

P(w | v) = max(c(v, w) - D, 0) / c(v) + D N(v .) / c(v) P(w), N(v .) the number of
different successors of v. P(w) is made in the same way from N(. w), the number of
different predecessors of w, and from 1 / (V + 1). D = n1 / (n1 + 2 n2), n1 and n2 the
numbers of counts that are 1 and 2 (Ney, Essen and Kneser 1994). The border of a line is
a symbol beside the V ids: it precedes the first token and follows the last one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from vocap.tables.bits_per_byte import Floats, bigram_bits
from vocap.text_files.text import Text, keep_short, text_blocks
from vocap.tokenizer_files.encoders import Encoder

NO_DISCOUNT = 0.5  # D where no count is 1
CHARACTERS = (
    50_000  # of a language's training text: 86 languages take 10 s of a byte-level tokenizer.json
)
# of a text without training lines, and the lines that it needs for them
FOLDS, LEAST_LINES = (
    10,
    1000,
)


Integers = NDArray[np.int64]
Lines = Sequence[Sequence[int]] | Sequence[NDArray[np.int32]]  # of ids


@dataclass(frozen=True)
class Bigram:
    """A trained model of V ids; the border is number V.

    `pairs` int64 [P], v (V + 1) + w in rising order, with `counts` [P]; by symbol,
    float64 [V + 1]: `unigram` P(w), `occurrences` c(v), `backoff` D N(v .).
    """

    pairs: Integers
    counts: Integers
    unigram: Floats
    occurrences: Integers
    backoff: Floats
    discount: float

    @property
    def used(self) -> int:
        """The number of distinct ids that it was trained on."""
        return int(np.count_nonzero(self.occurrences[:-1]))

    def line_bits(self, lines: Lines) -> Floats:
        """Bits of each line, its end included, [lines]."""
        left, right, line = _neighbours(lines, len(self.unigram) - 1)
        return bigram_bits(self.probabilities(left, right), line, len(lines))

    def probabilities(self, left: Integers, right: Integers) -> Floats:
        """P(right | left), float64, of arrays of ids; those of a v that never occurred
        are P(right).
        """
        wanted = left * len(self.unigram) + right
        place = np.minimum(np.searchsorted(self.pairs, wanted), len(self.pairs) - 1)
        counts = np.where(self.pairs[place] == wanted, self.counts[place], 0)
        seen = self.occurrences[left]
        own = np.maximum(counts - self.discount, 0) + self.backoff[left] * self.unigram[right]
        return np.where(seen > 0, own / np.maximum(seen, 1), self.unigram[right])


def training_sample(text: Text, characters: int = CHARACTERS) -> list[str]:
    """Lines spread evenly over a text, about so many characters in all; all lines of
    one that holds fewer.
    """
    blocks = keep_short(text_blocks(text))
    share = characters / max(1, sum(map(len, chain.from_iterable(blocks()))))
    chosen, seen, kept = [], 0, 0
    for lines in blocks():
        for line in lines:
            seen += len(line)
            if line and kept < share * seen:
                kept += len(line)
                chosen.append(line)
    return chosen


def train_bigram(lines: Lines, size: int) -> Bigram:
    """The model of one or more lines of ids below `size`."""
    left, right, _ = _neighbours(lines, size)
    return _train(left, right, size)


def _train(left: Integers, right: Integers, size: int) -> Bigram:
    pairs, counts = np.unique(left * (size + 1) + right, return_counts=True)
    first, second = np.divmod(pairs, size + 1)
    successors = np.bincount(first, minlength=size + 1)
    predecessors = np.bincount(second, minlength=size + 1)
    lower = _discount(predecessors[predecessors > 0])
    spread = lower * np.count_nonzero(predecessors) / (size + 1)
    unigram = (np.maximum(predecessors - lower, 0) + spread) / len(pairs)
    discount = _discount(counts)
    return Bigram(
        pairs,
        counts,
        unigram,
        np.bincount(left, minlength=size + 1),
        discount * successors,
        discount,
    )


def train_on(text: Text | None, encoder: Encoder) -> Bigram | None:
    """The model of the sample of a training text; None where there is no text, or none
    in it.
    """
    lines = [] if text is None else training_sample(text)
    return train_bigram(encoder.encode_batch(lines), encoder.size) if lines else None


def fold_bits(lines: Lines, size: int) -> Floats:
    """Bits of each line of ids below `size` under the model of those whose number is
    another modulo `FOLDS`.

    Float64 [lines]; NaN where there are fewer than `LEAST_LINES`.
    """
    if len(lines) < LEAST_LINES:
        return np.full(len(lines), np.nan)
    left, right, line = _neighbours(lines, size)
    found = np.zeros(len(left))
    for fold in range(FOLDS):
        own = line % FOLDS == fold
        model = _train(left[~own], right[~own], size)
        found[own] = model.probabilities(left[own], right[own])
    return bigram_bits(found, line, len(lines))


def _neighbours(lines: Lines, border: int) -> tuple[Integers, Integers, Integers]:
    """All pairs of neighbours of all lines, borders included, and the number of the
    line of each, int64.
    """
    lengths = np.fromiter(map(len, lines), np.int64, len(lines)) + 1
    ended = (chain(line, [border]) for line in lines)
    symbols = np.fromiter(chain([border], chain.from_iterable(ended)), np.int64)
    return symbols[:-1], symbols[1:], np.repeat(np.arange(len(lines)), lengths)


def _discount(counts: Integers) -> float:
    once, twice = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
    return once / (once + 2 * twice) if once else NO_DISCOUNT
