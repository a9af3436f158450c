"""The lines of a text under any tokenizer, in one table; in numbers of tokens an unknown
character counts as its bytes.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from vocap.tokenizer_files.encoders import SPACE, Encoder, find_unknown
from vocap.tokenizer_files.splitting import is_bracketed
from vocap.unigram.alp import average_log_probability

Amount = TypeVar("Amount", int, float, NDArray[np.int64])
# What is counted of each line: bytes of UTF-8 and characters of the raw line, ids, of which
# `unknown_tokens` are the unknown one, bytes of UTF-8 of its unknown characters, and how many
# of these are dropped without a token. `Segments.add` fills every column.
LINE = np.dtype(
    [
        (name, np.int64)
        for name in (
            "bytes",
            "characters",
            "tokens",
            "unknown_tokens",
            "unknown_bytes",
            "dropped",
        )
    ]
)


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
class Segments:
    """A text under a tokenizer: `counts` int64 [V] by id, `unknown` characters with their
    counts, and `blocks` of rows of `LINE`. Means are None for a text without a line.
    """

    encoder: Encoder
    counts: NDArray[np.int64]
    unknown: Counter[str] = field(default_factory=Counter)
    blocks: list[NDArray[np.void]] = field(default_factory=list)

    @classmethod
    def of(cls, encoder: Encoder) -> "Segments":
        """That of no text."""
        return cls(encoder, np.zeros(encoder.size, np.int64))

    def add(self, lines: list[str]) -> list[list[int]]:
        """Segment further lines; returns the ids of each."""
        rows = self.encoder.encode_batch(lines)
        ids = np.fromiter(chain.from_iterable(rows), np.int64)
        self.counts += np.bincount(ids, minlength=len(self.counts))
        found = find_unknown(self.encoder, lines, rows)
        self.unknown.update(chain.from_iterable(one.characters for one in found))
        unk_id = -1 if self.encoder.unk_id is None else self.encoder.unk_id
        cells = [
            (len(line.encode()), len(line), len(row), row.count(unk_id), one.size, one.dropped)
            for line, row, one in zip(lines, rows, found, strict=True)
        ]
        self.blocks.append(np.array(cells, LINE))
        return rows

    @property
    def table(self) -> NDArray[np.void]:
        """All lines, `LINE` [lines]."""
        return np.concatenate([np.empty(0, LINE), *self.blocks])

    @property
    def lines(self) -> int:
        return sum(map(len, self.blocks))

    def total(self, column: str) -> int:
        """The sum of a column of `LINE`."""
        return sum(int(block[column].sum()) for block in self.blocks)

    @property
    def tokens(self) -> int:
        """An unknown character counts as its bytes."""
        return with_bytes(*map(self.total, ("tokens", "unknown_tokens", "unknown_bytes")))

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
        return average_log_probability(np.append(self.counts, self.total("dropped")), self.lines)

    @property
    def unk_rate(self) -> float:
        """The share of the unknown token in all tokens, runs of characters counted once."""
        return self.total("unknown_tokens") / max(1, self.total("tokens"))
