"""Equation 1: the average log probability (ALP) of a text under the unigram
distribution of its own tokens.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # the ladder starts without the library's files of tokenizers
    from vocap.tokenizer_files.encoders import Encoder


@dataclass(frozen=True)
class CorpusAlp:
    """The result for one text: `alp` (nats a line, at most 0), `tokens`, `sentences`,
    `counts` int64 [V].
    """

    alp: float
    tokens: int
    sentences: int
    counts: np.ndarray

    @property
    def tokens_per_sentence(self) -> float:
        return self.tokens / self.sentences


def average_log_probability(counts: np.ndarray, sentences: int) -> float:
    """ALP = sum over ids of c log(c / C) / |D|, natural logarithm.

    The terms are added by `math.fsum`, so the result is exactly rounded, in any order
    and on any machine.

    Parameters
    ----------
    counts : int array [V]
        Counts c of each id (`<unk>` is one of them) in the lines of D; C is their sum.
    sentences : int
        The number of lines |D|.

    Returns
    -------
    float
        Nats a line, at most 0.

    Raises
    ------
    ValueError
        For no sentences.

    References
    ----------
    Equation 1 of Zheng et al. (2021), Allocating Large Vocabulary Capacity for
    Cross-lingual Language Model Pre-training.

    Examples
    --------
    >>> average_log_probability(np.array([2, 2]), 1) == 4 * math.log(1 / 2)
    True
    """
    counts = np.asarray(counts, np.int64)
    if sentences < 1:
        raise ValueError(f"ALP is a mean over sentences; there are {sentences}")
    total = int(counts.sum())
    # most ids share their count with many
    different, times = np.unique(counts[counts > 0], return_counts=True)
    # math.log, not numpy's: that one has vector code of its own for each kind of
    # processor
    terms = np.array([count * math.log(count / total) for count in different.tolist()])
    # A term that occurs 5 times is added as 4 times itself and itself: powers of two
    # leave nothing to round.
    powers = range(int(times.max(initial=0)).bit_length())
    sums = [np.ldexp(terms[times >> power & 1 == 1], power) for power in powers]
    return math.fsum(chain.from_iterable(part.tolist() for part in sums)) / sentences


def count_tokens(encoder: "Encoder", blocks: Iterable[list[str]]) -> tuple[np.ndarray, int]:
    """Counts int64 [V] of each id in all lines, and the number of lines, empty ones
    included; only one block's ids are held at a time.
    """
    counts = np.zeros(encoder.size, np.int64)
    sentences = 0
    for lines in blocks:
        ids = np.fromiter(chain.from_iterable(encoder.encode_batch(lines)), np.int64)
        counts += np.bincount(ids, minlength=encoder.size)
        sentences += len(lines)
    return counts, sentences


def corpus_alp(encoder: "Encoder", blocks: Iterable[list[str]]) -> CorpusAlp | None:
    """ALP of a text, given in blocks of lines; None where it has no line.

    The counts of p_uni come from the same lines, and every line counts in |D|.
    """
    counts, sentences = count_tokens(encoder, blocks)
    if not sentences:
        return None
    return CorpusAlp(
        average_log_probability(counts, sentences), int(counts.sum()), sentences, counts
    )
