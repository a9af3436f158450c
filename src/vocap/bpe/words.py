r"""A text as words of symbols: the input of training, counted once for every setting of weights.

Text is cut into words by a regular expression of `tokenizers`, under a name. `words`: letters with their marks,
numbers, other characters, line ends, and runs of spaces are words of their own; one space goes with the word after
it. Unlike in the expression of GPT-2, whose `\p{L}+` ends at every vowel sign, a mark stays with the letter before
it, and so do the joiners U+200C and U+200D. `spaces`: a word is a run of spaces and the text up to the next one.
No word of either crosses the beginning of a run of spaces, so the words of a line are those of its stretches
between such runs, which are counted first.

A symbol is a byte in the order of the byte-level alphabet of `tokenizers` (unit bytes), or (unit characters) a
character that has a token, or one of the bytes of another. Bytes of the latter never merge.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from tokenizers import Regex, normalizers, pre_tokenizers

from vocap.errors import UsageError, VocapError
from vocap.tokenizer_files.encoders import byte_characters
from vocap.unigram.text_settings import TextSettings
from vocap.unigram.training_text import Borders, code_points, required_characters, trainer_normalizer
from vocap.unigram.word_types import RUNS, TEXTS, WordTable

BYTES = 256
SPACE = "\u2581"
KEPT = "\n"  # stands for a U+2581 of text that is not normalised, where it is no space: no line holds a line feed
# One character for each class that the expression of words tells apart; of several that match, the last.
LETTERS = {r"\p{L}": "a", r"\p{M}": "m", r"\p{N}": "1", r"\x{200c}": "j", r"\x{200d}": "j"}
CLASSES = {r"\s": "\t", **LETTERS, r"[\r\n]": "\n"}
OTHER, END = "!", 0  # END stands behind each stretch of classes


def expression(split: str, single_digits: bool, space: str = " ") -> str:
    """The regular expression whose matches are the words; `space` is the space of the normalised text.

    `single_digits`: each digit is a word, without a space.
    """
    if split == "spaces":
        return rf"{space}*[^{space}]+|{space}+"
    numbers = r"\p{N}" if single_digits else rf"{space}?\p{{N}}+"
    behind = rf"[{space}\s]" if space != " " else r"\s"  # a run keeps its last space for a word after it
    letters = rf"{space}?[\p{{L}}\p{{M}}][\p{{L}}\p{{M}}\x{{200c}}\x{{200d}}]*"
    first, further = rf"[^\s{space}\p{{L}}\p{{M}}\p{{N}}]", rf"[^\s{space}\p{{L}}\p{{N}}]"
    others = rf"{space}?{first}{further}*[\r\n]*"
    blanks = rf"[^\S\r\n{space}]+"
    return "|".join([letters, numbers, others, r"[\r\n]+", rf"{space}+(?={behind}|\z)", space, blanks])


def build_pre_tokenizer(split: str, single_digits: bool, unit: str) -> pre_tokenizers.PreTokenizer:
    """The step of tokenizer.json; of unit bytes, with the byte-level alphabet."""
    space = " " if unit == "bytes" else "\u2581"
    cut = pre_tokenizers.Split(Regex(expression(split, single_digits, space)), "isolated")
    if unit != "bytes":
        return cut
    return pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


@dataclass(frozen=True)
class Pretokenization:
    """How text becomes words of symbols: `unit` of `UNITS`, `split` of `SPLITS`, and the settings of the text.

    Raises UsageError for settings that byte-pair encoding has no counterpart of.
    """

    unit: str
    split: str
    settings: TextSettings

    def __post_init__(self) -> None:
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


def classes(points: np.ndarray) -> np.ndarray:
    """The `CLASSES` of code points of normalised text, uint8: U+2581 is a space, all that have none are OTHER."""
    known = np.flatnonzero(np.bincount(points))
    text, table = "".join(map(chr, known.tolist())), np.full(0x110000, ord(OTHER), np.uint8)
    for query, letter in CLASSES.items():
        found = normalizers.Replace(Regex(query), "\ue000").normalize_str(text)  # of private use: it has no class
        table[known[np.frombuffer(found.encode("utf-32-le"), np.uint32) != known]] = ord(letter)
    table[[ord(SPACE), ord(KEPT)]] = ord(" "), ord(OTHER)
    return table[points]


def cut(store: np.ndarray, bounds: np.ndarray, single_digits: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The words of stretches of normalised text: where each begins, its length, and the number of its stretch.

    Stretch k is `store[bounds[k]:bounds[k + 1]]`. Python applies the expression to the classes of its characters:
    many times as fast as `tokenizers` to the text.
    """
    pattern = r"\x00|" + expression("words", single_digits).replace(r"\z", r"\x00").replace(r"[^\s", r"[^\x00\s")
    for query, letter in LETTERS.items():
        pattern = pattern.replace(query, letter)
    text = np.insert(classes(store), bounds[1:], END)
    length = np.fromiter(map(len, re.findall(pattern.encode(), text.tobytes())), np.int64)
    begin = np.cumsum(length) - length
    owner, words = np.cumsum(text[begin] == END), text[begin] != END
    return (begin - owner)[words], length[words], owner[words]


