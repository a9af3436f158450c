"""A corpus as weighted word types, the input of EM and of ALP.

A word type is a stretch of normalised text that begins with U+2581, or with a line, and
holds no other; with allow_whitespace_only_pieces, one that begins with a run of them.
The trainer's lattices never cross its borders
(`TrainerInterface::SplitSentencesByWhitespace`), and no piece does, so a corpus is its
types and how often each occurs.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vocap.errors import VocapError
from vocap.files.large_arrays import is_large, new_array
from vocap.unigram.counts import CountableText, Counts
from vocap.unigram.text_settings import COVERAGE, RESERVED, SPACE, XLM_R, TextSettings
from vocap.unigram.training_text import (
    code_points,
    named_counts,
    required_characters,
    trained_on,
)
from vocap.unigram.word_table import (
    INSIDE,
    LAST,
    RUNS,
    TEXTS,
    WHOLE,
    WORDS,
    WordTable,
    join_words,
    sort_words,
)

_MAX_CHARACTERS = 2**31 - 1  # 32-bit positions


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
    occurrences; they have no share in the other counts of encoded text.
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

    @property
    def frequencies(self) -> np.ndarray:
        """Occurrences of the trained types in the training lines, int64 [trained]."""
        return (self.inside + self.last)[: self.trained]


def load_word_types(
    texts: Mapping[str, Callable[[], Iterable[list[str]]]],
    coverage: float | None = COVERAGE,
    settings: TextSettings = XLM_R,
    counts: Counts | None = None,
    memory: int | None = None,
) -> WordTypes:
    """`count_word_types` of the texts of one language, functions for blocks of lines."""
    sources = [CountableText(texts, counts)]
    return count_word_types(sources, coverage, settings=settings, memory=memory)


def count_word_types(
    sources: Sequence[CountableText],
    coverage: float | None = COVERAGE,
    required_chars: str = "",
    settings: TextSettings = XLM_R,
    metas: Sequence[str] | None = None,
    memory: int | None = None,
) -> WordTypes:
    """Count the word types of texts of the same names; the one named train is trained
    on.

    `TrainerInterface::LoadSentences` and `SplitSentencesByWhitespace`; `coverage` and
    `required_chars` as of `coverage.required_characters`, `metas` as of `trained_on`. A
    character that is not required is replaced by U+2585 in every text, as it has no
    piece. A text with counts is read only where it is almost without spaces. Memory:
    about 12 bytes a character of the distinct words and a few blocks of sentences; large
    arrays lie on the disk by `memory` (MB), as of `is_large`. Raises VocapError for more
    distinct words than 32 bits can number the characters of.
    """
    required_chars = required_chars or settings.required_chars
    runs = settings.allow_whitespace_only_pieces
    how = settings, metas, memory
    table, lines, whole = _count_texts(sources, RUNS if runs else WORDS, *how)
    characters, required = _choose(table.character_counts(), coverage, required_chars)
    if SPACE not in required:  # U+2581 is replaced too, so a line is one word
        read = [replace(source, counts=None) for source in sources]
        table, lines, whole = _count_texts(read, WHOLE, *how)
    kept = _kept(required)
    byte_counts = _count_bytes(table, lines, kept) if settings.byte_fallback else {}
    table.replace(kept, ord(RESERVED))
    words = _arrange(table, list(lines), lines, required, characters, runs)
    return replace(words, settings=settings, byte_counts=byte_counts, whole=whole)


def _choose(
    totals: np.ndarray, coverage: float | None, required_chars: str
) -> tuple[dict[str, int], ...]:
    """The counts of all characters in the training lines, and those of the required
    ones.
    """
    characters = named_counts(totals)
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


def _count_texts(
    sources: Sequence[CountableText],
    cut: int,
    settings: TextSettings,
    metas: Sequence[str] | None,
    memory: int | None,
) -> tuple[WordTable, dict[str, int], dict[str, Counter[str]]]:
    """The words of every text, as encoded and as trained on, the number of lines, and
    those encoded as a whole.
    """
    lines = dict.fromkeys(sources[0].texts, 0)
    whole: dict[str, Counter[str]] = {name: Counter() for name in lines}
    table = WordTable(len(lines), memory)
    for source in sources:
        counts, weight = source.counts, source.weight
        if counts is not None:
            counts.check(settings, metas or ())
            counts.add_to(table, cut, slice(TEXTS + len(lines)), weight)
        for column, name in enumerate(lines):
            if counts is not None:
                lines[name] += weight * counts.facts["texts"][name]["lines"]
            for block in trained_on(source.read(name), metas, settings, name == "train"):
                if counts is None:
                    lines[name] += weight * block.lines
                table.count_block(block, cut, column, weight)
                for line in block.whole:
                    whole[name][line] += weight
    return table, lines, whole


def trained_types(words: WordTypes, on_disk: bool = False) -> WordTypes:
    """The trained types alone, without counts of encoded text; `on_disk`: in files."""
    types = words.trained
    end = int(words.start[types - 1] + words.length[types - 1]) + 1 if types else 0
    copies: dict[str, Any] = {"counts": {}}
    for name in ("text", "start", "length", "inside", "last"):
        array = getattr(words, name)[: end if name == "text" else types]
        copies[name] = new_array(len(array), array.dtype, on_disk)
        copies[name][:] = array
    return replace(words, **copies)


def _arrange(
    table: WordTable,
    names: list[str],
    sentences: dict[str, int],
    required: dict[str, int],
    characters: dict[str, int],
    runs: bool,
) -> WordTypes:
    """The words that occur, and each of the required characters that do not, in the
    trainer's order: one after the other, each followed by its separator and, up to a gap,
    by 0.

    `runs`: a piece can be a run of U+2581.
    """
    absent = [character for character, count in required.items() if not count]
    extra = table.number_lines(code_points(absent))
    table.close()
    stored = np.any(table.counts[: table.known], axis=1)
    stored[extra] = True
    occurring = np.flatnonzero(stored).astype(np.int32)
    frequency = table.counts[occurring, INSIDE] + table.counts[occurring, LAST]
    words = sort_words(table, occurring, frequency)
    begins = table.store[table.bounds[words]]
    gap = 2 if runs or ((begins != ord(SPACE)) & (begins != ord(RESERVED))).any() else 1
    inside = table.counts[words, INSIDE]
    length = table.lengths(words)
    size = int(length.sum(dtype=np.int64)) + gap * len(words)
    if size > _MAX_CHARACTERS:
        raise VocapError(
            f"{size} characters in distinct words or lines are too many; train on fewer lines"
        )
    start = np.zeros(len(words), np.int32)
    np.cumsum(length[:-1] + gap, out=start[1:])
    separator = np.where(inside > 0, ord(SPACE), 0).astype(np.int32)
    text = new_array(size, np.int32, is_large(4 * size, table.memory))
    join_words(table.store, table.bounds, words, separator, gap, text)
    return WordTypes(
        text,
        start,
        length,
        trained=int(np.count_nonzero(frequency)),
        inside=inside,
        last=table.counts[words, LAST],
        counts={name: table.counts[words, TEXTS + column] for column, name in enumerate(names)},
        sentences=sentences,
        required=required,
        characters=characters,
    )
