"""Tokens and ALP of held-out text under the first merges of a training, for every T."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from vocap.bpe.tokenizer_json import Rows
from vocap.bpe.training import count_merged_tokens, merges_for, token_names
from vocap.bpe.words import Alphabet, Words, count_words
from vocap.errors import UsageError
from vocap.tables.curve import Measured
from vocap.text_files.text import Text, text_blocks
from vocap.unigram.alp import average_log_probability
from vocap.unigram.training_text import Borders


@dataclass(frozen=True)
class HeldOut:
    """Held-out text of the language `code`: `lines` that hold text, and their `size` in
    bytes of UTF-8.

    `words`: the text between special tokens and symbols; `symbols`: how often each of
    these occurs.
    """

    code: str
    lines: int
    size: int
    words: Words
    symbols: NDArray[np.int64]


def ids_of_sizes(
    alphabet: Alphabet, merges: NDArray[np.int32], rows: Rows, totals: Iterable[int]
) -> dict[int, int]:
    """The number of merges (of int32 [M, 3]) of each T, rising; T beyond the text is
    the largest that it gives, T below the alphabet is left out.
    """
    most = len(rows.ids(token_names(alphabet, merges)))
    ranks = {}
    for total in sorted({min(total, most) for total in totals}):
        with suppress(UsageError):  # below the alphabet
            tokens = rows.tokens(total, alphabet, exact=False)
            ranks[total] = len(merges_for(merges, tokens, len(alphabet.names)))
    return ranks


def read_heldout(code: str, text: Text, rows: Rows) -> HeldOut | None:
    """The held-out text of a language; None for one without text."""
    lines = [line for block in text_blocks(text)() for line in block if line]
    if not lines:
        return None
    added = Borders([*rows.controls, *rows.symbols, *rows.last]).pattern
    parts = list(filter(None, chain.from_iterable(map(added.split, lines))))
    symbols = Counter(chain.from_iterable(map(added.findall, lines)))
    return HeldOut(
        code,
        len(lines),
        sum(len(line.encode("utf-8")) for line in lines),
        count_words([partial(iter, [parts])], rows.how),
        np.array(list(symbols.values()), np.int64),
    )


def measure_merges(
    texts: Sequence[HeldOut],
    alphabet: Alphabet,
    merges: NDArray[np.int32],
    ranks: Mapping[int, int],
) -> list[Measured]:
    """Tokens and ALP (Equation 1) of the texts under each T of `ids_of_sizes`."""
    words = [text.words for text in texts]
    measured = []
    found = count_merged_tokens(alphabet, words, 0, merges, list(ranks.values()))
    for total, tokens in zip(ranks, found, strict=True):
        for text, own in zip(texts, tokens, strict=True):
            counts = np.append(own, text.symbols)  # each of them is a token
            alp = average_log_probability(counts, text.lines)
            measured.append(
                Measured(total, text.code, text.lines, text.size, int(counts.sum()), alp)
            )
    return measured
