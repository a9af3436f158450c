"""Distinct words and how often each occurs, in arrays: no Python object a word.

Words are added a block of lines at a time, so memory follows the distinct words and not the text. A word is found
by open addressing: `slots` holds its number + 1 at the place that its hash names, or at the next free one.
"""

import numpy as np

from vocap.unigram.kernels import kernel
from vocap.unigram.training_text import LINE_END

WHOLE, WORDS, RUNS = 0, 1, 2  # how lines are cut: not, before each U+2581, before each run of U+2581
INSIDE, LAST, TEXTS = 0, 1, 2  # columns of `counts`; from TEXTS on, one a text
_SPACE, _LINE = 0x2581, ord(LINE_END)
_FIRST_WORDS, _FIRST_CHARACTERS = 1 << 12, 1 << 15

_TABLE = "int32[::1], int64[::1], uint64[::1], int32[::1]"  # store, bounds, hashes, slots


class WordTable:
    """K distinct words: word k is `store[bounds[k]:bounds[k + 1]]`, code points.

    `counts` int64 [capacity, TEXTS + texts]: occurrences in trained lines before another word, at the end of a
    trained line, and in each text.
    """

    def __init__(self, texts: int):
        self.known = 0
        self.store = np.empty(_FIRST_CHARACTERS, np.int32)
        self.bounds = np.zeros(_FIRST_WORDS + 1, np.int64)
        self.hashes = np.empty(_FIRST_WORDS, np.uint64)
        self.counts = np.zeros((_FIRST_WORDS, TEXTS + texts), np.int64)
        self.slots = np.zeros(2 * _FIRST_WORDS, np.int32)

    def count(self, sentences: bytearray, cut: int, trained: bool, text: int | None, weight: int = 1) -> None:
        """Count the words of lines (`code_points`), by `cut` WORDS, RUNS, or WHOLE: a line is one word.

        `trained`: for the trainer; `text`: also for the text of that number; each word `weight` times.
        """
        if not sentences:
            return
        points = np.frombuffer(sentences, np.int32)
        self.reserve(np.count_nonzero((points == _SPACE) | (points == _LINE)), len(points))
        column = -1 if text is None else TEXTS + text
        self.known = count_words(points, cut, trained, column, weight, self.counts, self.known, *self.arrays())

    def add_counted(self, text: np.ndarray, start: np.ndarray, length: np.ndarray, counts: np.ndarray) -> None:
        """Add to the counts of the words `text[start[t]:start[t] + length[t]]`: `counts` int64 [words,
        columns].
        """
        self.reserve(len(start), int(length.sum(dtype=np.int64)))
        self.known = add_words(text, start, length, counts, self.counts, self.known, *self.arrays())

    def number_lines(self, sentences: bytearray) -> np.ndarray:
        """Each of the lines of `code_points` as a word, by number, int32; -1 for an empty one. Not counted."""
        points = np.frombuffer(sentences, np.int32)
        numbers = np.empty(np.count_nonzero(points == _LINE), np.int32)
        self.reserve(len(numbers), len(points))
        self.known = number_lines(points, numbers, self.known, *self.arrays())
        return numbers

    def character_counts(self, column: int | None = None) -> np.ndarray:
        """Occurrences of each code point in trained lines, or by a column of `counts`, int64 [0x110000]."""
        if column is None:
            times = self.counts[: self.known, INSIDE] + self.counts[: self.known, LAST]
        else:
            times = self.counts[: self.known, column].copy()
        return count_characters(self.store, self.bounds, times)

    def replace(self, kept: np.ndarray, replacement: int) -> None:
        """Put `replacement` for each code point that is not `kept` (bool [0x110000]); equal words become one."""
        bounds = self.bounds[: self.known + 1]
        odd = ~kept[self.store[: bounds[-1]]]
        words = np.unique(np.searchsorted(bounds, np.flatnonzero(odd), side="right") - 1)
        text = np.where(odd, np.int32(replacement), self.store[: bounds[-1]])
        counts = self.counts[words]
        self.counts[words] = 0  # before they are added: a word may equal its replacement
        self.add_counted(text, bounds[words].astype(np.int32), np.diff(bounds)[words].astype(np.int32), counts)

    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.store, self.bounds, self.hashes, self.slots

    def reserve(self, words: int, characters: int) -> None:
        """Room for so many more words and characters."""
        needed = int(self.bounds[self.known]) + characters
        if needed > len(self.store):
            self.store.resize(max(needed, len(self.store) * 5 // 4), refcheck=False)  # in place: no second copy
        needed = int(self.known + words)
        if needed > len(self.hashes):
            capacity = max(needed, len(self.hashes) * 5 // 4)
            self.bounds.resize(capacity + 1, refcheck=False)
            self.hashes.resize(capacity, refcheck=False)
            self.counts.resize((capacity, self.counts.shape[1]), refcheck=False)  # new rows are 0
        if 2 * needed > len(self.slots):
            self.slots = np.zeros(1 << (2 * needed - 1).bit_length(), np.int32)
            fill_slots(self.hashes, self.known, self.slots)


@kernel("void(uint64[::1], int64, int32[::1])")
def fill_slots(hashes, known, slots):
    mask = np.uint64(slots.size - 1)
    for word in range(known):
        at = hashes[word] & mask
        while slots[at]:
            at = (at + np.uint64(1)) & mask
        slots[at] = word + 1


@kernel(f"int64(int32[::1], int64, int64, int64, {_TABLE})")
def find_word(points, begin, end, known, store, bounds, hashes, slots):
    """The number of the word `points[begin:end]`; `known`, and it is stored, if there was none."""
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


@kernel(f"int64(int32[::1], int64, boolean, int64, int64, int64[:, ::1], int64, {_TABLE})")
def count_words(points, cut, trained, column, weight, counts, known, store, bounds, hashes, slots):
    """Add the words of lines that each end in LINE_END, `weight` times each; returns how many are known now."""
    begin = 0
    for at in range(points.size):
        character = points[at]
        is_last = character == _LINE
        if is_last or (
            cut and character == _SPACE and (cut == WORDS or (at > begin and points[at - 1] != _SPACE))
        ):
            if at > begin:
                word = find_word(points, begin, at, known, store, bounds, hashes, slots)
                known = max(known, word + 1)
                if trained:
                    counts[word, LAST if is_last else INSIDE] += weight
                if column >= 0:
                    counts[word, column] += weight
            begin = at + 1 if is_last else at
    return known


@kernel(f"int64(int32[::1], int32[::1], int32[::1], int64[:, ::1], int64[:, ::1], int64, {_TABLE})")
def add_words(text, start, length, added, counts, known, store, bounds, hashes, slots):
    """Add counts to those of the words; returns how many words are known now."""
    for t in range(start.size):
        word = find_word(text, start[t], start[t] + length[t], known, store, bounds, hashes, slots)
        known = max(known, word + 1)
        for column in range(added.shape[1]):
            counts[word, column] += added[t, column]
    return known


@kernel(f"int64(int32[::1], int32[::1], int64, {_TABLE})")
def number_lines(points, numbers, known, store, bounds, hashes, slots):
    """Fill `numbers` for lines that each end in LINE_END; returns how many words are known now."""
    begin = line = 0
    for at in range(points.size):
        if points[at] == _LINE:
            numbers[line] = -1
            if at > begin:
                numbers[line] = find_word(points, begin, at, known, store, bounds, hashes, slots)
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
def lay_out(store, bounds, words, separator, gap):
    """The words one after the other, each followed by its separator and, up to `gap` characters, by 0."""
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
    """`words` int32 [T] by (`counts` int64 [T] descending, text ascending)."""
    separated = lay_out(table.store, table.bounds, words, np.full(len(words), _LINE, np.int32), 1)
    texts = separated.tobytes().decode("utf-32-le").split(LINE_END)
    by_text = np.array(sorted(range(len(words)), key=texts.__getitem__), np.int64)
    return words[by_text[np.argsort(-counts[by_text], kind="stable")]]
