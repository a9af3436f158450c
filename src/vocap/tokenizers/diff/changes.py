"""What changes on a text between two tokenizers, counted in one pass over its lines."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from vocap.tokenizers.diff.counting import Lines, Pair, count_pair
from vocap.tokenizers.diff.splits import LONG, Splitter, changed_parts, surface
from vocap.vocabularies.alp import average_log_probability

KEPT = 10_000  # changed words kept of a language, the most frequent
AT_ONCE = 50_000  # words split at a time
EXAMPLE = 160  # characters of the longest line that may serve as an example

COLUMNS = (
    "language",
    "lines",
    "lines_changed",
    "tokens_a",
    "tokens_b",
    "tokens_per_sentence_a",
    "tokens_per_sentence_b",
    "change_percent",
    "alp_a",
    "alp_b",
    "unk_rate_a",
    "unk_rate_b",
    "words",
    "words_changed",
    "words_changed_percent",
    "distinct_changed",
    "characters_changed_percent",
)


@dataclass(frozen=True)
class WordChange:
    """A word, or a part of a long one, `count` times in the text, and what each tokenizer makes of it."""

    word: str
    count: int
    split_a: tuple[str, ...]
    split_b: tuple[str, ...]


Changed = dict[tuple[str, tuple[str, ...], tuple[str, ...]], WordChange]  # by word and both splits


@dataclass(frozen=True)
class Example:
    """A line with all pieces of both; `kind`: `fewer` or `more` tokens in B, or `same` number, cut elsewhere."""

    kind: str
    line: str
    split_a: tuple[str, ...]
    split_b: tuple[str, ...]


@dataclass
class Side:
    """What one tokenizer makes of the text: `counts` int64 [V] by id."""

    counts: np.ndarray
    unk_id: int | None

    @property
    def tokens(self) -> int:
        return int(self.counts.sum())

    @property
    def unk_rate(self) -> float:
        return int(self.counts[self.unk_id]) / self.tokens if self.unk_id is not None and self.tokens else 0.0


@dataclass
class Change:
    """One language. Words are what white space separates; a word counts as often as it stands in the text.

    `words_changed` are those cut elsewhere; `characters_changed`, of `characters` in words, those inside the parts
    that are cut elsewhere: a measure for scripts without spaces too.
    """

    a: Side
    b: Side
    lines: int = 0
    lines_changed: int = 0
    words: int = 0
    words_changed: int = 0
    distinct_changed: int = 0
    characters: int = 0
    characters_changed: int = 0
    changed: list[WordChange] = field(default_factory=list)  # most frequent first
    examples: list[Example] = field(default_factory=list)

    @property
    def change_percent(self) -> float | None:
        """Tokens of B against those of A, in percent; None where A has none."""
        return 100 * (self.b.tokens - self.a.tokens) / self.a.tokens if self.a.tokens else None

    @property
    def words_changed_percent(self) -> float:
        return 100 * self.words_changed / self.words if self.words else 0.0

    @property
    def characters_changed_percent(self) -> float:
        return 100 * self.characters_changed / self.characters if self.characters else 0.0

    def row(self, language: str) -> tuple:
        """The cells of `COLUMNS`; None where a mean has nothing to be of."""
        sides = (self.a, self.b)
        return (
            language,
            self.lines,
            self.lines_changed,
            *(side.tokens for side in sides),
            *(side.tokens / self.lines if self.lines else None for side in sides),
            self.change_percent,
            *(average_log_probability(side.counts, self.lines) if self.lines else None for side in sides),
            *(side.unk_rate for side in sides),
            self.words,
            self.words_changed,
            self.words_changed_percent,
            self.distinct_changed,
            self.characters_changed_percent,
        )


def compare_text(pair: Pair, blocks: Iterable[list[str]]) -> Change:
    """Count every line with both tokenizers; memory is bounded by `counting.DISTINCT` words.

    A text of more distinct words is compared in parts: then `distinct_changed` counts a word once in each part,
    and words that are rare in every part may be missing in `changed`.
    """
    a, b = pair.a, pair.b
    change = Change(_side(a), _side(b))
    changed: Changed = {}
    best: dict[str, tuple[float, str]] = {}
    counts = None
    for counts, found in count_pair(pair, blocks):
        change.lines += len(found.lines)
        change.lines_changed += int(found.changed.sum())
        _consider(best, found)
        if counts.full:
            _compare_words(a, b, *counts.settle(), change, changed)
    if counts is not None:
        _compare_words(a, b, *counts.settle(), change, changed)
        change.a.counts, change.b.counts = counts.a, counts.b
    change.changed = _most_frequent(changed)
    change.examples = [
        Example(kind, line, *(_line_split(side, line) for side in (a, b)))
        for kind, (_, line) in sorted(best.items())
    ]
    return change


def _side(splitter: Splitter) -> Side:
    return Side(np.zeros(splitter.encoder.size, np.int64), splitter.encoder.unk_id)


def _consider(best: dict[str, tuple[float, str]], found: Lines) -> None:
    """Keep, of each kind, the first line with the largest relative difference."""
    short = np.fromiter(map(len, found.lines), np.int64, len(found.lines)) <= EXAMPLE
    one, other = found.tokens_a, found.tokens_b
    size = abs(other - one) / np.maximum(np.maximum(one, other), 8)  # a short line is no striking one
    for kind, of_kind in (("fewer", other < one), ("more", other > one), ("same", other == one)):
        chosen = np.flatnonzero(of_kind & found.changed & short)
        if len(chosen):
            first = chosen[np.argmax(size[chosen])]
            if kind not in best or size[first] > best[kind][0]:
                best[kind] = float(size[first]), found.lines[first]


def _compare_words(
    a: Splitter, b: Splitter, words: Counter, unchanged: set[str], change: Change, changed: Changed
) -> None:
    """Add up what changes in `words`; those in `unchanged` do not."""
    change.words += words.total()
    change.characters += sum(count * len(word) for word, count in words.items())
    suspects = [word for word in words if word not in unchanged]
    for start in range(0, len(suspects), AT_ONCE):
        part = suspects[start : start + AT_ONCE]
        for word, one, other in zip(part, a.split(part), b.split(part), strict=True):
            if one != other:
                _add_change(word, words[word], one, other, change, changed)
        if len(changed) > 10 * KEPT:
            kept = {(entry.word, entry.split_a, entry.split_b): entry for entry in _most_frequent(changed)}
            changed.clear()
            changed.update(kept)


def _add_change(word: str, count: int, one, other, change: Change, changed: Changed) -> None:
    length = len(word)
    parts = changed_parts(one, other)
    change.words_changed += count
    change.distinct_changed += 1
    inside = sum(len(surface(part)) for part, _ in parts)
    change.characters_changed += count * min(length, inside)
    for part, split in parts if length > LONG else [(one, other)]:
        name = word if length <= LONG else surface(part)
        before = changed.get((name, part, split))
        total = count + (before.count if before else 0)
        changed[name, part, split] = WordChange(name, total, part, split)


def _most_frequent(changed: Changed) -> list[WordChange]:
    return sorted(changed.values(), key=lambda entry: (-entry.count, entry.word, entry.split_a))[:KEPT]


def _line_split(splitter: Splitter, line: str) -> tuple[str, ...]:
    return tuple(chain.from_iterable(splitter.split(line.split())))
