"""The parts of a text's files that a sample is drawn from, as they are read, and the
estimate of the whole text from them.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vocap.corpora.shard_plan import (
    BEGINNING,
    BZIP2_QUOTA,
    FEWEST,
    QUOTA,
    draw_items,
    draw_lengths,
    estimate_total,
    fit_chances,
)
from vocap.errors import VocapError
from vocap.progress import Progress
from vocap.storage.remote import Shard, address_of, is_remote
from vocap.text_files import Layout
from vocap.text_files.lines import prefix_note, survey
from vocap.text_files.parquet import Footer
from vocap.text_files.records import TextFile

if TYPE_CHECKING:
    from vocap.text_files.filters import RecordFilter  # pydantic

_MARGIN = 1.5  # lines read for each that is wanted, where no limit is given
_FOOTERS = 64  # files at least whose row groups are drawn from, if the text has them
_LEAST_GROUPS = 8  # row groups read before it is known how many lines they hold
_LEAST_LINE = 4  # stored bytes; a text that has fewer for each line wanted is read whole
_TRIES = 1000  # of a start at which a row group is drawn
_KEPT_FOOTERS = 1 << 24  # bytes as stored, of those that are kept


@dataclass
class _Part:
    """A part that was read: its file, the stored bytes that its counts are of, and
    these: valid lines and bytes of text.
    """

    shard: int
    span: float
    valid: int
    bytes: int


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
        bzip2 = any(str(shard.path).endswith(".bz2") for shard in shards)
        self._quota = BZIP2_QUOTA if bzip2 else QUOTA
        self._footers: dict[int, Footer] = {}
        self._read: set[tuple[int, int]] = set()  # row groups, as numbers of file and group
        self._generator = np.random.Generator(np.random.PCG64([seed, 3]))
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
        self.complete, totals = True, []
        for index, shard in enumerate(self.shards):
            file = TextFile(shard, self.layout, chosen=self.chosen)
            yield file
            self._note(index, file, file.size)
            self.complete &= file.ended
            totals.append(file.total)
        known = [total for total in totals if total is not None]
        self.total = sum(known) if len(known) == len(totals) else None

    def _note(self, index: int, file: TextFile, span: float) -> None:
        """Take the counts of a part whose file was read."""
        part = _Part(index, span, file.counts["valid"], file.counts["bytes"])
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
        """The beginning of each file that is drawn, in order."""
        limit = self.limit or self._needed()
        if self.limit is None and limit > self.stored / 2:
            yield from self._whole()
            return
        lengths = self._draw_beginnings(limit)
        for index in np.flatnonzero(lengths).tolist():
            most = int(lengths[index]) if lengths[index] < self.sizes[index] else None
            file = TextFile(self.shards[index], self.layout, most, chosen=self.chosen)
            yield file
            if file.spanned:
                self._note(index, file, file.spanned)
        if not self.parts:
            raise VocapError(
                f"{address_of(self.shards[0].path)}: {int(lengths.max()):,} bytes of a file hold "
                "no whole line, or no whole block of compressed data; raise scan_bytes"
            )
        self.complete = self.consumed == self.stored

    def _draw_beginnings(self, limit: int) -> np.ndarray:
        """The bytes to read of each file, at most `limit` together."""
        quota = max(1, min(self._quota, limit // FEWEST))
        rate = min(1.0, limit / self.stored)
        lengths = draw_lengths(self.sizes, rate, quota, self._generator.random())
        # what goes beyond the limit is cut from files that are cut anyway: of a small one a
        # block of compressed data, which is all that it has, would be lost
        whole = self._generator.permutation(np.flatnonzero(lengths == self.sizes))
        lengths[whole[np.cumsum(lengths[whole]) > limit]] = 0
        cut = lengths < self.sizes
        left = limit - lengths[~cut].sum()
        lengths[cut] *= min(1.0, left / max(1.0, lengths[cut].sum()))
        return np.floor(lengths)

    def _needed(self) -> int:
        """Bytes that the lines wanted need, by the beginnings of some files."""
        lines, spanned = 0, 0.0
        lengths = self._draw_beginnings(FEWEST * self._quota)
        for index in np.flatnonzero(lengths).tolist():
            # of its own, since a filter counts, and keeps what it has seen
            chosen = type(self.chosen)(self.chosen.filters) if self.chosen else None
            file = TextFile(self.shards[index], self.layout, int(lengths[index]), chosen=chosen)
            lines += sum(len(survey(block).starts) for block in file)
            spanned += file.spanned
        if not lines:
            return self.stored
        return max(FEWEST * self._quota, math.ceil(self.wanted * spanned / lines))

    def _row_groups(self) -> Iterator[TextFile]:
        """Row groups, all with the same chance, in order; where no limit is given, some,
        and then as many as the lines wanted need by these.
        """
        # a group as of the file in the middle of the text: whichever file this is, its
        # groups have no other chance
        middle = int(np.searchsorted(np.cumsum(self.sizes), self.stored / 2))
        footer, size = self._footer(middle), int(self.sizes[middle])
        group, column = size / max(1, len(footer.sizes)), max(1, int(footer.column.sum()))
        if self.limit is not None:
            wanted = max(group, self.limit * size / column)
            yield from self._groups(self._draw_groups(wanted, group, self.limit))
        elif self.stored * column / size < self.wanted * _LEAST_LINE:
            yield from self._whole()
            return
        else:
            yield from self._groups(self._draw_groups(_LEAST_GROUPS * group, group))
            spanned = sum(part.span for part in self.parts)
            needed = self.wanted * spanned / max(1, self.valid)
            if needed > self.stored / 2:
                yield from self._groups(self._draw_groups(self.stored, group))
            elif needed > spanned:
                yield from self._groups(self._draw_groups(needed - spanned, group))
        if round(sum(part.span for part in self.parts)) == self.stored:
            self.consumed, self.complete = self.stored, True

    def _draw_groups(
        self, wanted: float, group: float, limit: float = math.inf
    ) -> list[tuple[int, int]]:
        """Row groups of about `wanted` stored bytes, as numbers of file and group; of their
        text at most `limit` bytes, or one group.

        `group`: stored bytes of one, about.
        """
        rate, least = min(1.0, wanted / self.stored), min(group, wanted / _FOOTERS)
        for _ in range(_TRIES):
            lengths = draw_lengths(self.sizes, rate, least, self._generator.random())
            files = np.flatnonzero(lengths)
            footers = list(map(self._footer, files.tolist()))
            counts = [len(footer.sizes) for footer in footers]
            columns = np.concatenate([footer.column for footer in footers])
            chances = np.repeat(lengths[files] / self.sizes[files], counts)
            chances = fit_chances(chances, columns, limit)
            drawn = np.flatnonzero(draw_items(chances, self._generator.random()))
            if len(drawn):
                break
        numbers = np.concatenate(list(map(np.arange, counts)))
        order = self._generator.permutation(drawn)
        fitting = np.searchsorted(np.cumsum(columns[order]), limit, side="right")
        chosen = np.sort(order[: max(1, fitting)])
        owners = np.repeat(files, counts)[chosen]
        return list(zip(owners.tolist(), numbers[chosen].tolist(), strict=True))

    def _groups(self, groups: Iterable[tuple[int, int]]) -> Iterator[TextFile]:
        """Those of the row groups that were not read yet."""
        for index, number in groups:
            if (index, number) in self._read:
                continue
            self._read.add((index, number))
            footer = self._footer(index)
            file = TextFile(
                self.shards[index],
                self.layout,
                row_groups=(footer, [number]),
                chosen=self.chosen,
            )
            yield file
            self._note(
                index, file, float(self.sizes[index] * footer.sizes[number] / footer.sizes.sum())
            )

    def _footer(self, index: int) -> Footer:
        """The footer of a file, read once where memory allows."""
        if index in self._footers:
            return self._footers[index]
        footer = Footer.read(self.shards[index], self.layout.field)
        lengths = [known.metadata.serialized_size for known in self._footers.values()]
        if sum(lengths) < _KEPT_FOOTERS:
            self._footers[index] = footer
        return footer

    def estimate(self, name: str, seen: int) -> tuple[int, list[int] | None]:
        """The `valid` lines or the `bytes` of the whole text, of which `seen` were read,
        and the interval of 95 % that holds them, None where it cannot be told.
        """
        if self.complete:
            return seen, [seen, seen]
        if self.total is None or self.total > self.stored:  # of files fetched in part
            return round(seen * (self.total or self.consumed) / max(1, self.consumed)), None
        columns = [(part.span, getattr(part, name)) for part in self.parts]
        spans, values = np.array(columns, float).T
        unlike = 0.0 if self.layout.kind == "parquet" else BEGINNING
        value, interval = estimate_total(self.stored, spans, values, unlike)
        if interval is None:
            return round(value), None
        return round(value), [max(seen, math.floor(interval[0])), math.ceil(interval[1])]
