"""One pass over a language's text: what is in it, and a bounded random sample of its lines."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from vocap.corpora import MAX_LINE_BYTES
from vocap.corpora.records import TextFile
from vocap.errors import VocapError


def _white_pairs() -> np.ndarray:
    """Whether a line that starts with these two bytes (first x 256 + second) may be white space alone."""
    pairs = np.zeros((256, 256), bool)
    for byte in (*range(9, 14), *range(28, 33)):
        pairs[byte] = True
    for first, second in ((0xC2, 0x85), (0xC2, 0xA0), (0xE1, 0x9A), (0xE2, 0x80), (0xE2, 0x81), (0xE3, 0x80)):
        pairs[first, second] = True
    return pairs.ravel()


_WHITE_PAIRS = _white_pairs()


@dataclass
class Survey:
    """The lines of one block: int64 arrays of the valid ones' first byte and of the byte after their last."""

    starts: np.ndarray
    ends: np.ndarray
    read: int
    empty: int
    overlong: int
    invalid_utf8: int


def survey(block: bytes) -> Survey:
    r"""Sort out the lines of a block that ends with `\n`; a `\r` before `\n` belongs to neither line nor text.

    A line that is several things counts once, as the first of: overlong, invalid, empty (white space only). A line
    with a NUL counts as invalid: SentencePiece refuses it, and text in UTF-16 looks like that.
    """
    data = np.frombuffer(block, np.uint8)
    stops = np.flatnonzero(data == 10)
    starts = np.empty_like(stops)
    starts[0] = 0
    starts[1:] = stops[:-1] + 1
    ends = stops.copy()
    if b"\r" in block:
        while (returns := (ends > starts) & (data[np.maximum(ends - 1, 0)] == 13)).any():
            ends -= returns
    lengths = ends - starts
    overlong = lengths > MAX_LINE_BYTES
    valid = ~overlong

    invalid = 0
    try:
        block.decode()
        clean = b"\0" not in block
    except UnicodeDecodeError:
        clean = False
    if not clean:
        for index, line in enumerate(block[:-1].split(b"\n")):
            if valid[index] and not _is_text(line):
                valid[index] = False
                invalid += 1

    empty = (lengths == 0) & valid
    second = data[np.minimum(starts + 1, len(data) - 1)]
    suspects = _WHITE_PAIRS[data[starts].astype(np.intp) << 8 | second] & valid & (lengths > 0)
    for index in np.flatnonzero(suspects).tolist():
        empty[index] = not block[starts[index] : ends[index]].decode().strip()
    valid &= ~empty
    return Survey(
        starts=starts[valid],
        ends=ends[valid],
        read=len(stops),
        empty=int(empty.sum()),
        overlong=int(overlong.sum()),
        invalid_utf8=invalid,
    )


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in line


