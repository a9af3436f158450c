"""A corpus as weighted word types: what the trainer's EM sees, and what ALP is counted on.

A word type is a stretch of normalised text that begins with U+2581 and holds no other. The trainer's lattices
never cross U+2581 (`TrainerInterface::SplitSentencesByWhitespace`), and no piece does, so a corpus is its types
and how often each occurs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from vocap.errors import VocapError
from vocap.vocabularies import COVERAGE
from vocap.vocabularies.characters import META_PIECES, RESERVED
from vocap.vocabularies.coverage import required_characters
from vocap.vocabularies.ladder.sentences import Sentences, held_out, trained_on
from vocap.vocabularies.ladder.word_table import INSIDE, LAST, TEXTS, WordTable, lay_out, sort_words

SPACE = "\u2581"
_MAX_CHARACTERS = 2**31 - 1  # 32-bit positions


@dataclass(frozen=True)
class WordTypes:
    """T word types, the `trained` ones first by (count descending, text ascending), as EM adds them up.

    `text` int32 [N]: code points of all types, each followed by what follows it in the corpus: U+2581 (the next
    word), or 0 where it only ends lines. Type t is `text[start[t]:start[t] + length[t]]` (int32 [T] both).
    `inside` and `last` int64 [T]: occurrences in the training lines before another word, and at a line's end; 0
    for types from `trained` on, which stand only in lines that the trainer skips or in held-out text. `counts`
    maps the name of a text to its occurrences int64 [T] as `encode` sees it, `sentences` to its number of lines; a
    line of weight w is w lines. `required`: the characters that must be pieces, with counts, most frequent first;
    one that no line trained on holds is a type of its own that does not occur, so that it has a place in `text`.
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

    @property
    def types(self) -> list[str]:
        """The types as strings: for looking at a few of them, as each takes many times the memory of its text."""
        text = self.text.tobytes().decode("utf-32-le")
        bounds = zip(self.start.tolist(), (self.start + self.length).tolist(), strict=True)
        return [text[begin:end] for begin, end in bounds]

    @property
    def frequencies(self) -> np.ndarray:
        """Occurrences of the trained types in the training lines, int64 [trained]."""
        return (self.inside + self.last)[: self.trained]


def load_word_types(
    texts: Mapping[str, Callable[[], Iterable[list[str]]]],
    train: str = "train",
    coverage: float | None = COVERAGE,
    metas: Sequence[str] = META_PIECES,
    required_chars: str = "",
) -> WordTypes:
    """`count_word_types` of texts that are functions for blocks of lines; `train` names the trained one.

    `metas` are borders between words, as in `trained_on`.
    """

    def sentences(name: str) -> Iterator[Sentences]:
        return trained_on(texts[name](), metas) if name == train else held_out(texts[name]())

    return count_word_types({name: partial(sentences, name) for name in texts}, coverage, required_chars)


def count_word_types(
    texts: Mapping[str, Callable[[], Iterable[Sentences]]],
    coverage: float | None = COVERAGE,
    required_chars: str = "",
) -> WordTypes:
    """Count the word types of texts, each a function that gives its sentences (once more, if need be).

    `TrainerInterface::LoadSentences` and `SplitSentencesByWhitespace`; `coverage` and `required_chars` as of
    `coverage.required_characters`. A character that is not required is replaced by U+2585 in every text, as it has
    no piece. Memory: about 12 bytes a character of the distinct words and a few blocks of sentences. Raises
    VocapError for more distinct words than 32 bits can number the characters of.
    """
    table, sentences = _count_texts(texts, cut=True)
    totals = table.character_counts()
    totals[0] = 0  # the trainer passes over NUL
    counts = {chr(point): int(totals[point]) for point in np.flatnonzero(totals).tolist()}
    chosen = required_characters(counts, coverage, required_chars)
    required = {character: counts.get(character, 0) for character in chosen}
    if SPACE not in required:  # a text almost without spaces: U+2581 is replaced too, so a line is one word
        table, sentences = _count_texts(texts, cut=False)
    kept = np.zeros(len(totals), bool)
    kept[[ord(character) for character in required]] = True
    table.replace(kept, ord(RESERVED))
    absent = [character for character, count in required.items() if not count]
    return _arrange(table, list(texts), sentences, required, absent)


