"""A corpus as weighted word types: what the trainer's EM sees, and what ALP is counted on.

A word type is a stretch of normalised text that begins with U+2581 and holds no other. The trainer's lattices
never cross U+2581 (`TrainerInterface::SplitSentencesByWhitespace`), and no piece does, so a corpus is its types
and how often each occurs.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vocap.errors import VocapError
from vocap.vocabularies.characters import (
    COVERAGE,
    META_PIECES,
    RESERVED,
    SEPARATOR,
    is_trainable,
    required_characters,
    trainer_normalizer,
)
from vocap.vocabularies.ladder.crew import ahead
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
    maps the name of a text to its occurrences int64 [T] as `encode` sees it, `sentences` to its number of lines.
    `required`: the characters that must be pieces, with counts, most frequent first.
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


class Borders:
    """The rows of a model that are no pieces of text: where one stands in a training line, a piece ends."""

    def __init__(self, metas: Sequence[str]):
        longest_first = sorted(metas, key=len, reverse=True)  # as in PrefixMatcher
        self.pattern = re.compile("|".join(map(re.escape, longest_first)))
        self.hint = "<" if all("<" in meta for meta in metas) else ""  # most lines are passed over by it

    def in_line(self, line: str) -> bool:
        return self.hint in line and self.pattern.search(line) is not None

    def replace(self, line: str) -> str:
        """The line with a separator for each (`PrefixMatcher::GlobalReplace`)."""
        return self.pattern.sub(SEPARATOR, line)


def load_word_types(
    texts: dict[str, Callable[[], Iterable[list[str]]]],
    train: str = "train",
    coverage: float = COVERAGE,
    metas: Sequence[str] = META_PIECES,
    threads: int = 1,
) -> WordTypes:
    """Count the word types of texts, each a function that gives blocks of lines; `train` names the trained one.

    `TrainerInterface::LoadSentences` and `SplitSentencesByWhitespace`. A character that is not required is
    replaced by U+2585 in every text, as it has no piece. `metas` as in `Borders`. With more than one of `threads`,
    a block is read and normalised while the one before is counted. Memory: about 12 bytes a character of the
    distinct words and one or two blocks of lines. Raises VocapError for more distinct words than 32 bits
    can number the characters of.
    """
    borders = Borders(metas)
    table, sentences = _count_texts(texts, train, borders, True, threads)
    totals = table.character_counts()
    totals[0] = 0  # the trainer passes over NUL
    counts = {chr(point): int(totals[point]) for point in np.flatnonzero(totals).tolist()}
    required = {character: counts[character] for character in required_characters(counts, coverage)}
    if SPACE not in required:  # a text almost without spaces: U+2581 is replaced too, so a line is one word
        table, sentences = _count_texts(texts, train, borders, False, threads)
    kept = np.zeros(len(totals), bool)
    kept[[ord(character) for character in required]] = True
    table.replace(kept, ord(RESERVED))
    return _arrange(table, list(texts), sentences, required)


def _count_texts(texts, train: str, borders: Borders, cut: bool, threads: int) -> tuple[WordTable, dict[str, int]]:
    """The words of every text, as encoded and as trained on, and the number of lines."""
    table = WordTable(len(texts))
    normalizer = trainer_normalizer()
    sentences = {}
    for column, (name, blocks) in enumerate(texts.items()):
        sentences[name] = 0
        for lines, normalised in ahead(((lines, normalizer.normalize(lines)) for lines in blocks()), threads):
            sentences[name] += len(lines)
            if name == train:
                _add_trained(table, lines, normalised, borders, cut, column)
            else:
                table.add(normalised, cut, trained=False, text=column)
    return table, sentences


def _add_trained(
    table: WordTable, raw: list[str], normalised: list[str], borders: Borders, cut: bool, column: int
) -> None:
    """Count a block of lines of the training text: some are encoded but not trained on, or not as they are."""
    skipped, with_meta, usual = [], [], []
    for line, text in zip(raw, normalised, strict=True):
        if not is_trainable(line):
            skipped.append(text)
        elif borders.in_line(text):
            with_meta.append(text)
        else:
            usual.append(text)
    table.add(usual, cut, trained=True, text=column)
    table.add(skipped + with_meta, cut, trained=False, text=column)
    table.add([borders.replace(text) for text in with_meta], cut, trained=True, text=None)


def _arrange(table: WordTable, names: list[str], sentences: dict[str, int], required: dict[str, int]) -> WordTypes:
    """The words that occur, in the trainer's order. The table is left without its hashes."""
    occurring = np.flatnonzero(table.counts[: table.known].any(axis=1)).astype(np.int32)
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