class Reservoir:
    """Which items of a stream a uniform sample of `size` keeps: Algorithm L (Li 1994), skipping most of them.

    Draws depend on the position in the stream alone, so cutting the stream into other blocks changes nothing.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seen = size, 0
        self._random = np.random.Generator(np.random.PCG64(seed)).random
        self._weight = 1.0
        self._next = size - 1  # position of the next item kept, once the reservoir is full
        self._skip()

    def _skip(self) -> None:
        self._weight *= math.exp(math.log(1.0 - self._random()) / self.size)
        gap = math.log(1.0 - self._random()) / math.log1p(-self._weight) if self._weight < 1 else 0
        self._next += int(min(gap, 2.0**62)) + 1

    def offer(self, count: int) -> tuple[list[int], list[int]]:
        """Of the next `count` items: the indices of those kept, rising, and the slot that each is put into."""
        end = self.seen + count
        filled = min(end, self.size)
        indices = list(range(filled - self.seen))
        slots = list(range(self.seen, filled))
        while self._next < end:
            indices.append(self._next - self.seen)
            slots.append(int(self._random() * self.size))
            self._skip()
        self.seen = end
        return indices, slots


def heldout_count(kept: int) -> int:
    """Lines held out of `kept`: max(1 %, min(500, 10 %)), at most 10,000, and never the only line."""
    return min(10_000, max(-(-kept // 100), min(500, kept // 10)), kept // 2)


def limit_characters(lines: list[bytes], limit: int | None, seed: int) -> list[bytes]:
    """As many lines, drawn at random, as hold no more than `limit` characters, in their order; None: all."""
    if limit is None or sum(map(len, lines)) <= limit:  # a character has a byte at least
        return lines
    characters = np.fromiter((len(line.decode()) for line in lines), np.int64, len(lines))
    order = np.random.Generator(np.random.PCG64([seed, 2])).permutation(len(lines))
    fitting = np.searchsorted(np.cumsum(characters[order]), limit, side="right")
    return [lines[index] for index in np.sort(order[:fitting]).tolist()]


@dataclass
class Sample:
    r"""Lines (bytes without `\n`) in corpus order, and the counts of `stats.json`."""

    train: list[bytes]
    heldout: list[bytes]
    counts: dict[str, int]


def draw_sample(
    files: Iterable[TextFile],
    max_sentences: int,
    seed: int,
    progress: Callable[[TextFile, int], None] = lambda file, read: None,
    max_characters: int | None = None,
) -> Sample:
    """A uniform sample of the valid lines of `files`, read once, cut into train and held-out lines by content.

    Memory: `max_sentences` times (line length + 200 bytes): 350 MB for a million lines of 140 bytes, never more
    than 4.5 GB for a million; the files may be of any size. Of equal lines in the sample the first stays, so no
    line is in both parts. Where the lines hold more than `max_characters`, a uniform sample of them does not.
    `progress` is told of the file and the lines read after every block. Raises VocapError for a file in which more
    than a tenth of the lines are not UTF-8.
    """
    lines, counts = _read(files, Reservoir(max_sentences, seed), progress)
    distinct = list(dict.fromkeys(lines))
    kept = limit_characters(distinct, max_characters, seed)
    generator = np.random.Generator(np.random.PCG64([seed, 1]))
    out = np.zeros(len(kept), bool)
    out[generator.choice(len(kept), heldout_count(len(kept)), replace=False)] = True
    train = [line for line, held in zip(kept, out, strict=True) if not held]
    heldout = [line for line, held in zip(kept, out, strict=True) if held]
    counts["duplicates"] = len(lines) - len(distinct)
    counts["left_out"] = len(distinct) - len(kept)
    counts["kept"], counts["train"], counts["heldout"] = len(kept), len(train), len(heldout)
    return Sample(train, heldout, counts)


def _read(
    files: Iterable[TextFile], reservoir: Reservoir, progress: Callable[[TextFile, int], None]
) -> tuple[list[bytes], dict[str, int]]:
    """The lines that the reservoir keeps, in corpus order, and what was counted on the way."""
    lines: list[bytes] = []
    order: list[int] = []
    names = ("read", "empty", "overlong", "invalid_utf8", "no_field", "bytes")
    counts = dict.fromkeys(names, 0)
    for file in files:
        read, invalid = counts["read"], counts["invalid_utf8"]
        for block in file:
            found = survey(block)
            counts["bytes"] += len(block)
            for name in ("read", "empty", "overlong", "invalid_utf8"):
                counts[name] += getattr(found, name)
            progress(file, counts["read"])
            seen = reservoir.seen
            indices, slots = reservoir.offer(len(found.starts))
            if not indices:
                continue
            if len(indices) < len(found.starts):
                found.starts, found.ends = found.starts[indices], found.ends[indices]
            first, last = found.starts.tolist(), found.ends.tolist()
            room = reservoir.size - len(lines)  # until it is full, lines come first, one after the other
            lines += [block[start:end] for start, end in zip(first[:room], last[:room], strict=True)]
            order += range(seen, seen + min(room, len(first)))
            for slot, start, end, index in zip(
                slots[room:], first[room:], last[room:], indices[room:], strict=True
            ):
                lines[slot] = block[start:end]
                order[slot] = seen + index
        counts["read"] += file.passed_over + file.undecodable
        counts["overlong"] += file.passed_over
        counts["bytes"] += file.passed_bytes
        counts["invalid_utf8"] += file.undecodable
        counts["no_field"] += file.no_field
        read, invalid = counts["read"] - read, counts["invalid_utf8"] - invalid
        if invalid > 0.1 * read:
            raise VocapError(
                f"{file.path}: not UTF-8: {invalid:,} of {read:,} lines cannot be decoded; "
                "convert the file (iconv -f ENCODING -t UTF-8), or check that it is text"
            )

    if reservoir.seen > reservoir.size:
        lines = [lines[slot] for slot in np.argsort(np.array(order, np.int64)).tolist()]
    counts["valid"] = reservoir.seen
    return lines, counts
