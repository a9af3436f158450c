"""What changes on a text between two tokenizers, counted in one pass over its lines."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from vocap.tokenizers.diff.splits import LONG, Splitter, changed_parts, surface
from vocap.vocabularies.alp import average_log_probability

DISTINCT = 300_000  # words held at a time
KEPT = 10_000  # changed words kept of a language, the most frequent
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


class Pair:
    """Two tokenizers; `to_b`: the id in B of each id of A, by its piece (-1: none; unknown stays unknown)."""

    def __init__(self, a: Splitter, b: Splitter):
        self.a, self.b = a, b
        ids = {piece: number for number, piece in enumerate(b.pieces) if piece is not None}
        self.to_b = [-1 if piece is None else ids.get(piece, -1) for piece in a.pieces]
        if a.encoder.unk_id is not None and b.encoder.unk_id is not None:
            self.to_b[a.encoder.unk_id] = b.encoder.unk_id


def compare_text(pair: Pair, blocks: Iterable[list[str]]) -> Change:
    """Encode every line with both tokenizers; memory is bounded by `DISTINCT` words and `KEPT` changed ones.

    A text of more distinct words is compared in parts: then `distinct_changed` counts a word once in each part,
    and words that are rare in every part may be missing in `changed`.
    """
    a, b, to_b = pair.a, pair.b, pair.to_b
    change = Change(_side(a), _side(b))
    words: Counter[str] = Counter()
    changed: Changed = {}
    best: dict[str, tuple[float, str]] = {}
    for lines in blocks:
        ids_a, ids_b = a.encoder.encode_batch(lines), b.encoder.encode_batch(lines)
        for side, ids in ((change.a, ids_a), (change.b, ids_b)):
            flat = np.fromiter(chain.from_iterable(ids), np.int64)
            side.counts += np.bincount(flat, minlength=len(side.counts))
        change.lines += len(lines)
        for line, one, other in zip(lines, ids_a, ids_b, strict=True):
            if list(map(to_b.__getitem__, one)) != other:
                change.lines_changed += 1
                _consider(best, line, len(one), len(other))
        for line in lines:
            words.update(line.split())
        if len(words) > DISTINCT:
            _compare_words(a, b, words, change, changed)
            words.clear()
    _compare_words(a, b, words, change, changed)
    change.changed = _most_frequent(changed)
    change.examples = [
        Example(kind, line, *(_line_split(side, line) for side in (a, b)))
        for kind, (_, line) in sorted(best.items())
    ]
    return change


def _side(splitter: Splitter) -> Side:
    return Side(np.zeros(splitter.encoder.size, np.int64), splitter.encoder.unk_id)


def _consider(best: dict[str, tuple[float, str]], line: str, tokens_a: int, tokens_b: int) -> None:
    """Keep, of each kind, the first line with the largest relative difference."""
    if len(line) > EXAMPLE:
        return
    kind = "fewer" if tokens_b < tokens_a else "more" if tokens_b > tokens_a else "same"
    size = abs(tokens_b - tokens_a) / max(tokens_a, tokens_b, 8)  # a short line is no striking one
    if kind not in best or size > best[kind][0]:
        best[kind] = size, line


def _compare_words(a: Splitter, b: Splitter, words: Counter, change: Change, changed: Changed) -> None:
    distinct = list(words)
    for word, one, other in zip(distinct, a.split(distinct), b.split(distinct), strict=True):
        count, length = words[word], len(word)
        change.words += count
        change.characters += count * length
        if one == other:
            continue
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
    if len(changed) > 2 * KEPT:
        kept = {(entry.word, entry.split_a, entry.split_b): entry for entry in _most_frequent(changed)}
        changed.clear()
        changed.update(kept)


def _most_frequent(changed: Changed) -> list[WordChange]:
    return sorted(changed.values(), key=lambda entry: (-entry.count, entry.word, entry.split_a))[:KEPT]


def _line_split(splitter: Splitter, line: str) -> tuple[str, ...]:
    return tuple(chain.from_iterable(splitter.split(line.split())))
