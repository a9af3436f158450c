"""A text as words of symbols: the input of training, counted once for every setting of
weights.

Text is cut into words as `cutting` says. A symbol is a byte in the order of the
byte-level alphabet of `tokenizers` (unit bytes), or (unit characters) a character that
has a token, or one of the bytes of another, which never merge.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vocap.bpe.cutting import KEPT, Pretokenization, hide_spaces, word_places
from vocap.errors import VocapError
from vocap.tokenizer_files.cuts import SPACE
from vocap.tokenizer_files.encoders import byte_characters
from vocap.unigram.training_text import LINE_END, required_characters
from vocap.unigram.word_table import RUNS, TEXTS, WordTable

BYTES = 256


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


def count_words(texts: Sequence[Callable[[], Iterable[list[str]]]], how: Pretokenization) -> Words:
    """The words of texts, each a function that gives its lines in blocks.

    Memory follows distinct stretches and words. Raises as `word_places`.
    """
    words = WordTable(len(texts))
    for store, bounds, counts in _stretches(texts, how, words):
        _check(store)
        start, length, owner = word_places(how.cut, store, bounds)
        added = np.zeros((len(start), TEXTS + len(texts)), np.int64)
        added[:, TEXTS:] = counts[owner]
        words.add_counted(store, start.astype(np.int32), length.astype(np.int32), added)
    return _as_words(words, slice(TEXTS, None))


def _stretches(
    texts: Sequence[Callable[[], Iterable[list[str]]]], how: Pretokenization, words: WordTable
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Stretches of text that are cut one by one: code points, where each begins, counts
    int64 [stretches, texts].

    Lines for an expression of the user; else the distinct stretches between runs of
    spaces, all at once; none where these are the words, which are counted in `words`.
    """
    table = words if how.cut.by_spaces else WordTable(len(texts))
    for number, blocks in enumerate(texts):
        for block in how.normalized(blocks()):
            points = np.frombuffer(block, np.int32)
            if how.regex is not None:
                ends = np.flatnonzero(points == ord(LINE_END))
                bounds = np.concatenate([[0], ends - np.arange(len(ends))])
                counts = np.zeros((len(ends), len(texts)), np.int64)
                counts[:, number] = 1
                yield points[points != ord(LINE_END)], bounds, counts
                continue
            if not how.cut.marked:
                hide_spaces(points)
            table.count(block, RUNS, False, number)
    if how.regex is None and not how.cut.by_spaces:
        bounds = table.bounds[: table.known + 1]
        yield table.store[: bounds[-1]], bounds, table.counts[: table.known, TEXTS:]


def join(parts: Iterable[tuple[Words, np.ndarray | slice, np.ndarray]]) -> Words:
    """The words of several parts as those of one: of each part, some of its words and
    their counts [words, 1].
    """
    table = WordTable(0)
    for words, chosen, counts in parts:
        _check(words.store)
        start = words.bounds[:-1][chosen].astype(np.int32)
        table.add_counted(
            words.store, start, words.lengths[chosen].copy(), np.ascontiguousarray(counts)
        )
    return _as_words(table, slice(0, 1))


def _check(store: np.ndarray) -> None:
    if len(store) >= 1 << 31:
        raise VocapError(
            f"{len(store)} characters in distinct words are too many; train on fewer lines"
        )


def _as_words(table: WordTable, columns: slice) -> Words:
    bounds = table.bounds[: table.known + 1].copy()
    counts = np.ascontiguousarray(table.counts[: table.known, columns])
    return Words(table.store[: bounds[-1]].copy(), bounds, counts)


@dataclass(frozen=True)
class Alphabet:
    """The symbols before any merge, by number: `names` as tokenizer.json has them.

    Unit bytes: the 256 bytes by their character of the byte-level alphabet. Unit
    characters: `<0x00>` to `<0xFF>`, then the characters by code point. Symbols below
    `single` never merge.
    """

    unit: str
    names: tuple[str, ...]
    single: int

    @cached_property
    def symbol_of_byte(self) -> np.ndarray:
        """The symbol of each byte, int32 [256]."""
        if self.unit == "characters":
            return np.arange(BYTES, dtype=np.int32)
        symbols = np.empty(BYTES, np.int32)
        symbols[[byte_characters()[name] for name in self.names]] = np.arange(BYTES)
        return symbols

    @cached_property
    def symbol_of_character(self) -> np.ndarray:
        """The symbol of each code point, int32 [0x110000]; -1 for one that is written
        in bytes.
        """
        symbols = np.full(0x110000, -1, np.int32)
        if self.unit == "characters":
            points = [ord(name) for name in self.names[BYTES:]]
            symbols[points] = np.arange(BYTES, BYTES + len(points))
        return symbols

    def symbols(self, words: Words) -> tuple[np.ndarray, np.ndarray]:
        """The symbols of all words, int32 [S], and where each word begins among them,
        int64 [K + 1].
        """
        symbols = self.symbol_of_character[words.store]
        spelled = words.store[symbols < 0]  # in bytes: U+2581 as a space, KEPT as U+2581
        space, kept = spelled == ord(SPACE), spelled == ord(KEPT)
        spelled[space], spelled[kept] = ord(" "), ord(SPACE)
        further = (spelled >= 0x80).astype(np.int8) + (spelled >= 0x800) + (spelled >= 0x10000)
        sizes = np.ones(len(symbols) + 1, np.int8)  # of the symbols, behind a 0
        sizes[0] = 0
        sizes[1:][symbols < 0] += further
        symbols = np.repeat(symbols, sizes[1:])
        text = str(spelled, "utf-32-le").encode()
        symbols[symbols < 0] = self.symbol_of_byte[np.frombuffer(text, np.uint8)]
        return symbols, np.cumsum(sizes, dtype=np.int64)[words.bounds]

    def text(self, token: str) -> str:
        """A token to be read: bytes that are no whole characters of UTF-8 as escapes,
        U+2581 for spaces.
        """
        if self.unit == "characters":
            return token
        return (
            bytes(map(byte_characters().__getitem__, token))
            .decode("utf-8", errors="backslashreplace")
            .replace(" ", SPACE)
        )


def byte_alphabet() -> Alphabet:
    """The alphabet of unit bytes."""
    return Alphabet("bytes", tuple(byte_characters()), 0)


def character_alphabet(
    counts: Mapping[str, float], coverage: float | None, required: Iterable[str] = ()
) -> Alphabet:
    """The alphabet of unit characters: the most frequent ones that make up `coverage`,
    and the `required` ones.
    """
    chosen = sorted(required_characters(counts, coverage, required))
    return Alphabet("characters", (*(f"<0x{byte:02X}>" for byte in range(BYTES)), *chosen), BYTES)


def weigh_characters(words: Words, weights: np.ndarray) -> dict[str, int]:
    """The count of each character, `weights` int64 [K] by word."""
    totals = np.zeros(0x110000, np.int64)
    np.add.at(totals, words.store, np.repeat(weights, words.lengths))
    totals[0] = 0
    return {chr(point): int(totals[point]) for point in np.flatnonzero(totals).tolist()}
