"""The tokens of a text under any tokenizer, an unknown character counted as its bytes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from vocap.tokenizer_files.encoders import SPACE, Encoder, find_unknown
from vocap.tokenizer_files.splitting import is_bracketed
from vocap.unigram.alp import average_log_probability

Amount = TypeVar("Amount", int, float, NDArray[np.int64])


def with_bytes(tokens: Amount, unknown_tokens: Amount, unknown_bytes: Amount) -> Amount:
    """A number of tokens in which each unknown character counts as its bytes: `<unk>`
    stands for a whole run of text, so that tokens alone reward it. Numbers or arrays.
    """
    return tokens - unknown_tokens + unknown_bytes


def tokens_of(split: Sequence[str]) -> int:
    """The tokens of a split in the common notation, as `with_bytes`.

    >>> tokens_of(("▁a", "⟨é⟩"))
    3
    """
    return sum(
        len(one[1:-1].replace(SPACE, " ").encode()) if is_bracketed(one) else 1 for one in split
    )


@dataclass
class Usage:
    """The tokens of a text: `counts` int64 [V] by id, and the bytes of UTF-8 of its
    unknown characters, of which `dropped` have no token either. Means are None for a
    text without a line.
    """

    encoder: Encoder
    counts: NDArray[np.int64]
    lines: int = 0
    unknown_bytes: int = 0
    dropped: int = 0

    @classmethod
    def of(cls, encoder: Encoder) -> "Usage":
        """That of no text."""
        return cls(encoder, np.zeros(encoder.size, np.int64))

    def add(self, lines: Sequence[str], rows: Sequence[Sequence[int]]) -> list[int]:
        """Count the ids of lines, a row each; returns the tokens of each line."""
        ids = np.fromiter(chain.from_iterable(rows), np.int64)
        self.counts += np.bincount(ids, minlength=len(self.counts))
        self.lines += len(rows)
        unknown = self.encoder.unk_id
        found = find_unknown(self.encoder, lines, rows)
        self.unknown_bytes += sum(one.size for one in found)
        self.dropped += sum(one.dropped for one in found)
        return [
            with_bytes(len(row), row.count(unknown), one.size)
            for row, one in zip(rows, found, strict=True)
        ]

    @property
    def unknown_tokens(self) -> int:
        unknown = self.encoder.unk_id
        return 0 if unknown is None else int(self.counts[unknown])

    @property
    def tokens(self) -> int:
        """An unknown character counts as its bytes."""
        return with_bytes(int(self.counts.sum()), self.unknown_tokens, self.unknown_bytes)

    @property
    def tokens_per_sentence(self) -> float | None:
        return self.tokens / self.lines if self.lines else None

    @property
    def alp(self) -> float | None:
        """Nats a line (Equation 1), for which `<unk>` is one token, and so is each dropped
        character.
        """
        if not self.lines:
            return None
        return average_log_probability(np.append(self.counts, self.dropped), self.lines)

    @property
    def unk_rate(self) -> float:
        """The share of the unknown token in all tokens, runs of characters counted once."""
        return self.unknown_tokens / max(1, int(self.counts.sum()))