def _count_texts(
    texts: Mapping[str, Callable[[], Iterable[Sentences]]], cut: bool
) -> tuple[WordTable, dict[str, int]]:
    """The words of every text, as encoded and as trained on, and the number of lines."""
    table = WordTable(len(texts))
    lines = dict.fromkeys(texts, 0)
    for column, (name, sentences) in enumerate(texts.items()):
        for block in sentences():
            lines[name] += block.weight * block.lines
            table.count(block.usual, cut, True, column, block.weight)
            table.count(block.encoded, cut, False, column, block.weight)
            table.count(block.trained, cut, True, None, block.weight)
    return table, lines


def most_frequent_types(words: WordTypes, most: int) -> WordTypes:
    """The most frequent trained types, with `most` characters at most; without counts of encoded text."""
    types = int(np.searchsorted(np.cumsum(words.length[: words.trained], dtype=np.int64), most, "right"))
    whole = types == len(words.start)
    end = int(words.start[types - 1] + words.length[types - 1]) + 1 if types else 0
    cut = (lambda array, size: array) if whole else (lambda array, size: array[:size].copy())
    return replace(
        words,
        text=cut(words.text, end),
        start=cut(words.start, types),
        length=cut(words.length, types),
        trained=types,
        inside=cut(words.inside, types),
        last=cut(words.last, types),
        counts={},
    )


def join_word_types(parts: Iterable[tuple[WordTypes, int]]) -> WordTypes:
    """The trained types of several texts as those of one; each text counts `weight` times, an int.

    Every character is required but U+2585, which stands for those that their text does not require. No counts of
    encoded text are kept.
    """
    table = WordTable(0)
    for words, weight in parts:
        types = slice(words.trained)
        counts = np.stack([words.inside[types], words.last[types]], axis=1) * weight
        table.add_counted(words.text, words.start[types].copy(), words.length[types].copy(), counts)
    totals = table.character_counts()
    totals[[0, ord(RESERVED)]] = 0
    points = np.flatnonzero(totals)
    points = points[np.argsort(-totals[points], kind="stable")]
    required = {chr(point): int(totals[point]) for point in points.tolist()}
    return _arrange(table, [], {}, required, [])


def _arrange(
    table: WordTable, names: list[str], sentences: dict[str, int], required: dict[str, int], absent: list[str]
) -> WordTypes:
    """The words that occur, and each of the characters that are `absent`, in the trainer's order."""
    extra = table.number(absent)[0] if absent else np.empty(0, np.int32)
    stored = table.counts[: table.known].any(axis=1)
    stored[extra] = True
    occurring = np.flatnonzero(stored).astype(np.int32)
    frequency = table.counts[occurring, INSIDE] + table.counts[occurring, LAST]
    words = sort_words(table, occurring, frequency)
    counts = table.counts[words]
    length = np.diff(table.bounds[: table.known + 1])[words].astype(np.int32)
    size = int(length.sum(dtype=np.int64)) + len(words)
    if size > _MAX_CHARACTERS:
        raise VocapError(f"{size} characters in distinct words are too many; train on fewer lines")
    start = np.zeros(len(words), np.int32)
    np.cumsum(length[:-1] + 1, out=start[1:])
    separator = np.where(counts[:, INSIDE] > 0, ord(SPACE), 0).astype(np.int32)
    return WordTypes(
        text=lay_out(table.store, table.bounds, words, separator),
        start=start,
        length=length,
        trained=int(np.count_nonzero(frequency)),
        inside=counts[:, INSIDE].copy(),
        last=counts[:, LAST].copy(),
        counts={name: counts[:, TEXTS + column].copy() for column, name in enumerate(names)},
        sentences=sentences,
        required=required,
    )