@dataclass(frozen=True)
class Words:
    """K distinct words of one or several texts: word k is `store[bounds[k]:bounds[k + 1]]`, code points int32.

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

    Lines are counted as stretches between runs of spaces, a block at a time, and only distinct stretches are cut
    into words: memory follows these.
    """
    table = WordTable(len(texts))
    for number, blocks in enumerate(texts):
        for points in how.normalized(blocks()):
            table.count(points, RUNS, False, number)
    counts = table.counts[: table.known, TEXTS:]
    bounds = table.bounds[: table.known + 1]
    if how.split == "spaces":
        return _as_words(table, slice(TEXTS, None))
    store = table.store[: bounds[-1]]
    _check(store)
    start, length, owner = cut(store, bounds, how.settings.split_digits)
    words = WordTable(len(texts))
    added = np.zeros((len(start), TEXTS + len(texts)), np.int64)
    added[:, TEXTS:] = counts[owner]
    words.add_counted(store, start.astype(np.int32), length.astype(np.int32), added)
    return _as_words(words, slice(TEXTS, None))


def join(parts: Iterable[tuple[Words, np.ndarray | slice, np.ndarray]]) -> Words:
    """The words of several parts as those of one: of each part, some of its words and their counts [words, 1]."""
    table = WordTable(0)
    for words, chosen, counts in parts:
        _check(words.store)
        start = words.bounds[:-1][chosen].astype(np.int32)
        table.add_counted(words.store, start, words.lengths[chosen].copy(), np.ascontiguousarray(counts))
    return _as_words(table, slice(0, 1))


def _check(store: np.ndarray) -> None:
    if len(store) >= 1 << 31:
        raise VocapError(f"{len(store)} characters in distinct words are too many; train on fewer lines")


def _as_words(table: WordTable, columns: slice) -> Words:
    bounds = table.bounds[: table.known + 1].copy()
    counts = np.ascontiguousarray(table.counts[: table.known, columns])
    return Words(table.store[: bounds[-1]].copy(), bounds, counts)


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
        symbols = self.symbol_of_character[words.store]
        spelled = words.store[symbols < 0]  # in bytes: U+2581 as a space, KEPT as U+2581
        spelled = np.select([spelled == ord(SPACE), spelled == ord(KEPT)], [ord(" "), ord(SPACE)], spelled)
        further = (spelled >= 0x80).astype(np.int8) + (spelled >= 0x800) + (spelled >= 0x10000)
        sizes = np.ones(len(symbols), np.int8)
        sizes[symbols < 0] += further
        symbols = np.repeat(symbols, sizes)
        text = spelled.astype(np.int32).tobytes().decode("utf-32-le")
        symbols[symbols < 0] = self.symbol_of_byte[np.frombuffer(text.encode("utf-8"), np.uint8)]
        return symbols, np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])[words.bounds]

    def text(self, token: str) -> str:
        """A token to be read: bytes that are no whole characters of UTF-8 as escapes, U+2581 for spaces."""
        if self.unit == "characters":
            return token
        return (
            bytes(map(byte_characters().get, token)).decode("utf-8", errors="backslashreplace").replace(" ", SPACE)
        )


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
