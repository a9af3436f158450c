"""Two tokenizers on the same text: tokens of each language, splits of every distinct
word, ids of every piece.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from vocap.errors import VocapError
from vocap.files.io import replacing_directory, write_json, write_tsv
from vocap.result import Result
from vocap.section import ConfigSection
from vocap.text_files.named_texts import find_texts, read_sentences
from vocap.text_files.text import Text
from vocap.tokenizer_files import Cuts
from vocap.tokenizer_files.loading import AnyTokenizer, open_encoders
from vocap.tokenizer_files.splitting import Splitter, is_bracketed
from vocap.unigram.usage import Segments, tokens_of

if TYPE_CHECKING:
    from pandas import DataFrame

KEPT_WORDS = 10_000  # changed words kept of a language, the most frequent
WORDS_AT_ONCE = 50_000  # words split at a time
LONG_WORD = 20  # characters of a word above which only the parts that differ are kept
ONLY_A, ONLY_B, MOVED = "only_a", "only_b", "moved"
TABLES = ("languages.tsv", "words.tsv", "pieces.tsv", "summary.json")
WORD_COLUMNS = ("language", "word", "count", "tokens_a", "tokens_b", "split_a", "split_b")
LIMITS = {  # the column that each limit is on, and its change in words
    "max_change": ("change_percent", "tokens a line changed by"),
    "max_words": ("words_changed_percent", "words segmented differently:"),
    "max_characters": ("characters_changed_percent", "text segmented differently:"),
}


class WordChange(NamedTuple):
    """A word, or a part of a long one, `times` in the text, and its tokens in each
    tokenizer.
    """

    word: str
    times: int
    split_a: tuple[str, ...]
    split_b: tuple[str, ...]


class PieceChange(NamedTuple):
    """A row of pieces.tsv: a piece, its id in each, and its count in each tokenizer's
    segmentation of the text.
    """

    piece: str
    status: str  # ONLY_A, ONLY_B or MOVED
    id_a: int | None
    id_b: int | None
    uses_a: int
    uses_b: int


@dataclass
class LanguageChange:
    """The text of one language under both tokenizers.

    Words are separated by white space; a word counts as often as it occurs in the text.
    Tokens count an unknown character as its bytes in UTF-8.
    `words_changed` are segmented differently; `characters_changed`, of `characters` in
    words, are those inside the parts that are segmented differently: a measure for
    scripts without spaces too.
    """

    a: Segments
    b: Segments
    lines_changed: int = 0
    words: int = 0
    words_changed: int = 0
    distinct_changed: int = 0
    characters: int = 0
    characters_changed: int = 0
    changed: list[WordChange] = field(default_factory=list)  # most frequent first

    @property
    def change_percent(self) -> float | None:
        """The change of the number of tokens from A to B; None without a token in A."""
        return share(100 * (self.b.tokens - self.a.tokens), self.a.tokens)

    @property
    def words_changed_percent(self) -> float:
        return share(100 * self.words_changed, self.words) or 0.0

    @property
    def characters_changed_percent(self) -> float:
        return share(100 * self.characters_changed, self.characters) or 0.0

    def row(self, language: str) -> dict[str, Any]:
        """The cells of languages.tsv by column; None where there is nothing to
        average.
        """
        return {
            "language": language,
            "lines": self.a.lines,
            "lines_changed": self.lines_changed,
            "tokens_a": self.a.tokens,
            "tokens_b": self.b.tokens,
            "tokens_per_sentence_a": self.a.tokens_per_sentence,
            "tokens_per_sentence_b": self.b.tokens_per_sentence,
            "change_percent": self.change_percent,
            "alp_a": self.a.alp,
            "alp_b": self.b.alp,
            "unk_rate_a": self.a.unk_rate,
            "unk_rate_b": self.b.unk_rate,
            "words": self.words,
            "words_changed": self.words_changed,
            "words_changed_percent": self.words_changed_percent,
            "distinct_changed": self.distinct_changed,
            "characters_changed_percent": self.characters_changed_percent,
            "unknown_bytes_a": self.a.total("unknown_bytes"),
            "unknown_bytes_b": self.b.total("unknown_bytes"),
        }


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Two tokenizers, by their paths or "a" and "b", with `ids_a` and `ids_b` ids; what
    `changes` in each language, the `pieces` whose ids differ (most used first), and the
    `limits` in percent by their names in `LIMITS`.
    """

    a: str
    b: str
    ids_a: int
    ids_b: int
    changes: dict[str, LanguageChange]
    pieces: list[PieceChange]
    limits: dict[str, float]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of languages.tsv."""
        return [change.row(code) for code, change in self.changes.items()]

    @property
    def languages(self) -> "DataFrame":
        """A row a language, with the columns of languages.tsv."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    @property
    def words(self) -> list[tuple[Any, ...]]:
        """The rows of words.tsv."""
        rows: list[tuple[Any, ...]] = []
        for code, change in self.changes.items():
            for word, times, a, b in change.changed:
                splits = " ".join(a), " ".join(b)
                rows.append((code, word, times, tokens_of(a), tokens_of(b), *splits))
        return rows

    @property
    def beyond(self) -> list[str]:
        """A message for each limit that a language exceeds, and for each language
        without a line where there are limits.
        """
        found = []
        if self.limits:
            empty = (row["language"] for row in self.rows if not row["lines"])
            found += [f"{language}: no line in its text" for language in empty]
        for name, limit in self.limits.items():
            column, words = LIMITS[name]
            for row in self.rows:
                value = row[column]
                if value is None:  # no token in A
                    value = float("inf") if row["tokens_b"] else 0.0
                if abs(value) > limit:
                    found.append(
                        f"{row['language']}: {words} {abs(value):.3g} %, more than {limit:g} %"
                    )
        return found

    def summary(self) -> dict[str, Any]:
        """The content of summary.json: everything but the long lists."""
        status = Counter(piece.status for piece in self.pieces)
        same = self.ids_a - status[ONLY_A] - status[MOVED]
        return {
            "a": self.a,
            "b": self.b,
            "ids_a": self.ids_a,
            "ids_b": self.ids_b,
            "pieces": {"same": same, **{kind: status[kind] for kind in (ONLY_A, ONLY_B, MOVED)}},
            "limits": self.limits,
            "beyond": self.beyond,
            "languages": self.rows,
        }

    def write(self, output: str | Path) -> None:
        """Write `TABLES` as the folder `output`, whole or not at all."""
        rows = [tuple(row.values()) for row in self.rows]
        with replacing_directory(output, owned=TABLES) as folder:
            write_tsv(folder / TABLES[0], tuple(self.rows[0]), rows)
            write_tsv(folder / TABLES[1], WORD_COLUMNS, self.words)
            write_tsv(folder / TABLES[2], PieceChange._fields, self.pieces)
            write_json(folder / TABLES[3], self.summary())


