"""Differences between two tokenizers on a text, counted in one pass over its lines."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from vocap.tokenizer_files.splitter import Splitter, is_bracketed
from vocap.unigram.alp import average_log_probability

DISTINCT = 1_000_000  # words held at a time: some 0.4 GB
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
            "change_percent": 100 * (b.tokens - a.tokens) / a.tokens if a.tokens else None,
            "alp_a": average_log_probability(a.counts, lines) if lines else None,
            "alp_b": average_log_probability(b.counts, lines) if lines else None,
            "unk_rate_a": a.unk_rate,
            "unk_rate_b": b.unk_rate,
            "words": self.words,
            "words_changed": self.words_changed,
            "words_changed_percent": 100 * self.words_changed / self.words if self.words else 0.0,
            "distinct_changed": self.distinct_changed,
            "characters_changed_percent": 100 * self.characters_changed / self.characters if self.words else 0.0,
        }


def compare_text(a: Splitter, b: Splitter, blocks: Iterable[list[str]]) -> Change:
    """Encode every line with both tokenizers, and every distinct word; memory is bounded by `DISTINCT` words.

    A text of more distinct words is compared in parts: then `distinct_changed` counts a word once in each part,
    and words that are rare in every part may be missing in `changed`.
    """
    change = Change(*(Side(np.zeros(side.encoder.size, np.int64), side.encoder.unk_id) for side in (a, b)))
    to_b = _ids_in_b(a, b)
    words: Counter[str] = Counter()
    changed: Changed = Counter()
    best: dict[str, tuple[float, str]] = {}
    for lines in blocks:
        # tokens of each line
        rows = [side.encoder.encode_batch(lines) for side in (a, b)]
        for side, ids in zip((change.a, change.b), rows, strict=True):
            flat = np.fromiter(chain.from_iterable(ids), np.int64)
            side.counts += np.bincount(flat, minlength=len(side.counts))
        change.lines += len(lines)
        for line, one, other in zip(lines, *rows, strict=True):
            if len(one) != len(other) or [to_b[number] for number in one] != other:
                change.lines_changed += 1
                _consider(best, line, len(one), len(other))
        # its words
        words.update(chain.from_iterable(map(str.split, lines)))
        if len(words) > DISTINCT:
            _compare_words(a, b, words, change, changed)
            words.clear()
    _compare_words(a, b, words, change, changed)
    change.changed = [WordChange(word, count, *splits) for (word, *splits), count in _most_frequent(changed)]
    change.examples = [
        Example(kind, line, *(tuple(chain.from_iterable(side.split(line.split()))) for side in (a, b)))
        for kind, (_, line) in sorted(best.items())
    ]
    return change


def _ids_in_b(a: Splitter, b: Splitter) -> list[int]:
    """The id in B of each id of A, by its piece; -1: none. Unknown is unknown."""
    ids = {piece: number for number, piece in enumerate(b.pieces) if piece is not None}
    to_b = [-1 if piece is None else ids.get(piece, -1) for piece in a.pieces]
    if a.encoder.unk_id is not None and b.encoder.unk_id is not None:
        to_b[a.encoder.unk_id] = b.encoder.unk_id
    return to_b


def _consider(best: dict[str, tuple[float, str]], line: str, one: int, other: int) -> None:
    """Keep a changed line of `one` and `other` tokens if its relative difference is the largest of its kind."""
    kind = "fewer" if other < one else "more" if other > one else "same"
    size = abs(other - one) / max(one, other, 8)  # one token of a short line counts little
    if len(line) <= EXAMPLE and (kind not in best or size > best[kind][0]):
        best[kind] = size, line


def _compare_words(a: Splitter, b: Splitter, words: Counter[str], change: Change, changed: Changed) -> None:
    """Add up the changes in `words`."""
    change.words += words.total()
    change.characters += sum(count * len(word) for word, count in words.items())
    every = list(words)
    for start in range(0, len(every), AT_ONCE):
        part = every[start : start + AT_ONCE]
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
