"""A corpus as weighted word types, the input of EM and of ALP.

A word type is a stretch of normalised text that begins with U+2581, or with a line, and
holds no other; with allow_whitespace_only_pieces, one that begins with a run of them.
The trainer's lattices never cross its borders
(`TrainerInterface::SplitSentencesByWhitespace`), and no piece does, so a corpus is its
types and how often each occurs. Without split_by_whitespace the trainer takes the lines
themselves, one by one in their order: then each line that it reads is a type.

Words are added a block of lines at a time, so memory follows the distinct words and not
the text. A word is found by open addressing: `slots` holds its number + 1 at the place
that its hash names, or at the next free one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import boolean, int64, types
from numpy.typing import NDArray

from vocap.errors import VocapError
from vocap.unigram.kernels import INT32S, INT64S, UINT64S, kernel
from vocap.unigram.text_settings import COVERAGE, RESERVED, SPACE, XLM_R, TextSettings
from vocap.unigram.training_text import (
    LINE_END,
    Sentences,
    code_points,
    required_characters,
    trained_on,
)

# how lines are cut: not, before each U+2581, before each run of U+2581
WHOLE, WORDS, RUNS = 0, 1, 2
INSIDE, LAST, TEXTS = 0, 1, 2  # columns of `counts`; from TEXTS on, one a text
_SPACE, _LINE = 0x2581, ord(LINE_END)
_FIRST_WORDS, _FIRST_CHARACTERS = 1 << 12, 1 << 15

_MAX_CHARACTERS = 2**31 - 1  # 32-bit positions


class WordStore(NamedTuple):
    """Distinct words: word k is `points[bounds[k]:bounds[k + 1]]` (int32, int64).

    `hashes[k]` uint64 is that of word k; `slots` int32 holds k + 1 in the place that its
    lowest bits name, or the next one that is free.
    """

    points: NDArray[np.int32]
    bounds: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    slots: NDArray[np.int32]


STORE = types.NamedTuple([INT32S, INT64S, UINT64S, INT32S], WordStore)


class WordTable:
    """K distinct words: word k is `store[bounds[k]:bounds[k + 1]]`, code points.

    `counts` int64 [capacity, TEXTS + texts]: occurrences in trained lines before
    another word, at the end of a trained line, and in each text.
    """

    def __init__(self, texts: int):
        self.known = 0
        self.store = np.empty(_FIRST_CHARACTERS, np.int32)
        self.bounds = np.zeros(_FIRST_WORDS + 1, np.int64)
        self.hashes = np.empty(_FIRST_WORDS, np.uint64)
        self.counts = np.zeros((_FIRST_WORDS, TEXTS + texts), np.int64)
        self.slots = np.zeros(2 * _FIRST_WORDS, np.int32)

    def count(
        self, sentences: bytearray, cut: int, trained: bool, text: int | None, weight: int = 1
    ) -> None:
        """Count the words of lines (`code_points`), by `cut` WORDS, RUNS, or WHOLE: a
        line is one word.

        `trained`: for the trainer; `text`: also for the text of that number; each word
        `weight` times.
        """
        if not sentences:
            return
        points = np.frombuffer(sentences, np.int32)
        self.reserve(int(np.count_nonzero((points == _SPACE) | (points == _LINE))), len(points))
        column = -1 if text is None else TEXTS + text
        self.known = count_in_lines(
            points, cut, trained, column, weight, self.counts, self.known, self.words
        )

    def add_counted(
        self, text: np.ndarray, start: np.ndarray, length: np.ndarray, counts: np.ndarray
    ) -> None:
        """Add to the counts of the words `text[start[t]:start[t] + length[t]]`:
        `counts` int64 [words, columns].
        """
        self.reserve(len(start), int(length.sum(dtype=np.int64)))
        self.known = add_counts(text, start, length, counts, self.counts, self.known, self.words)

    def number_lines(self, sentences: bytearray) -> np.ndarray:
        """Each of the lines of `code_points` as a word, by number, int32; -1 for an
        empty one. Not counted.
        """
        points = np.frombuffer(sentences, np.int32)
        numbers = np.empty(np.count_nonzero(points == _LINE), np.int32)
        self.reserve(len(numbers), len(points))
        self.known = number_lines(points, numbers, self.known, self.words)
        return numbers

    def character_counts(self, column: int | None = None) -> np.ndarray:
        """Occurrences of each code point in trained lines, or by a column of `counts`,
        int64 [0x110000].
        """
        if column is None:
            times = self.counts[: self.known, INSIDE] + self.counts[: self.known, LAST]
        else:
            times = self.counts[: self.known, column].copy()
        return count_characters(self.store, self.bounds, times)

    def replace(self, kept: np.ndarray, replacement: int) -> None:
        """Put `replacement` for each code point that is not `kept` (bool [0x110000]);
        equal words become one.
        """
        bounds = self.bounds[: self.known + 1]
        odd = ~kept[self.store[: bounds[-1]]]
        words = np.unique(np.searchsorted(bounds, np.flatnonzero(odd), side="right") - 1)
        text = np.where(odd, np.int32(replacement), self.store[: bounds[-1]])
        counts = self.counts[words]
        self.counts[words] = 0  # before they are added: a word may equal its replacement
        self.add_counted(
            text, bounds[words].astype(np.int32), np.diff(bounds)[words].astype(np.int32), counts
        )

    @property
    def words(self) -> WordStore:
        """The arrays at hand, which `reserve` makes longer."""
        return WordStore(self.store, self.bounds, self.hashes, self.slots)

    def reserve(self, words: int, characters: int) -> None:
        """Room for so many more words and characters."""
        needed = int(self.bounds[self.known]) + characters
        if needed > len(self.store):
            # in place: no second copy
            self.store.resize(max(needed, len(self.store) * 5 // 4), refcheck=False)
        needed = int(self.known + words)
        if needed > len(self.hashes):
            capacity = max(needed, len(self.hashes) * 5 // 4)
            self.bounds.resize(capacity + 1, refcheck=False)
            self.hashes.resize(capacity, refcheck=False)
            self.counts.resize((capacity, self.counts.shape[1]), refcheck=False)  # new rows are 0
        if 2 * needed > len(self.slots):
            self.slots = np.zeros(1 << (2 * needed - 1).bit_length(), np.int32)
            fill_hash_slots(self.hashes, self.known, self.slots)


@kernel("void(uint64[::1], int64, int32[::1])")
def fill_hash_slots(hashes, known, slots):
    mask = np.uint64(slots.size - 1)
    for word in range(known):
        at = hashes[word] & mask
        while slots[at]:
            at = (at + np.uint64(1)) & mask
        slots[at] = word + 1


@kernel(int64(INT32S, int64, int64, int64, STORE))
def find_word(points, begin, end, known, words):
    """The number of the word `points[begin:end]`; `known`, and it is stored, if there
    was none.
    """
    store, bounds, hashes, slots = words
    code = np.uint64(0xCBF29CE484222325)
    for at in range(begin, end):
        code = (code ^ np.uint64(points[at])) * np.uint64(0x9E3779B97F4A7C15)
        code ^= code >> np.uint64(29)
    mask = np.uint64(slots.size - 1)
    slot = code & mask
    length = end - begin
    while slots[slot]:
        word = slots[slot] - 1
        if hashes[word] == code and bounds[word + 1] - bounds[word] == length:
            offset = bounds[word]
            at = 0
            while at < length and store[offset + at] == points[begin + at]:
                at += 1
            if at == length:
                return word
        slot = (slot + np.uint64(1)) & mask
    slots[slot] = known + 1
    hashes[known] = code
    offset = bounds[known]
    for at in range(length):
        store[offset + at] = points[begin + at]
    bounds[known + 1] = offset + length
    return known


@kernel(int64(INT32S, int64, boolean, int64, int64, int64[:, ::1], int64, STORE))
def count_in_lines(points, cut, trained, column, weight, counts, known, words):
    """Add the words of lines that each end in LINE_END, `weight` times each; returns
    how many are known now.
    """
    begin = 0
    for at in range(points.size):
        character = points[at]
        is_last = character == _LINE
        if is_last or (
            cut
            and character == _SPACE
            and (cut == WORDS or (at > begin and points[at - 1] != _SPACE))
        ):
            if at > begin:
                word = find_word(points, begin, at, known, words)
                known = max(known, word + 1)
                if trained:
                    counts[word, LAST if is_last else INSIDE] += weight
                if column >= 0:
                    counts[word, column] += weight
            begin = at + 1 if is_last else at
    return known


@kernel(int64(INT32S, INT32S, INT32S, int64[:, ::1], int64[:, ::1], int64, STORE))
def add_counts(text, start, length, added, counts, known, words):
    """Add counts to those of the words; returns how many words are known now."""
    for t in range(start.size):
        word = find_word(text, start[t], start[t] + length[t], known, words)
        known = max(known, word + 1)
        for column in range(added.shape[1]):
            counts[word, column] += added[t, column]
    return known


@kernel(int64(INT32S, INT32S, int64, STORE))
def number_lines(points, numbers, known, words):
    """Fill `numbers` for lines that each end in LINE_END; returns how many words are
    known now.
    """
    begin = line = 0
    for at in range(points.size):
        if points[at] == _LINE:
            numbers[line] = -1
            if at > begin:
                numbers[line] = find_word(points, begin, at, known, words)
                known = max(known, numbers[line] + 1)
            begin = at + 1
            line += 1
    return known


@kernel("int64[::1](int32[::1], int64[::1], int64[::1])")
def count_characters(store, bounds, times):
    totals = np.zeros(0x110000, np.int64)
    for word in range(times.size):
        if times[word]:
            for at in range(bounds[word], bounds[word + 1]):
                totals[store[at]] += times[word]
    return totals


@kernel("int32[::1](int32[::1], int64[::1], int32[::1], int32[::1], int64)")
def join_words(store, bounds, words, separator, gap):
    """The words one after the other, each followed by its separator and, up to `gap`
    characters, by 0.
    """
    size = 0
    for word in words:
        size += bounds[word + 1] - bounds[word] + gap
    text = np.zeros(size, np.int32)
    at = 0
    for place in range(words.size):
        word = words[place]
        for character in range(bounds[word], bounds[word + 1]):
            text[at] = store[character]
            at += 1
        text[at] = separator[place]
        at += gap
    return text


def sort_words(table: WordTable, words: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """`words` int32 [T] by (`counts` int64 [T] descending, text ascending).

    Places of equal words so far are sorted by their next characters, as whole numbers,
    until no two are equal.
    """
    bits = int(table.store[: table.bounds[table.known]].max(initial=0) + 1).bit_length()
    order, place, depth = np.argsort(-counts), np.arange(len(words)), 0
    keys = -counts[order]
    while True:
        _, group, times = np.unique(keys, return_inverse=True, return_counts=True)
        several = times[group] > 1
        place, group = place[several], group[several]
        if not len(place):
            return words[order]
        tied, width = order[place], (64 - len(times).bit_length()) // bits
        keys = sort_keys(table.store, table.bounds, words[tied], group, depth, width, bits)
        by_key = np.argsort(keys)
        order[place], keys = tied[by_key], keys[by_key]
        depth += width


@kernel("uint64[::1](int32[::1], int64[::1], int32[::1], int64[::1], int64, int64, int64)")
def sort_keys(store, bounds, words, group, depth, width, bits):
    """The `group` of each word and, below it, `width` of its characters from `depth` on,
    `bits` each; a word that has ended comes first.
    """
    keys = np.empty(words.size, np.uint64)
    for place in range(words.size):
        word = words[place]
        key, begin = group[place], bounds[word] + depth
        for at in range(begin, begin + width):
            key = key << bits | (store[at] + 1 if at < bounds[word + 1] else 0)
        keys[place] = key
    return keys


@dataclass(frozen=True)
class WordTypes:
    """T word types, the `trained` ones first by (count descending, text ascending), as
    EM adds them up.

    `text` int32 [N]: code points of all types, each with the character after it in the
    corpus: U+2581 (the next word), or 0 where it only ends lines; and a 0, unless no
    piece can begin with that character and go on in the next type. Type t is
    `text[start[t]:start[t] + length[t]]` (int32 [T] both). `inside` and `last` int64
    [T]: occurrences in the training lines before another word, and at a line's end; 0
    for types from `trained` on, which stand only in lines that the trainer skips or in
    held-out text. `counts` maps the name of a text to its occurrences int64 [T] as
    `encode` sees it, `sentences` to its number of lines; a line of weight w is w lines.
    `required`: the characters that must be pieces, with counts, most frequent first;
    one that no line trained on holds is a type of its own that does not occur, so that
    it has a place in `text`. `characters`: the count of every character in the training
    lines, required or not. `settings`: those with which the text was read, and models
    are trained. `byte_counts`: with byte_fallback, occurrences of each byte, int64
    [256], of characters that are not required, in each text as `encode` sees it.
    `whole`: with user-defined symbols, the lines of each text that hold one and their
    occurrences; they have no share in the other counts of encoded text. `empty`:
    without split_by_whitespace, lines that normalise to nothing and count in pruning.
    """

    text: np.ndarray
    start: np.ndarray
    length: np.ndarray
    trained: int
    inside: np.ndarray
    last: np.ndarray
    counts: dict[str, np.ndarray]
    sentences: dict[str, int]
    required: dict[str, int]
    characters: dict[str, int]
    settings: TextSettings = XLM_R
    byte_counts: Mapping[str, np.ndarray] = field(default_factory=dict)
    whole: Mapping[str, Counter[str]] = field(default_factory=dict)
    empty: int = 0

    @property
    def frequencies(self) -> np.ndarray:
        """Occurrences of the trained types in the training lines, int64 [trained]."""
        return (self.inside + self.last)[: self.trained]


def load_word_types(
    texts: Mapping[str, Callable[[], Iterable[list[str]]]],
    coverage: float | None = COVERAGE,
    settings: TextSettings = XLM_R,
) -> WordTypes:
    """`count_word_types` of texts that are functions for blocks of lines; the one named
    train is trained on.
    """

    def sentences(name: str) -> Iterator[Sentences]:
        return trained_on(texts[name](), settings=settings, train=name == "train")

    return count_word_types(
        {name: partial(sentences, name) for name in texts}, coverage, settings=settings
    )


def count_word_types(
    texts: Mapping[str, Callable[[], Iterable[Sentences]]],
    coverage: float | None = COVERAGE,
    required_chars: str = "",
    settings: TextSettings = XLM_R,
) -> WordTypes:
    """Count the word types of texts, each a function that gives its sentences (once
    more, if need be).

    `TrainerInterface::LoadSentences` and `SplitSentencesByWhitespace`; `coverage` and
    `required_chars` as of `coverage.required_characters`. A character that is not
    required is replaced by U+2585 in every text, as it has no piece. Memory: about 12
    bytes a character of the distinct words and a few blocks of sentences. Raises
    VocapError for more distinct words than 32 bits can number the characters of.
    """
    required_chars = required_chars or settings.required_chars
    if not settings.split_by_whitespace:
        return _count_lines(texts, coverage, required_chars, settings)
    runs = settings.allow_whitespace_only_pieces
    table, sentences, whole, _ = _count_texts(texts, RUNS if runs else WORDS)
    characters, required = _choose(table.character_counts(), coverage, required_chars)
    if (
        SPACE not in required
    ):  # a text almost without spaces: U+2581 is replaced too, so a line is one word
        table, sentences, whole, _ = _count_texts(texts, WHOLE)
    kept = _kept(required)
    byte_counts = _count_bytes(table, texts, kept) if settings.byte_fallback else {}
    table.replace(kept, ord(RESERVED))
    words = _arrange(table, list(texts), sentences, required, characters, runs)
    return replace(words, settings=settings, byte_counts=byte_counts, whole=whole)


def _choose(
    totals: np.ndarray, coverage: float | None, required_chars: str
) -> tuple[dict[str, int], ...]:
    """The counts of all characters in the training lines, and those of the required
    ones.
    """
    totals[0] = 0  # the trainer passes over NUL
    characters = {chr(point): int(totals[point]) for point in np.flatnonzero(totals).tolist()}
    chosen = required_characters(characters, coverage, required_chars)
    return characters, {character: characters.get(character, 0) for character in chosen}


def _kept(required: Iterable[str]) -> np.ndarray:
    """Whether each code point is a required character, bool [0x110000]."""
    kept = np.zeros(0x110000, bool)
    kept[[ord(character) for character in required]] = True
    return kept


def _count_bytes(table: WordTable, names: Iterable[str], kept: np.ndarray) -> dict[str, np.ndarray]:
    """`WordTypes.byte_counts`."""
    counts = {}
    for column, name in enumerate(names, TEXTS):
        counts[name] = np.zeros(256, np.int64)
        characters = np.where(kept, 0, table.character_counts(column))
        for point in np.flatnonzero(characters).tolist():
            np.add.at(counts[name], list(chr(point).encode("utf-8")), characters[point])
    return counts


def _count_lines(
    texts: Mapping[str, Callable[[], Iterable[Sentences]]],
    coverage: float | None,
    required_chars: str,
    settings: TextSettings,
) -> WordTypes:
    """`count_word_types` without split_by_whitespace: the trained types are the lines,
    in the trainer's order.
    """
    table, lines, whole, read = _count_texts(texts, WHOLE, in_order=True)
    rows, empty = _without_empty(np.concatenate([np.empty(0, np.int32), *read]))
    np.add.at(table.counts[:, LAST], rows, 1)
    characters, required = _choose(table.character_counts(), coverage, required_chars)
    kept = _kept(required)
    byte_counts = _count_bytes(table, texts, kept) if settings.byte_fallback else {}
    # The trained lines, then those of other texts alone; the first of equal lines has
    # their counts of texts
    extra = _absent(table, required)
    others = np.any(table.counts[: table.known, TEXTS:], axis=1)
    others[extra] = True
    others &= table.counts[: table.known, LAST] == 0
    words = np.concatenate([rows, np.flatnonzero(others).astype(np.int32)])
    distinct, first = np.unique(words, return_index=True)
    counts = np.zeros((len(words), len(texts)), np.int64)
    counts[first] = table.counts[distinct, TEXTS:]
    types = _types(
        table,
        words,
        np.zeros(len(words), np.int32),
        1,
        trained=len(rows),
        inside=np.zeros(len(words), np.int64),
        last=(np.arange(len(words)) < len(rows)).astype(np.int64),
        counts={name: counts[:, column].copy() for column, name in enumerate(texts)},
        sentences=lines,
        required=required,
        characters=characters,
        settings=settings,
        byte_counts=byte_counts,
        whole=whole,
        empty=empty,
    )
    types.text[~kept[types.text]] = ord(RESERVED)
    types.text[types.start + types.length] = 0
    return types


def _absent(table: WordTable, required: Mapping[str, int]) -> np.ndarray:
    """The numbers of the required characters that no trained line holds, as words of
    the table.
    """
    return table.number_lines(
        code_points([character for character, count in required.items() if not count])
    )


def _types(
    table: WordTable, words: np.ndarray, separator: np.ndarray, gap: int, **facts: Any
) -> WordTypes:
    """Words of a table one after the other, each followed by its separator and, up to
    `gap` characters, by 0.
    """
    length = np.diff(table.bounds[: table.known + 1])[words].astype(np.int32)
    size = int(length.sum(dtype=np.int64)) + gap * len(words)
    if size > _MAX_CHARACTERS:
        raise VocapError(
            f"{size} characters in distinct words or lines are too many; train on fewer lines"
        )
    start = np.zeros(len(words), np.int32)
    np.cumsum(length[:-1] + gap, out=start[1:])
    text = join_words(table.store, table.bounds, words, separator, gap)
    return WordTypes(text, start, length, **facts)


def _without_empty(lines: np.ndarray) -> tuple[np.ndarray, int]:
    """The lines (-1: an empty one) as the trainer orders them, and how many empty ones
    it keeps.

    It moves the last line into the place of each empty one, and does not look whether
    that one is empty too (`TrainerInterface::LoadSentences`).
    """
    order, size = lines.copy(), len(lines)
    for place in np.flatnonzero(lines < 0).tolist():
        if place >= size:
            break
        size -= 1
        order[place] = order[size]
    order = order[:size]
    return order[order >= 0], int(np.count_nonzero(order < 0))


def _count_texts(
    texts: Mapping[str, Callable[[], Iterable[Sentences]]], cut: int, in_order: bool = False
) -> tuple[WordTable, dict[str, int], dict[str, Counter[str]], list[np.ndarray]]:
    """The words of every text, as encoded and as trained on, the number of lines, and
    those encoded as a whole.

    With `in_order` the trained lines are not counted, but numbered in their order, in
    the last list.
    """
    table, lines, read = WordTable(len(texts)), dict.fromkeys(texts, 0), []
    whole: dict[str, Counter[str]] = {name: Counter() for name in texts}
    for column, (name, sentences) in enumerate(texts.items()):
        for block in sentences():
            lines[name] += block.weight * block.lines
            table.count(block.usual, cut, True, column, block.weight)
            table.count(block.encoded, cut, False, column, block.weight)
            if in_order:
                read.append(np.repeat(table.number_lines(block.trained), block.weight))
            else:
                table.count(block.trained, cut, True, None, block.weight)
            for line in block.whole:
                whole[name][line] += block.weight
    return table, lines, whole, read


def most_frequent_types(words: WordTypes, most: int) -> WordTypes:
    """The most frequent trained types, with `most` characters at most; without counts
    of encoded text.
    """
    types = int(
        np.searchsorted(np.cumsum(words.length[: words.trained], dtype=np.int64), most, "right")
    )
    end = int(words.start[types - 1] + words.length[types - 1]) + 1 if types else 0
    return replace(
        words,
        text=words.text[:end].copy(),
        start=words.start[:types].copy(),
        length=words.length[:types].copy(),
        trained=types,
        inside=words.inside[:types].copy(),
        last=words.last[:types].copy(),
        counts={},
    )


def _arrange(
    table: WordTable,
    names: list[str],
    sentences: dict[str, int],
    required: dict[str, int],
    characters: dict[str, int],
    runs: bool,
) -> WordTypes:
    """The words that occur, and each of the required characters that do not, in the
    trainer's order.

    `runs`: a piece can be a run of U+2581.
    """
    extra = _absent(table, required)
    stored = np.any(table.counts[: table.known], axis=1)
    stored[extra] = True
    occurring = np.flatnonzero(stored).astype(np.int32)
    frequency = table.counts[occurring, INSIDE] + table.counts[occurring, LAST]
    words = sort_words(table, occurring, frequency)
    counts = table.counts[words]
    begins = table.store[table.bounds[words]]
    gap = 2 if runs or ((begins != ord(SPACE)) & (begins != ord(RESERVED))).any() else 1
    return _types(
        table,
        words,
        np.where(counts[:, INSIDE] > 0, ord(SPACE), 0).astype(np.int32),
        gap,
        trained=int(np.count_nonzero(frequency)),
        inside=counts[:, INSIDE].copy(),
        last=counts[:, LAST].copy(),
        counts={name: counts[:, TEXTS + column].copy() for column, name in enumerate(names)},
        sentences=sentences,
        required=required,
        characters=characters,
    )