class Limits(ConfigSection):
    """What `compare` allows in each language, in percent."""

    max_change: float | None = Field(
        None, ge=0, description="largest change allowed in the tokens of a line, in percent"
    )
    max_words: float | None = Field(
        None,
        ge=0,
        description="largest share allowed of words that are segmented differently, in percent",
    )
    max_characters: float | None = Field(
        None,
        ge=0,
        description="largest share allowed of text that is segmented differently, in percent",
    )


def compare(
    a: AnyTokenizer,
    b: AnyTokenizer,
    *,
    text: Mapping[str, Text] | None = None,
    split: Cuts = (),
    corpora: str | Path | None = None,
    languages: Sequence[str] | None = None,
    output: str | Path | None = None,
    settings: ConfigSection | None = None,
    **fields: object,
) -> Comparison:
    """Compare the tokens, words and pieces of two tokenizers on text. An unknown
    character counts as its bytes.

    Parameters
    ----------
    a, b
        Each a tokenizer that is loaded, the bytes of a .model, or the path of a
        SentencePiece .model, a tokenizer.json, tiktoken's ranks, a tekken.json, or a
        folder with one.
    text
        The text of each language.
    split
        The name of the cut for tiktoken's ranks, which do not say how text is cut, or
        one name for `a` and one for `b`.
    corpora
        A folder with {language}/heldout.txt.
    languages
        Codes of the languages to compare, by default all that have text.
    output
        A folder to write tables and a summary to.
    settings, **fields
        `Limits` for `Comparison.beyond`, and its fields in the place of its own:
        max_change, max_words, max_characters.

    Raises
    ------
    UsageError
        For a language without text, an unknown cut, or a folder `output` with other
        files.
    VocapError
        For a file that is missing or is not a tokenizer, and where no text has a line.
    """
    limits = Limits.given(settings, **fields)
    folder = None if corpora is None else Path(corpora)
    files = find_texts(text or {}, folder, languages, ["heldout"])
    one, other = map(Splitter, open_encoders({"a": a, "b": b}, split).values())
    to_b = _ids_in_b(one, other)
    changes = {}
    uses_a, uses_b = (np.zeros(side.encoder.size, np.int64) for side in (one, other))
    for code, parts in files.items():
        blocks = chain.from_iterable(map(read_sentences, parts.values()))
        changes[code] = change = compare_text(one, other, to_b, blocks)
        uses_a += change.a.counts
        uses_b += change.b.counts
    if not any(change.a.lines for change in changes.values()):
        raise VocapError("no line in any text; give text with a sentence a line")
    found = Comparison(
        a=str(a) if isinstance(a, str | Path) else "a",
        b=str(b) if isinstance(b, str | Path) else "b",
        ids_a=one.encoder.size,
        ids_b=other.encoder.size,
        changes=changes,
        pieces=compare_ids(one, other, uses_a, uses_b),
        limits=limits.model_dump(exclude_none=True),
    )
    if output is not None:
        found.write(output)
    return found


