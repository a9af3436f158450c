"""Differences between two tokenizers on a text, counted in one pass over its lines."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from vocap.diff.counting import ComparedPair, Lines, count_pair
from vocap.tokenizer_files.splitter import Splitter, is_bracketed
from vocap.unigram.alp import average_log_probability

KEPT = 10_000  # changed words kept of a language, the most frequent
AT_ONCE = 50_000  # words split at a time
LONG = 20  # characters of a word above which only the parts that differ are shown
EXAMPLE = 160  # characters of the longest line that may serve as an example


class WordChange(NamedTuple):
    """A word, or a part of a long one, `count` times in the text, and its tokens in each tokenizer."""

    word: str
    count: int
    split_a: tuple[str, ...]
    split_b: tuple[str, ...]


Changed = Counter[tuple[str, tuple[str, ...], tuple[str, ...]]]  # of words with both splits


class Example(NamedTuple):
    """A line with all pieces of both; `kind`: `fewer`, `more` or the `same` number of tokens in B."""

    kind: str
    line: str
    split_a: tuple[str, ...]
    split_b: tuple[str, ...]


@dataclass
class Side:
    """The tokens of one tokenizer on the text: `counts` int64 [V] by id."""

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
    """One language. Words are separated by white space; a word counts as often as it occurs in the text.

    `words_changed` are segmented differently; `characters_changed`, of `characters` in words, are those inside the
    parts that are segmented differently: a measure for scripts without spaces too.
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

    def row(self, language: str) -> dict[str, Any]:
        """The cells of languages.tsv by column; None where there is nothing to average."""
        a, b, lines = self.a, self.b, self.lines
        return {
            "language": language,
            "lines": lines,
            "lines_changed": self.lines_changed,
            "tokens_a": a.tokens,
            "tokens_b": b.tokens,
            "tokens_per_sentence_a": a.tokens / lines if lines else None,
            "tokens_per_sentence_b": b.tokens / lines if lines else None,
            "change_percent": self.change_percent,
            "alp_a": average_log_probability(a.counts, lines) if lines else None,
            "alp_b": average_log_probability(b.counts, lines) if lines else None,
            "unk_rate_a": a.unk_rate,
            "unk_rate_b": b.unk_rate,
            "words": self.words,
            "words_changed": self.words_changed,
            "words_changed_percent": self.words_changed_percent,
            "distinct_changed": self.distinct_changed,
            "characters_changed_percent": self.characters_changed_percent,
        }


def compare_text(pair: ComparedPair, blocks: Iterable[list[str]]) -> Change:
    """Count every line with both tokenizers; memory is bounded by `counting.DISTINCT` words.

    A text of more distinct words is compared in parts: then `distinct_changed` counts a word once in each part,
    and words that are rare in every part may be missing in `changed`.
    """
    a, b = pair.a, pair.b
    change = Change(*(Side(np.zeros(side.encoder.size, np.int64), side.encoder.unk_id) for side in (a, b)))
    changed: Changed = Counter()
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
    change.changed = [WordChange(word, count, *splits) for (word, *splits), count in _most_frequent(changed)]
    change.examples = [
        Example(kind, line, *(tuple(chain.from_iterable(side.split(line.split()))) for side in (a, b)))
        for kind, (_, line) in sorted(best.items())
    ]
    return change


def _consider(best: dict[str, tuple[float, str]], found: Lines) -> None:
    """Keep, of each kind, the first line with the largest relative difference."""
    short = np.fromiter(map(len, found.lines), np.int64, len(found.lines)) <= EXAMPLE
    one, other = found.tokens_a, found.tokens_b
    size = abs(other - one) / np.maximum(np.maximum(one, other), 8)  # one token of a short line counts little
    for kind, of_kind in (("fewer", other < one), ("more", other > one), ("same", other == one)):
        chosen = np.flatnonzero(of_kind & found.changed & short)
        if len(chosen):
            first = chosen[np.argmax(size[chosen])]
            if kind not in best or size[first] > best[kind][0]:
                best[kind] = float(size[first]), found.lines[first]


def _compare_words(
    a: Splitter, b: Splitter, words: Counter, unchanged: set[str], change: Change, changed: Changed
) -> None:
    """Add up the changes in `words`; those in `unchanged` have none."""
    change.words += words.total()
    change.characters += sum(count * len(word) for word, count in words.items())
    suspects = [word for word in words if word not in unchanged]
    for start in range(0, len(suspects), AT_ONCE):
        part = suspects[start : start + AT_ONCE]
        for word, one, other in zip(part, a.split(part), b.split(part), strict=True):
            if one != other:
                _add_change(word, words[word], one, other, change, changed)
        if len(changed) > 10 * KEPT:
            kept = dict(_most_frequent(changed))
            changed.clear()
            changed.update(kept)


def _add_change(word: str, count: int, one, other, change: Change, changed: Changed) -> None:
    length, parts = len(word), changed_parts(one, other)
    change.words_changed += count
    change.distinct_changed += 1
    inside = sum(len(surface(part)) for part, _ in parts)
    change.characters_changed += count * min(length, inside)
    for part, split in parts if length > LONG else [(one, other)]:
        changed[word if length <= LONG else surface(part), part, split] += count


def _most_frequent(changed: Changed) -> list[tuple]:
    """The items of `changed` that are kept."""
    return sorted(changed.items(), key=lambda item: (-item[1], item[0][0], item[0][1]))[:KEPT]


def surface(split: Sequence[str]) -> str:
    """The text of pieces, in brackets or not.

    >>> surface(("▁", "⟨%⟩", "⟨"))
    '▁%⟨'
    """
    text = "".join(split)
    if "⟨" not in text:
        return text
    return "".join(piece[1:-1] if is_bracketed(piece) else piece for piece in split)


def changed_parts(one: Sequence[str], other: Sequence[str]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The differences of two splits of a text: the shortest parts between borders that both have.

    Where the texts differ (other normalisation), the whole is one part.

    >>> changed_parts(["ab", "c", "d"], ["a", "bc", "d"])
    [(('ab', 'c'), ('a', 'bc'))]
    """
    if surface(one) != surface(other):
        return [(tuple(one), tuple(other))]
    parts = []
    starts, at, done = [0, 0], [0, 0], [0, 0]  # of each side: first piece of the part, pieces taken, characters
    lengths = [[len(surface((piece,))) for piece in split] for split in (one, other)]
    while at[0] < len(one):
        done[0] += lengths[0][at[0]]
        at[0] += 1
        while at[1] < len(other) and done[1] < done[0]:
            done[1] += lengths[1][at[1]]
            at[1] += 1
        if done[0] == done[1]:
            both = tuple(one[starts[0] : at[0]]), tuple(other[starts[1] : at[1]])
            if both[0] != both[1]:
                parts.append(both)
            starts = list(at)
    return parts
