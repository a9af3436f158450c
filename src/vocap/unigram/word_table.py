"""Distinct words and how often each occurs, in arrays: no Python object a word.

Words are added a block of lines at a time, so memory follows the distinct words and not the text. A word is found
by open addressing: `slots` holds its number + 1 at the place that its hash names, or at the next free one.
"""

import numpy as np

from vocap.unigram.kernels import kernel
from vocap.unigram.training_text import LINE_END, code_points

WHOLE, WORDS, RUNS = 0, 1, 2  # how lines are cut: not, before each U+2581, before each run of U+2581
INSIDE, LAST, TEXTS = 0, 1, 2  # columns of `counts`; from TEXTS on, one a text
_SPACE, _LINE = 0x2581, ord(LINE_END)
_FIRST_WORDS, _FIRST_CHARACTERS = 1 << 12, 1 << 15
_COMPARED = 48  # characters that are compared in arrays; few words share so many

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

    def add(self, lines: list[str], cut: int, trained: bool, text: int | None, weight: int = 1) -> None:
        """Count the words of normalised lines, by `cut` WORDS, RUNS, or WHOLE: a line is one word.

        `trained`: for the trainer; `text`: also for the text of that number; each word `weight` times.
        """
        self.count(code_points(lines), cut, trained, text, weight)

    def count(self, sentences: bytearray, cut: int, trained: bool, text: int | None, weight: int = 1) -> None:
        """`add` of the `code_points` of lines."""
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

    def number(self, lines: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """The words of normalised lines by number, int32, and where each line ends among them, int64.

        Words are cut before each U+2581, stored, and not counted.
        """
        points = np.frombuffer(code_points(lines), np.int32)
        words = np.count_nonzero((points == _SPACE) | (points == _LINE))
        self.reserve(words, len(points))
        numbers, ends = np.empty(words, np.int32), np.empty(np.count_nonzero(points == _LINE), np.int64)
        self.known = number_words(points, True, numbers, ends, self.known, *self.arrays())
        return numbers[: ends[-1]], ends

    def number_lines(self, sentences: bytearray) -> np.ndarray:
        """Each of the lines of `code_points` as a word, by number, int32; -1 for an empty one. Not counted."""
        points = np.frombuffer(sentences, np.int32)
        lines = np.count_nonzero(points == _LINE)
        self.reserve(lines, len(points))
        numbers, ends = np.empty(lines, np.int32), np.zeros(lines, np.int64)
        self.known = number_words(points, False, numbers, ends, self.known, *self.arrays())
        found = np.full(lines, -1, np.int32)
        filled = np.diff(ends, prepend=0) > 0
        found[filled] = numbers[: np.count_nonzero(filled)]
        return found

    def character_counts(self, column: int | None = None) -> np.ndarray:
        """Occurrences of each code point in trained lines, or by a column of `counts`, int64 [0x110000]."""
        if column is None:
            times = self.counts[: self.known, INSIDE] + self.counts[: self.known, LAST]
        else:
            times = self.counts[: self.known, column].copy()
        return count_characters(self.store, self.bounds, times)

    def replace(self, kept: np.ndarray, replacement: int) -> None:
        """Put `replacement` for each code point that is not `kept` (bool [0x110000]); equal words become one."""
        words, characters = measure_replaced(self.store, self.bounds, self.known, kept)
        if words:
            self.reserve(words, characters)
            self.known = replace_characters(kept, replacement, self.counts, self.known, *self.arrays())

    def big_endian(self, word: int) -> bytes:
        """The text of a word as bytes that sort like it."""
        return self.store[self.bounds[word] : self.bounds[word + 1]].astype(">i4").tobytes()

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


@kernel(f"int64(int32[::1], boolean, int32[::1], int64[::1], int64, {_TABLE})")
def number_words(points, cut, numbers, ends, known, store, bounds, hashes, slots):
    """Fill `numbers` and `ends` for lines that each end in LINE_END; returns how many words are known now."""
    begin = count = line = 0
    for at in range(points.size):
        character = points[at]
        is_last = character == _LINE
        if is_last or (cut and character == _SPACE):
            if at > begin:
                numbers[count] = find_word(points, begin, at, known, store, bounds, hashes, slots)
                known = max(known, numbers[count] + 1)
                count += 1
            begin = at + 1 if is_last else at
            if is_last:
                ends[line] = count
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


@kernel("UniTuple(int64, 2)(int32[::1], int64[::1], int64, boolean[::1])")
def measure_replaced(store, bounds, known, kept):
    """The number of words with a character that is not kept, and that of their characters."""
    words, characters = 0, 0
    for word in range(known):
        for at in range(bounds[word], bounds[word + 1]):
            if not kept[store[at]]:
                words += 1
                characters += bounds[word + 1] - bounds[word]
                break
    return words, characters


@kernel(f"int64(boolean[::1], int64, int64[:, ::1], int64, {_TABLE})")
def replace_characters(kept, replacement, counts, known, store, bounds, hashes, slots):
    """The counts of a word with characters that are not kept pass to the word with the replacement in place."""
    before = known
    for word in range(before):
        begin, end = bounds[word], bounds[word + 1]
        replaced = False
        for at in range(begin, end):
            replaced |= not kept[store[at]]
        if not replaced:
            continue
        points = store[begin:end].copy()
        for at in range(points.size):
            if not kept[points[at]]:
                points[at] = replacement
        other = find_word(points, 0, points.size, known, store, bounds, hashes, slots)
        known = max(known, other + 1)
        if other != word:  # else the word equals its replacement
            for column in range(counts.shape[1]):
                counts[other, column] += counts[word, column]
                counts[word, column] = 0
    return known


@kernel("uint64[::1](int32[::1], int64[::1], int32[::1], int64)")
def text_keys(store, bounds, words, depth):
    """Three characters of each word from `depth` on, as a number that sorts like them; 0 for none."""
    keys = np.empty(words.size, np.uint64)
    for place in range(words.size):
        word = words[place]
        key = np.uint64(0)
        for at in range(bounds[word] + depth, bounds[word] + depth + 3):
            key <<= np.uint64(21)
            if at < bounds[word + 1]:
                key |= np.uint64(store[at] + 1)
        keys[place] = key
    return keys


def sort_words(table: WordTable, words: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """`words` int32 [T] by (`counts` int64 [T] descending, text ascending)."""
    order = np.argsort(-counts, kind="stable")
    words = words[order]
    groups = _runs(counts[order])  # the same number: not told apart yet
    places = np.arange(len(words))
    for depth in range(0, _COMPARED, 3):
        tied = _has_equal_neighbour(groups)
        places, groups = places[tied], groups[tied]
        keys = text_keys(table.store, table.bounds, words[places], depth)
        order = np.lexsort((keys, groups))
        words[places] = words[places][order]
        groups = _runs(groups, keys[order])
    tied = _has_equal_neighbour(groups)
    places, groups = places[tied], groups[tied]
    texts = [table.big_endian(word) for word in words[places].tolist()]
    order = sorted(range(len(texts)), key=lambda at: (groups[at], texts[at]))
    words[places] = words[places][order]
    return words


def _runs(*values: np.ndarray) -> np.ndarray:
    """Numbers the runs of places with equal values from 0, int64."""
    changes = np.zeros(len(values[0]), bool)
    for column in values:
        changes[1:] |= column[1:] != column[:-1]
    return np.cumsum(changes)


def _has_equal_neighbour(groups: np.ndarray) -> np.ndarray:
    same = np.zeros(len(groups) + 1, bool)
    same[1:-1] = groups[1:] == groups[:-1]
    return same[1:] | same[:-1]


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