def compare_text(
    a: Splitter, b: Splitter, to_b: Sequence[int], blocks: Iterable[list[str]]
) -> LanguageChange:
    """Encode every line with both tokenizers, and every distinct word, all of which are
    held in memory.

    `to_b`: the id in B of each id of A, -1 where it has none.
    """
    change = LanguageChange(Segments.of(a.encoder), Segments.of(b.encoder))
    words: Counter[str] = Counter()
    for lines in blocks:
        # tokens of each line
        for one, other in zip(change.a.add(lines), change.b.add(lines), strict=True):
            change.lines_changed += [to_b[number] for number in one] != other
        words.update(chain.from_iterable(map(str.split, lines)))
    _compare_words(a, b, words, change)
    return change


def _ids_in_b(a: Splitter, b: Splitter) -> list[int]:
    """The id in B of each id of A, by its piece; -1: none. Unknown is unknown."""
    ids = _ids_of_pieces(b)
    to_b = [-1 if piece is None else ids.get(piece, -1) for piece in a.pieces]
    if a.encoder.unk_id is not None and b.encoder.unk_id is not None:
        to_b[a.encoder.unk_id] = b.encoder.unk_id
    return to_b


def _ids_of_pieces(side: Splitter) -> dict[str, int]:
    """Piece to id; of two ids with one piece, the last."""
    return {piece: number for number, piece in enumerate(side.pieces) if piece is not None}


def _compare_words(a: Splitter, b: Splitter, words: Counter[str], change: LanguageChange) -> None:
    """Add up the changes in all words of a text."""
    change.words = words.total()
    change.characters = sum(count * len(word) for word, count in words.items())
    every = list(words)
    # changed words, with both splits
    changed: Counter[tuple[str, tuple[str, ...], tuple[str, ...]]] = Counter()
    for start in range(0, len(every), WORDS_AT_ONCE):
        part = every[start : start + WORDS_AT_ONCE]
        for word, one, other in zip(part, a.split(part), b.split(part), strict=True):
            if one == other:
                continue
            count, parts = words[word], changed_parts(one, other)
            change.words_changed += count
            change.distinct_changed += 1
            inside = sum(len(surface(piece)) for piece, _ in parts)
            change.characters_changed += count * min(len(word), inside)
            if len(word) <= LONG_WORD:
                changed[word, one, other] += count
                continue
            for part_a, part_b in parts:
                changed[surface(part_a), part_a, part_b] += count
    most = sorted(changed.items(), key=lambda item: (-item[1], item[0][0], item[0][1]))[:KEPT_WORDS]
    change.changed = [WordChange(word, count, *splits) for (word, *splits), count in most]


def surface(split: Sequence[str]) -> str:
    """The text of pieces, in brackets or not.

    >>> surface(("▁", "⟨%⟩", "⟨"))
    '▁%⟨'
    """
    text = "".join(split)
    if "⟨" not in text:
        return text
    return "".join(piece[1:-1] if is_bracketed(piece) else piece for piece in split)


def changed_parts(
    one: Sequence[str], other: Sequence[str]
) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The differences of two splits of a text: the shortest parts between borders that
    both have.

    Where the texts differ (other normalisation), the whole is one part.

    >>> changed_parts(["ab", "c", "d"], ["a", "bc", "d"])
    [(('ab', 'c'), ('a', 'bc'))]
    """
    if surface(one) != surface(other):
        return [(tuple(one), tuple(other))]
    parts = []
    # of each side: first piece of the part, pieces taken, characters
    starts, at, done = [0, 0], [0, 0], [0, 0]
    while at[0] < len(one):
        done[0] += len(surface((one[at[0]],)))
        at[0] += 1
        while at[1] < len(other) and done[1] < done[0]:
            done[1] += len(surface((other[at[1]],)))
            at[1] += 1
        if done[0] == done[1]:
            both = tuple(one[starts[0] : at[0]]), tuple(other[starts[1] : at[1]])
            if both[0] != both[1]:
                parts.append(both)
            starts = list(at)
    return parts


def compare_ids(
    a: Splitter, b: Splitter, counts_a: NDArray[np.int64], counts_b: NDArray[np.int64]
) -> list[PieceChange]:
    """Every piece whose id is not the same in both, the most used first, then by piece.

    `counts` int64 [V]: counts of each id in the text. Pieces are compared in the common
    notation; of two ids with one notation (a byte and a character), the last counts.
    """
    ids_a, ids_b = _ids_of_pieces(a), _ids_of_pieces(b)
    changes = []
    for piece in {**ids_a, **ids_b}:
        one, other = ids_a.get(piece), ids_b.get(piece)
        if one != other:
            uses_a = 0 if one is None else int(counts_a[one])
            uses_b = 0 if other is None else int(counts_b[other])
            status = MOVED
            if one is None:
                status = ONLY_B
            elif other is None:
                status = ONLY_A
            changes.append(PieceChange(piece, status, one, other, uses_a, uses_b))
    return sorted(changes, key=lambda change: (-max(change.uses_a, change.uses_b), change.piece))


def share(count: float, whole: float) -> float | None:
    """The part that `count` is of a whole; None where that is nothing."""
    return count / whole if whole else None
