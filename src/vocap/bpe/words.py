"""A text as words of symbols: the input of training, counted once for every setting of weights.

A symbol is a byte in the order of the byte-level alphabet of `tokenizers` (unit bytes), or (unit characters) a
character that has a token, or one of the bytes of another. Bytes of the latter never merge.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from tokenizers.pre_tokenizers import ByteLevel

from vocap.bpe.pretokenizer import character_classes, split_words
from vocap.errors import UsageError, VocapError
from vocap.unigram.kernels import kernel
from vocap.unigram.text_settings import TextSettings
from vocap.unigram.training_text import Borders, code_points, required_characters, trainer_normalizer
from vocap.unigram.word_table import RUNS, TEXTS, WordTable

BYTES = 256
SPACE, KEPT = "\u2581", "\ufdd1"  # KEPT stands for a U+2581 of the text, where it is no space


@dataclass(frozen=True)
class Pretokenization:
    """How text becomes words of symbols: `unit` of `UNITS`, `split` of `SPLITS`, and the settings of the text.

    Raises UsageError for settings that byte-pair encoding has no counterpart of.
    """

    unit: str
    split: str
    settings: TextSettings

    def __post_init__(self) -> None:
        if self.settings.treat_whitespace_as_suffix:
            raise UsageError("treat_whitespace_as_suffix: not with byte-pair encoding; leave it out")
        if self.settings.user_defined_symbols and self.settings.add_dummy_prefix:
            raise UsageError(
                "user_defined_symbols: byte-pair encoding takes them without add_dummy_prefix alone; give "
                "--no-add-dummy-prefix, or --preset lossless"
            )

    @property
    def keeps_text(self) -> bool:
        """Whether the text is not normalised at all: then U+2581 is a character like the others."""
        own = self.settings
        plain = own.normalization == "identity" and not (own.remove_extra_whitespaces or own.add_dummy_prefix)
        return plain and self.unit == "bytes"

    def normalized(self, blocks: Iterable[list[str]]) -> Iterator[bytearray]:
        """`code_points` of the normalised lines of each block, with a line end at every user-defined symbol."""
        symbols = self.settings.user_defined_symbols
        borders = Borders(symbols).pattern if symbols else None
        normalize = None if self.keeps_text else trainer_normalizer(self.settings).normalize
        for lines in blocks:
            if borders:
                lines = [part for line in lines for part in borders.split(line) if part]
            if normalize:
                lines = normalize(lines)
            else:
                lines = [line.replace(SPACE, KEPT).replace(" ", SPACE) for line in lines]
            yield code_points(lines)


@dataclass(frozen=True)
class Words:
    """K distinct words of one or several texts: word k is `store[bounds[k]:bounds[k + 1]]`, code points int32.

    `counts` int64 [K, texts]; `lines`: the number of lines of each text.
    """

    store: np.ndarray
    bounds: np.ndarray
    counts: np.ndarray
    lines: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        return np.diff(self.bounds).astype(np.int32)

    def of(self, text: int) -> "Words":
        """The words of one of the texts."""
        kept = np.flatnonzero(self.counts[:, text])
        return join([(self, kept, self.counts[kept, text : text + 1])], (self.lines[text],))


def count_words(texts: Sequence[Callable[[], Iterable[list[str]]]], how: Pretokenization) -> Words:
    """The words of texts, each a function that gives its lines in blocks.

    Lines are counted as stretches between runs of spaces, a block at a time, and only distinct stretches are cut
    into words: memory follows these.
    """
    table, lines = WordTable(len(texts)), []
    for number, blocks in enumerate(texts):
        count = 0

        def counted(blocks=blocks):
            nonlocal count
            for block in blocks():
                count += len(block)
                yield block

        for points in how.normalized(counted()):
            table.count(points, RUNS, False, number)
        lines.append(count)
    counts = table.counts[: table.known, TEXTS:]
    bounds = table.bounds[: table.known + 1]
    if how.split == "spaces":
        return _as_words(table, slice(TEXTS, None), lines)
    store = table.store[: bounds[-1]]
    classes = character_classes(np.unique(store))
    start, length, owner = split_words(store, bounds, table.known, classes, how.settings.split_digits)
    cut = WordTable(len(texts))
    added = np.zeros((len(start), TEXTS + len(texts)), np.int64)
    added[:, TEXTS:] = counts[owner]
    _check(store)
    cut.add_counted(store, start.astype(np.int32), length, added)
    return _as_words(cut, slice(TEXTS, None), lines)


def join(parts: Iterable[tuple[Words, np.ndarray | slice, np.ndarray]], lines: Sequence[int]) -> Words:
    """The words of several parts as those of one: of each part, some of its words and their counts [words, C]."""
    table, columns = WordTable(0), 0
    for words, chosen, counts in parts:
        columns = counts.shape[1]
        table.counts = (
            table.counts if table.counts.shape[1] == columns else np.zeros((len(table.counts), columns), np.int64)
        )
        _check(words.store)
        start = words.bounds[:-1][chosen].astype(np.int32)
        table.add_counted(words.store, start, words.lengths[chosen].copy(), np.ascontiguousarray(counts))
    return _as_words(table, slice(0, columns), lines)


def _check(store: np.ndarray) -> None:
    if len(store) >= 1 << 31:
        raise VocapError(f"{len(store)} characters in distinct words are too many; train on fewer lines")


def _as_words(table: WordTable, columns: slice, lines: Sequence[int]) -> Words:
    bounds = table.bounds[: table.known + 1].copy()
    counts = np.ascontiguousarray(table.counts[: table.known, columns])
    return Words(table.store[: bounds[-1]].copy(), bounds, counts, tuple(lines))


@dataclass(frozen=True)
class Alphabet:
    """The symbols before any merge, by number: `names` as tokenizer.json has them.

    Unit bytes: the 256 bytes by their character of the byte-level alphabet. Unit characters: `<0x00>` to `<0xFF>`,
    then the characters by code point. Symbols below `single` never merge.
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
        """The symbol of each code point, int32 [0x110000]; -1 for one that is written in bytes."""
        symbols = np.full(0x110000, -1, np.int32)
        if self.unit == "characters":
            points = [ord(name) for name in self.names[BYTES:]]
            symbols[points] = np.arange(BYTES, BYTES + len(points))
        return symbols

    def symbols(self, words: Words) -> tuple[np.ndarray, np.ndarray]:
        """The symbols of all words, int32 [S], and where each word begins among them, int64 [K + 1]."""
        return write_symbols(words.store, words.bounds, self.symbol_of_character, self.symbol_of_byte)

    def name(self, symbols: Iterable[int]) -> str:
        """The token of a sequence of symbols."""
        return "".join(map(self.names.__getitem__, symbols))

    def text(self, token: str) -> str:
        """A token to be read: bytes that are no whole characters of UTF-8 as escapes, U+2581 for spaces."""
        if self.unit == "characters":
            return token
        return (
            bytes(map(byte_characters().get, token)).decode("utf-8", errors="backslashreplace").replace(" ", SPACE)
        )


