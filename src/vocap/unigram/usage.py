"""The lines of a text under any tokenizer, in one table, and the measures that are sums of
its columns. Where numbers of tokens are `paid`, an unknown character counts as its bytes.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, takewhile
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vocap.tokenizer_files.encoders import SPACE, Encoder, find_unknown
from vocap.tokenizer_files.splitting import is_bracketed
from vocap.unigram.alp import average_log_probability

Amount = TypeVar("Amount", int, float, NDArray[np.int64])
# What is counted of each line: bytes of UTF-8 and characters of the raw line, ids, of which
# `unknown_tokens` are the unknown one, bytes of UTF-8 of its unknown characters, how many of
# these are dropped without a token, the ids `with_bytes`, and bits, NaN unless a model gives
# them.
COUNTED = (
    "bytes",
    "characters",
    "tokens",
    "unknown_tokens",
    "unknown_bytes",
    "dropped",
    "paid",
)
LINE = np.dtype([*((name, np.int64) for name in COUNTED), ("bits", np.float64)])
LOSSES = ("unknown", "U+2581", "spaces", "characters")
SHOWN = 24  # characters of an example, from a little before its first difference on
Sums = Mapping[str, Any]  # numbers by name
Columns = Mapping[str, str]  # of a table, each with the formula that `cell` computes


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


def cell(sums: Sums, formula: str) -> Any:
    """One of the sums, or the ratio of two; None where there is no such sum, the second
    is 0, or bits are not known.

    >>> sums = {"tokens": 6, "lines": 4}
    >>> cell(sums, "tokens"), cell(sums, "tokens / lines"), cell(sums, "100 * tokens / lines")
    (6, 1.5, 150.0)
    """
    amount, _, per = formula.partition(" / ")
    times, _, of = amount.rpartition(" * ")
    if not per:
        return sums.get(of)
    whole = sums.get(per)
    known = whole and not np.isnan(sums[of])
    return int(times or 1) * sums[of] / whole if known else None


def cells(columns: Columns, sums: Sums) -> dict[str, Any]:
    """The row of a table by column."""
    return {name: cell(sums, formula) for name, formula in columns.items()}


def sum_up(table: NDArray[np.void]) -> dict[str, Any]:
    """The number of lines, and the sums of the columns of `LINE`."""
    return {"lines": len(table)} | {name: table[name].sum().item() for name in (*COUNTED, "bits")}


def shared_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    """The length of the longest common beginning.

    >>> shared_prefix("abc", "abx"), shared_prefix([1, 2], [1, 2, 3])
    (2, 2)
    """
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


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


@dataclass
class RoundTrips:
    """Lines that were decoded again, and those that differ, decode(encode(text)) != text,
    by kind; `examples` holds the first of each kind.
    """

    lines: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def update(self, other: "RoundTrips") -> None:
        """Add the lines of another text."""
        self.lines += other.lines
        self.kinds += other.kinds
        self.examples = other.examples | self.examples

    @property
    def sums(self) -> dict[str, int]:
        """The lines, those that come back, and those that do not though all characters
        are known.
        """
        lost = self.kinds.total()
        changed = lost - self.kinds["unknown"]
        return {"lines": self.lines, "identical": self.lines - lost, "changed": changed}


class Segments:
    """A text under a tokenizer: `counts` int64 [V] by id, `unknown` characters with their
    counts, `blocks` of rows of `LINE`, and the `trips` of a text that is decoded.
    """

    def __init__(self, encoder: Encoder, decodes: bool = False):
        self.encoder, self.decodes, self.trips = encoder, decodes, RoundTrips()
        self.counts = np.zeros(encoder.size, np.int64)
        self.unknown: Counter[str] = Counter()
        self.blocks = [np.empty(0, LINE)]

    def add(self, lines: list[str]) -> list[list[int]]:
        """Segment further lines; returns the ids of each."""
        rows = self.encoder.encode_batch(lines)
        ids = np.fromiter(chain.from_iterable(rows), np.int64)
        self.counts += np.bincount(ids, minlength=len(self.counts))
        found = find_unknown(self.encoder, lines, rows)
        self.unknown.update(chain.from_iterable(one.characters for one in found))
        unk_id = -1 if self.encoder.unk_id is None else self.encoder.unk_id
        table = []
        for line, row, one in zip(lines, rows, found, strict=True):
            lost = row.count(unk_id), one.size
            paid = with_bytes(len(row), *lost)
            sizes = len(line.encode()), len(line), len(row)
            table.append((*sizes, *lost, one.dropped, paid, math.nan))
        self.blocks.append(np.array(table, LINE))
        if self.decodes:
            self._decode(lines, rows)
        return rows

    def _decode(self, lines: list[str], rows: list[list[int]]) -> None:
        """Count the last lines that do not come back."""
        self.trips.lines += len(lines)
        decoded = self.encoder.decode_batch(rows)
        for line, back, row in zip(lines, decoded, self.blocks[-1], strict=True):
            if back != line:
                kind = loss(line, back, bool(row["unknown_tokens"] or row["dropped"]))
                self.trips.kinds[kind] += 1
                self.trips.examples.setdefault(kind, example(line, back))

    @property
    def table(self) -> NDArray[np.void]:
        """All lines, `LINE` [lines]."""
        return np.concatenate(self.blocks)

    @property
    def sums(self) -> dict[str, Any]:
        """Those of `sum_up`, and ALP times lines: `nats` (Equation 1), for which `<unk>`
        is one token, and so is each dropped character.
        """
        sums = sum_up(self.table)
        counts = np.append(self.counts, sums["dropped"])
        return self.trips.sums | sums | {"nats": average_log_probability(counts, 1)}


def sums_by_side(**sides: Segments) -> dict[str, Any]:
    """The sums of several segmentations of a text, with the name of each behind them."""
    return {
        f"{name}_{side}": value for side, own in sides.items() for name, value in own.sums.items()
    }
