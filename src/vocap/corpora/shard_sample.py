"""The parts of a text's files that a sample is drawn from, as they are read, and the
estimate of the whole text from them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from vocap.corpora.shard_plan import (
    LEAST_POSITIONS,
    MISSES,
    QUOTA,
    estimate_total,
    part_at,
    positions,
    quota_of,
    spread_quotas,
)
from vocap.errors import VocapError
from vocap.progress import Progress
from vocap.storage.remote import Shard, address_of, is_remote
from vocap.text_files import Layout
from vocap.text_files.lines import survey
from vocap.text_files.parquet import FOOTER, Footer
from vocap.text_files.records import Corpus, TextFile, prefix_note

if TYPE_CHECKING:
    from vocap.text_files.filters import RecordFilter  # pydantic

_MARGIN = 1.5  # lines read for each that is wanted, where no limit is given
_KEPT_FOOTERS = 1 << 26  # bytes, of those that are kept


@dataclass
class _Part:
    """A part that was read: its file, the positions in it, the stored bytes that its
    counts are of, and these: valid lines and bytes of text.
    """

    shard: int
    drawn: int
    span: float = 0.0
    valid: int = 0
    bytes: int = 0


class ShardSample:
    """The files of one language, all of them or parts spread evenly over their bytes;
    iterate once, then read the attributes.

    Of Parquet a part is a row group, of other formats the beginning of a file. The
    reader of each file puts into its `counts` what it found.

    Parameters
    ----------
    shards, layout
        The files.
    scan_bytes
        Bytes read at most, as stored, of Parquet those of the text. None: local files
        are read whole, of remote ones what `lines` lines need, half as many again.
    lines, seed
        Of the sample.
    chosen
        Filters that leave out records.

    Attributes
    ----------
    consumed, total : bytes read, and those of all files, None if unknown.
    complete : whether everything was read.
    """

    def __init__(
        self,
        shards: Sequence[Shard],
        layout: Layout,
        scan_bytes: int | None,
        lines: int,
        seed: int,
        chosen: "RecordFilter | None" = None,
    ) -> None:
        self.chosen = chosen
        self.shards, self.layout, self.limit, self.seed = shards, layout, scan_bytes, seed
        self.sizes = np.array([shard.size for shard in shards], np.int64)
        self.stored = int(self.sizes.sum())
        self.total: int | None = self.stored
        self.wanted, self.valid = lines * _MARGIN, 0
        self.consumed, self.complete = 0, not shards
        self.parts: list[_Part] = []
        self._footers: dict[int, Footer] = {}
        self._progress = Progress(f"sample of {len(shards):,} files", "what is to be read")

    def __iter__(self) -> Iterator[TextFile]:
        if self.limit is None:
            in_part = any(is_remote(shard.path) for shard in self.shards)
        else:
            in_part = self.limit < self.stored
        # what was fetched in part is no more than was asked for
        fetched_in_part = any(prefix_note(shard.path) for shard in self.shards)
        if not in_part or not self.stored or fetched_in_part:
            yield from self._whole()
        elif self.layout.kind == "parquet":
            yield from self._row_groups()
        else:
            yield from self._beginnings()

    def _whole(self) -> Iterator[TextFile]:
        """All files, in order."""
        corpus = Corpus(self.shards, self.layout, self.chosen)
        for index, file in enumerate(corpus):
            yield file
            self._note(_Part(index, 1), file, file.size)
        self.complete, self.total = corpus.complete, corpus.total

    def _note(self, part: _Part, file: TextFile, span: float) -> None:
        """Take the counts of a part whose file was read."""
        part.span, part.valid, part.bytes = span, file.counts["valid"], file.counts["bytes"]
        self.parts.append(part)
        self.consumed += file.consumed
        self.valid += part.valid
        needed = self.consumed * self.wanted / max(1, self.valid)
        self._progress.tell(
            self.valid,
            self.consumed,
            min(self.stored, self.limit or round(needed)),
            f", {len(self.parts):,} parts, {self.consumed:,} bytes",
        )

    def _beginnings(self) -> Iterator[TextFile]:
        """The beginning of each file that positions fall into, in order; where lines
        still lack, of further files.
        """
        limit = self.limit or self._needed()
        if self.limit is None and limit > self.stored / 2:
            yield from self._whole()
            return
        places = positions(self.seed)
        quota = quota_of(limit)
        drawn = spread_quotas(self.sizes, limit, quota, places)
        left = (drawn == 0) & (self.sizes > 0)
        for index in np.flatnonzero(drawn).tolist():
            yield from self._beginning(index, int(drawn[index]), quota)
        if not self.parts:
            raise VocapError(
                f"{address_of(self.shards[0].path)}: {quota:,} bytes of a file hold no whole line, "
                "or no whole block of compressed data; raise scan_bytes"
            )
        further = islice(places, MISSES) if self.limit is None else ()
        for place in further:
            index, _ = part_at(self.sizes, place)
            if left[index] and self.valid * _MARGIN < self.wanted:
                left[index] = False
                yield from self._beginning(index, 1, quota)
        self.complete = self.consumed == self.stored

    def _beginning(self, index: int, drawn: int, quota: int) -> Iterator[TextFile]:
        most = drawn * quota
        limit = most if most < self.sizes[index] else None
        file = TextFile(self.shards[index], self.layout, limit, chosen=self.chosen)
        yield file
        if file.spanned:
            self._note(_Part(index, drawn), file, file.spanned)

    def _needed(self) -> int:
        """Bytes that the lines wanted need, by the beginning of one file."""
        index, _ = part_at(self.sizes, next(positions(self.seed)))
        # of its own, since a filter counts, and keeps what it has seen
        chosen = type(self.chosen)(self.chosen.filters) if self.chosen else None
        file = TextFile(self.shards[index], self.layout, QUOTA, chosen=chosen)
        lines = sum(len(survey(block).starts) for block in file)
        return math.ceil(self.wanted * file.spanned / lines) if lines else self.stored

    def _row_groups(self) -> Iterator[TextFile]:
        """Row groups, in the order of the positions that fall into them."""
        read: dict[tuple[int, int], _Part] = {}
        misses = 0
        for place in positions(self.seed):
            index, inner = part_at(self.sizes, place)
            footer = self._footer(index)
            number = part_at(footer.sizes, inner)[0] if len(footer.sizes) else -1
            if number < 0 or (index, number) in read:
                misses += 1
                if number >= 0:
                    read[index, number].drawn += 1
                if misses < MISSES:
                    continue
            enough = misses == MISSES or self._is_enough(footer, number)
            if enough or (self.limit is None and self._is_nearly_all()):
                break
            misses = 0
            part = read[index, number] = _Part(index, 1)
            span = self.sizes[index] * footer.sizes[number] / footer.sizes.sum()
            yield from self._groups(part, footer, [number], float(span))
        if self.limit is None and self._is_nearly_all():
            for index in range(len(self.shards)):
                footer = self._footer(index)
                others = [
                    number for number in range(len(footer.sizes)) if (index, number) not in read
                ]
                yield from self._groups(_Part(index, 1), footer, others, 0.0)
            self.consumed, self.complete = self.stored, True

    def _groups(
        self, part: _Part, footer: Footer, numbers: list[int], span: float
    ) -> Iterator[TextFile]:
        file = TextFile(
            self.shards[part.shard],
            self.layout,
            row_groups=(footer, numbers),
            chosen=self.chosen,
        )
        yield file
        self._note(part, file, span)

    def _footer(self, index: int) -> Footer:
        """The footer of a file, read once where memory allows."""
        if index in self._footers:
            return self._footers[index]
        lengths = [len(known.stored) for known in self._footers.values()]
        # those of one text are about as long as each other
        expected = max(lengths) * 9 // 8 if lengths else FOOTER
        footer = Footer.read(self.shards[index], self.layout.field, expected)
        if sum(lengths) < _KEPT_FOOTERS:
            self._footers[index] = footer
        return footer

    def _is_enough(self, footer: Footer, number: int) -> bool:
        """Whether nothing is to be read beyond the limit, or the lines wanted."""
        if not self.parts:
            return False
        if self.limit is not None:
            return self.consumed + int(footer.column[number]) > self.limit
        return self.valid >= self.wanted and len(self.parts) >= LEAST_POSITIONS

    def _is_nearly_all(self) -> bool:
        """Whether the lines wanted need more than half of the text."""
        spanned = sum(part.span for part in self.parts)
        return bool(self.parts) and self.wanted * spanned > self.valid * self.stored / 2

    def estimate(self, name: str, seen: int) -> tuple[int, list[int] | None]:
        """The `valid` lines or the `bytes` of the whole text, of which `seen` were read,
        and the interval of 95 % that holds them, None where it cannot be told.
        """
        if self.complete:
            return seen, [seen, seen]
        if self.total is None or self.total > self.stored:  # of files fetched in part
            return round(seen * (self.total or self.consumed) / max(1, self.consumed)), None
        columns = [(part.drawn, part.span, getattr(part, name)) for part in self.parts]
        drawn, spans, values = np.array(columns, float).T
        value, interval = estimate_total(self.stored, drawn, spans, values)
        if interval is None:
            return round(value), None
        return round(value), [max(seen, math.floor(interval[0])), math.ceil(interval[1])]
