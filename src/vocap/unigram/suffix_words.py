"""Words that end in U+2581 instead of beginning with it (`treat_whitespace_as_suffix`), and what follows them.

A piece that ends such a word is a seed if two different characters follow it, so words are first counted together
with the character after each, then joined with one follower and, for a second copy, another.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from vocap.unigram.kernels import kernel
from vocap.unigram.training_text import LINE_END, Sentences
from vocap.unigram.word_table import INSIDE, LAST, TEXTS, WordTable, find_word

_SPACE, _LINE = 0x2581, ord(LINE_END)
_TABLE = "int32[::1], int64[::1], uint64[::1], int32[::1]"  # store, bounds, hashes, slots


def count_with_followers(
    texts: Mapping[str, Callable[[], Iterable[Sentences]]], runs: bool
) -> tuple[WordTable, dict[str, int], dict[str, Counter[str]]]:
    """The words of every text, each with the character after it, LINE_END at a line's end; lines, and whole ones.

    `runs`: a word ends after a run of U+2581, not after each.
    """
    table, lines, whole = WordTable(len(texts)), dict.fromkeys(texts, 0), {name: Counter() for name in texts}
    for column, (name, sentences) in enumerate(texts.items(), TEXTS):
        for block in sentences():
            lines[name] += block.weight * block.lines
            for part, trained, text in (
                (block.usual, True, column),
                (block.encoded, False, column),
                (block.trained, True, -1),
            ):
                points = np.frombuffer(part, np.int32)
                table.reserve(len(points), 2 * len(points))
                arguments = points, runs, trained, text, block.weight, table.counts, table.known
                table.known = count_pairs(*arguments, *table.arrays())
            for line in block.whole:
                whole[name][line] += block.weight
    return table, lines, whole


def followers(table: WordTable) -> np.ndarray:
    """The last character of each word of the table, int32."""
    return table.store[table.bounds[1 : table.known + 1] - 1]


def character_counts(table: WordTable, column: int | None = None) -> np.ndarray:
    """`WordTable.character_counts` without the followers."""
    counts = table.counts[: table.known]
    times = counts[:, INSIDE] + counts[:, LAST] if column is None else counts[:, column]
    totals = table.character_counts(column)
    np.subtract.at(totals, followers(table), times)
    return totals


def join(table: WordTable) -> tuple[WordTable, np.ndarray]:
    """The words without followers, and two followers of each, int32 [known, 2], 0 for the end of a line.

    INSIDE counts the occurrences before the first of them, LAST all others.
    """
    known, after = table.known, followers(table)
    points = table.store[: table.bounds[known]].copy()
    points[table.bounds[1 : known + 1] - 1] = _LINE
    joined = WordTable(table.counts.shape[1] - TEXTS)
    number = joined.number_lines(bytearray(points.tobytes()))
    np.add.at(joined.counts[:, TEXTS:], number, table.counts[:known, TEXTS:])
    times = table.counts[:known, INSIDE] + table.counts[:known, LAST]
    trained = np.flatnonzero(times)
    two = np.zeros((joined.known, 2), np.int32)
    words, first = np.unique(number[trained], return_index=True)
    two[words, 0] = after[trained[first]]
    words, last = np.unique(number[trained][::-1], return_index=True)
    two[words, 1] = after[trained[::-1][last]]
    two[two == _LINE] = 0
    np.add.at(joined.counts[:, LAST], number[trained], times[trained])
    joined.counts[words, INSIDE] = times[trained[first]]
    joined.counts[words, LAST] -= times[trained[first]]
    return joined, two


@kernel(f"int64(int32[::1], boolean, boolean, int64, int64, int64[:, ::1], int64, {_TABLE})")
def count_pairs(points, runs, trained, column, weight, counts, known, store, bounds, hashes, slots):
    """Add the words of lines, each with the character after it; returns how many are known now."""
    begin = 0
    for at in range(points.size):
        character = points[at]
        is_last = character == _LINE
        is_border = at > begin and points[at - 1] == _SPACE and (not runs or character != _SPACE)
        if at > begin and (is_last or is_border):
            word = find_word(points, begin, at + 1, known, store, bounds, hashes, slots)
            known = max(known, word + 1)
            if trained:
                counts[word, INSIDE] += weight
            if column >= 0:
                counts[word, column] += weight
            begin = at
        if is_last:
            begin = at + 1
    return known