@cache
def byte_characters() -> Mapping[str, int]:
    """The byte of each character of the byte-level alphabet: printable ones their own, the others from 256 on."""
    characters = sorted(ByteLevel.alphabet())
    own = [ord(character) for character in characters if ord(character) < BYTES]
    others = [byte for byte in range(BYTES) if byte not in own]
    return dict(zip(characters, own + others, strict=True))


def byte_alphabet() -> Alphabet:
    """The alphabet of unit bytes."""
    return Alphabet("bytes", tuple(byte_characters()), 0)


def character_alphabet(
    counts: Mapping[str, float], coverage: float | None, required: Iterable[str] = ()
) -> Alphabet:
    """The alphabet of unit characters: the most frequent ones that make up `coverage`, and the `required` ones."""
    chosen = sorted(required_characters(counts, coverage, required))
    return Alphabet("characters", (*(f"<0x{byte:02X}>" for byte in range(BYTES)), *chosen), BYTES)


def character_counts(words: Words, weights: np.ndarray) -> dict[str, int]:
    """The count of each character, `weights` int64 [K] by word."""
    totals = np.zeros(0x110000, np.int64)
    np.add.at(totals, words.store, np.repeat(weights, words.lengths))
    totals[0] = 0
    return {chr(point): int(totals[point]) for point in np.flatnonzero(totals).tolist()}


@kernel("Tuple((int32[::1], int64[::1]))(int32[::1], int64[::1], int32[::1], int32[::1])")
def write_symbols(store, bounds, of_character, of_byte):
    """`Alphabet.symbols`: U+2581 is a space and U+FDD1 is U+2581 where they are written in bytes."""
    size = 0
    for at in range(store.size):
        point = 0x20 if store[at] == 0x2581 else store[at]
        if of_character[store[at]] >= 0:
            size += 1
        else:
            size += 1 + (point >= 0x80) + (point >= 0x800) + (point >= 0x10000)
    symbols, starts = np.empty(size, np.int32), np.zeros(bounds.size, np.int64)
    count = 0
    for word in range(bounds.size - 1):
        for at in range(bounds[word], bounds[word + 1]):
            point = store[at]
            if of_character[point] >= 0:
                symbols[count] = of_character[point]
                count += 1
                continue
            if point == 0x2581:
                point = 0x20
            elif point == 0xFDD1:
                point = 0x2581
            if point < 0x80:
                symbols[count] = of_byte[point]
                count += 1
                continue
            further = 1 + (point >= 0x800) + (point >= 0x10000)
            first = (0xC0, 0xE0, 0xF0)[further - 1]
            symbols[count] = of_byte[first | point >> 6 * further]
            count += 1
            for left in range(further - 1, -1, -1):
                symbols[count] = of_byte[0x80 | (point >> 6 * left & 0x3F)]
                count += 1
        starts[word + 1] = count
    return symbols, starts
