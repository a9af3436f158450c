"""Distinct words of a text, counted block by block.

Words are added a block of lines at a time, so memory follows the distinct words and not
the text. A word is found by open addressing: `slots` holds its number + 1 at the place
that its hash names, or at the next free one.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, int64, types
from numpy.typing import NDArray

from vocap.files.large_arrays import is_large, lengthened, new_array, shortened
from vocap.unigram.kernels import INT32S, INT64S, UINT64S, kernel
from vocap.unigram.training_text import LINE_END, Sentences

# how lines are cut: not, before each U+2581, before each run of U+2581, before each run of
# U+2581 that is not behind other white space
WHOLE, WORDS, RUNS, STRETCHES = 0, 1, 2, 3
INSIDE, LAST, TEXTS = 0, 1, 2  # columns of `counts`; from TEXTS on, one a text
_SPACE, _LINE = 0x2581, ord(LINE_END)
# code points of white space other than U+2581 and line ends
_WHITE = np.array([chr(point).isspace() for point in range(0x3001)])
_WHITE[_LINE] = False
_FIRST_WORDS, _FIRST_CHARACTERS = 1 << 12, 1 << 15


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
    another word, at the end of a trained line, and in each text. Large arrays lie on the
    disk by `memory` (MB), as of `is_large`.
    """

    def __init__(self, texts: int, memory: int | None = None):
        self.known, self.memory = 0, memory
        self.store = np.empty(_FIRST_CHARACTERS, np.int32)
        self.bounds = np.zeros(_FIRST_WORDS + 1, np.int64)
        self.hashes = np.empty(_FIRST_WORDS, np.uint64)
        self.counts = np.zeros((_FIRST_WORDS, TEXTS + texts), np.int64)
        self.slots = np.zeros(2 * _FIRST_WORDS, np.int32)

    def count(
        self, sentences: bytearray, cut: int, trained: bool, text: int | None, weight: int = 1
    ) -> None:
        """Count the words of lines (`code_points`) by a `cut`; by WHOLE a line is one word.

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

    def count_block(self, block: Sentences, cut: int, text: int, weight: int = 1) -> None:
        """Count the words of a block of the text of that number."""
        self.count(block.usual, cut, True, text, weight)
        self.count(block.encoded, cut, False, text, weight)
        self.count(block.trained, cut, True, None, weight)

    def add_counted(
        self,
        text: np.ndarray,
        start: np.ndarray,
        length: np.ndarray,
        counts: np.ndarray,
        cut: int = WHOLE,
    ) -> None:
        """Add to the counts of the words that a `cut` makes of the stretches
        `text[start[t]:start[t] + length[t]]`: `counts` int64 [stretches, columns] of the
        last word of each; others are always before another word.
        """
        words = len(start) + (cut != WHOLE) * int(np.count_nonzero(text == _SPACE))
        self.reserve(words, int(length.sum(dtype=np.int64)))
        self.known = add_counts(
            text, start, length, cut, counts, self.counts, self.known, self.words
        )

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
        words = words_with_others(self.store, self.bounds[: self.known + 1], kept)
        counts, length = self.counts[words], self.lengths(words)
        text = np.empty(length.sum(dtype=np.int64), np.int32)
        join_words(self.store, self.bounds, words, words, 0, text)
        text[~kept[text]] = replacement
        self.counts[words] = 0  # before they are added: a word may equal its replacement
        self.add_counted(text, np.cumsum(length, dtype=np.int32) - length, length, counts)

    def lengths(self, words: np.ndarray) -> np.ndarray:
        """Characters of `words`, int32."""
        return (self.bounds[words + 1] - self.bounds[words]).astype(np.int32)

    def close(self) -> None:
        """Free the memory that finds words and that is in reserve: no more are added."""
        self.store = shortened(self.store, int(self.bounds[self.known]))
        self.bounds = shortened(self.bounds, self.known + 1)
        self.counts = shortened(self.counts, self.known)
        self.hashes, self.slots = np.empty(0, np.uint64), np.empty(0, np.int32)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.counts.nbytes + sum(array.nbytes for array in self.words)

    @property
    def words(self) -> WordStore:
        """The arrays at hand, which `reserve` makes longer."""
        return WordStore(self.store, self.bounds, self.hashes, self.slots)

    def reserve(self, words: int, characters: int) -> None:
        """Room for so many more words and characters."""
        needed = int(self.bounds[self.known]) + characters
        if needed > len(self.store):
            longer = max(needed, len(self.store) * 5 // 4)
            self.store = lengthened(self.store, longer, self.memory)
        needed = int(self.known + words)
        if needed > len(self.hashes):
            capacity = max(needed, len(self.hashes) * 5 // 4)
            self.bounds = lengthened(self.bounds, capacity + 1, self.memory)
            self.hashes = lengthened(self.hashes, capacity, self.memory)
            self.counts = lengthened(self.counts, capacity, self.memory)
        if 2 * needed > len(self.slots):
            size = 1 << (2 * needed - 1).bit_length()
            self.slots = new_array(size, np.int32, is_large(4 * size, self.memory))
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


@kernel(boolean(INT32S, int64, int64, int64), inner=True, allocates=False, inlined=True)
def begins_word(points, begin, at, cut):
    """Whether a word begins at `at`, where the one before it began at `begin`."""
    if not cut or points[at] != _SPACE:
        return False
    before = points[at - 1] if at > begin else _SPACE
    if cut == WORDS or before == _SPACE:
        return cut == WORDS
    return cut == RUNS or before >= _WHITE.size or not _WHITE[before]


@kernel(int64(INT32S, int64, boolean, int64, int64, int64[:, ::1], int64, STORE))
def count_in_lines(points, cut, trained, column, weight, counts, known, words):
    """Add the words of lines that each end in LINE_END, `weight` times each; returns
    how many are known now.
    """
    begin = 0
    for at in range(points.size):
        is_last = points[at] == _LINE
        if is_last or begins_word(points, begin, at, cut):
            if at > begin:
                word = find_word(points, begin, at, known, words)
                known = max(known, word + 1)
                if trained:
                    counts[word, LAST if is_last else INSIDE] += weight
                if column >= 0:
                    counts[word, column] += weight
            begin = at + 1 if is_last else at
    return known


@kernel(int64(INT32S, INT32S, INT32S, int64, int64[:, ::1], int64[:, ::1], int64, STORE))
def add_counts(text, start, length, cut, added, counts, known, words):
    """Add counts to those of the words; returns how many words are known now."""
    for t in range(start.size):
        begin, end = start[t], start[t] + length[t]
        for at in range(begin + 1 if cut else end, end + 1):
            is_last = at == end
            if is_last or begins_word(text, begin, at, cut):
                word = find_word(text, begin, at, known, words)
                known = max(known, word + 1)
                for column in range(added.shape[1]):
                    counts[word, column] += added[t, column]
                if not is_last:
                    counts[word, INSIDE] += added[t, LAST]
                    counts[word, LAST] -= added[t, LAST]
                begin = at
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


@kernel("int32[::1](int32[::1], int64[::1], boolean[::1])")
def words_with_others(store, bounds, kept):
    """The words that hold other code points than those `kept`."""
    words = np.empty(bounds.size - 1, np.int32)
    found = 0
    for word in range(bounds.size - 1):
        at = bounds[word]
        while at < bounds[word + 1] and kept[store[at]]:
            at += 1
        words[found] = word
        found += at < bounds[word + 1]
    return words[:found].copy()


@kernel("void(int32[::1], int64[::1], int32[::1], int32[::1], int64, int32[::1])")
def join_words(store, bounds, words, separator, gap, text):
    """Fill `text`, of zeros, with the words one after the other, each with `gap` characters
    behind it, its separator and zeros.
    """
    at = 0
    for place in range(words.size):
        word = words[place]
        for character in range(bounds[word], bounds[word + 1]):
            text[at] = store[character]
            at += 1
        if gap:
            text[at] = separator[place]
            at += gap


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
