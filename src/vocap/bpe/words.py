"""A text as words of symbols: the input of training, counted once for every setting of
weights.

Text is cut into words as `cutting` says. A symbol is a byte, in the order of the
byte-level alphabet of `tokenizers`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vocap.bpe.cutting import KEPT, Pretokenization, word_places
from vocap.errors import VocapError
from vocap.tokenizer_files.cuts import SPACE
from vocap.tokenizer_files.encoders import byte_characters
from vocap.unigram.counts import Counts
from vocap.unigram.training_text import LINE_END
from vocap.unigram.word_table import RUNS, STRETCHES, TEXTS, WordTable

BYTES = 256
AT_ONCE = 1 << 16  # stretches that become words, words that become symbols


@dataclass(frozen=True)
class Words:
    """K distinct words of one or several texts: word k is
    `store[bounds[k]:bounds[k + 1]]`, code points int32.

    `counts` int64 [K, texts].
    """

    store: np.ndarray
    bounds: np.ndarray
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        return np.diff(self.bounds).astype(np.int32)

    def of(self, text: int) -> "Words":
        """The words of one of the texts."""
        kept = np.flatnonzero(self.counts[:, text])
        return join([(self, kept, self.counts[kept, text : text + 1])])


def count_words(
    texts: Sequence[Callable[[], Iterable[list[str]]]],
    how: Pretokenization,
    counts: Counts | None = None,
    memory: int | None = None,
) -> Words:
    """The words of texts, each a function that gives its lines in blocks.

    `counts`: the first text, named train, but for lines that it then gives; without an
    expression of the user. Memory follows distinct stretches and words; large
    arrays lie on the disk by `memory` (MB). Raises as `word_places`, and `Counts.check`.
    """
    words = WordTable(len(texts), memory)
    for store, bounds, counted in _stretches(texts, how, words, counts):
        start, length, owner = word_places(how.cut, store, bounds)
        added = np.zeros((len(start), TEXTS + len(texts)), np.int64)
        added[:, TEXTS:] = counted[owner]
        words.add_counted(store, start.astype(np.int32), length.astype(np.int32), added)
    return _as_words(words, slice(TEXTS, None))


def _stretches(
    texts: Sequence[Callable[[], Iterable[list[str]]]],
    how: Pretokenization,
    words: WordTable,
    counts: Counts | None,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Stretches of text that are cut one by one: code points, where each begins, counts
    int64 [stretches, texts].

    Lines for an expression of the user; else the distinct stretches between runs of
    spaces, once all are counted; none where these are the words, which are counted in `words`.
    """
    table = words if how.cut.by_spaces else WordTable(len(texts), words.memory)
    # an expression may join other white space and the spaces behind it
    cut = RUNS if how.cut.by_class or how.cut.by_spaces else STRETCHES
    if counts is not None:
        counts.check(how.settings)
        counts.add_to(table, cut, slice(TEXTS, TEXTS + 1))
    for number, blocks in enumerate(texts):
        for block in how.normalized(blocks()):
            points = np.frombuffer(block, np.int32)
            if how.regex is not None:
                ends = np.flatnonzero(points == ord(LINE_END))
                bounds = np.concatenate([[0], ends - np.arange(len(ends))])
                once = np.zeros((len(ends), len(texts)), np.int64)
                once[:, number] = 1
                yield points[points != ord(LINE_END)], bounds, once
                continue
            table.count(block, cut, False, number)
    if how.regex is None and not how.cut.by_spaces:
        for first in range(0, table.known, AT_ONCE):
            rows = slice(first, min(first + AT_ONCE, table.known))
            bounds = table.bounds[first : rows.stop + 1]
            store = table.store[bounds[0] : bounds[-1]]
            yield store, bounds - bounds[0], table.counts[rows, TEXTS:]


def join(
    parts: Iterable[tuple[Words, np.ndarray | slice, np.ndarray]], memory: int | None = None
) -> Words:
    """The words of several parts as those of one: of each part, some of its words and
    their counts [words, 1]. Large arrays lie on the disk by `memory` (MB).
    """
    table = WordTable(0, memory)
    for words, chosen, counts in parts:
        if (size := len(words.store)) >= 1 << 31:
            raise VocapError(
                f"{size} characters in distinct words are too many; train on fewer lines"
            )
        start = words.bounds[:-1][chosen].astype(np.int32)
        table.add_counted(
            words.store, start, words.lengths[chosen].copy(), np.ascontiguousarray(counts)
        )
    return _as_words(table, slice(0, 1))


def _as_words(table: WordTable, columns: slice) -> Words:
    table.close()
    return Words(table.store, table.bounds, np.ascontiguousarray(table.counts[:, columns]))


@dataclass(frozen=True)
class Alphabet:
    """The symbols before any merge, by number: `names` as tokenizer.json has them."""

    names: tuple[str, ...]

    def symbols(self, words: Words) -> tuple[np.ndarray, np.ndarray]:
        """The bytes of all words as symbols, int32 [S], and where each word begins among
        them, int64 [K + 1].
        """
        symbol_of_byte = np.empty(BYTES, np.uint8)
        symbol_of_byte[[byte_characters()[name] for name in self.names]] = np.arange(BYTES)
        symbols, sizes = [np.empty(0, np.uint8)], [np.zeros(1, np.int64)]
        for first in range(0, len(words), AT_ONCE):
            bounds = words.bounds[first : first + AT_ONCE + 1]
            points = words.store[bounds[0] : bounds[-1]].copy()  # U+2581 is a space, KEPT is U+2581
            space, kept = points == ord(SPACE), points == ord(KEPT)
            points[space], points[kept] = ord(" "), ord(SPACE)
            ends = np.zeros(len(points) + 1, np.int64)
            size = 1 + (points >= 0x80).astype(np.int8) + (points >= 0x800) + (points >= 0x10000)
            np.cumsum(size, out=ends[1:])
            text = points.tobytes().decode("utf-32-le").encode()
            symbols.append(symbol_of_byte[np.frombuffer(text, np.uint8)])
            sizes.append(np.diff(ends[bounds - bounds[0]]))
        return np.concatenate(symbols, dtype=np.int32), np.cumsum(np.concatenate(sizes))


def byte_alphabet() -> Alphabet:
    """The 256 bytes, by their characters of the byte-level alphabet."""
    return Alphabet(tuple(byte_characters()))
