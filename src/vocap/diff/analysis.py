"""Two tokenizers on the same text: tokens of each language, splits of every distinct
word, ids of every piece.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, groupby
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
from vocap.unigram.usage import Columns, Segments, cells, sums_by_side, tokens_of

if TYPE_CHECKING:
    from pandas import DataFrame

Pieces = tuple[str, ...]  # a word in pieces
KEPT_WORDS = 10_000  # changed words kept of a language, the most frequent
LONG_WORD = 20  # characters of a word above which only the parts that differ are kept
ONLY_A, ONLY_B, MOVED = "only_a", "only_b", "moved"
TABLES = ("languages.tsv", "words.tsv", "pieces.tsv", "summary.json")
# The columns of languages.tsv, sums and ratios of sums as in `vocap.tokenizers.evaluation`
LANGUAGE_COLUMNS: Columns = {
    "lines": "lines_a",
    "lines_changed": "lines_changed",
    "tokens_a": "paid_a",
    "tokens_b": "paid_b",
    "tokens_per_sentence_a": "paid_a / lines_a",
    "tokens_per_sentence_b": "paid_b / lines_b",
    "change_percent": "100 * growth / paid_a",
    "alp_a": "nats_a / lines_a",
    "alp_b": "nats_b / lines_b",
    "unk_rate_a": "unknown_tokens_a / tokens_a",
    "unk_rate_b": "unknown_tokens_b / tokens_b",
    "words": "words",
    "words_changed": "words_changed",
    "words_changed_percent": "100 * words_changed / words",
    "distinct_changed": "distinct_changed",
    "characters_changed_percent": "100 * characters_changed / characters",
    "unknown_bytes_a": "unknown_bytes_a",
    "unknown_bytes_b": "unknown_bytes_b",
}
# 0 where there is nothing
SHARES = ("unk_rate_a", "unk_rate_b", "words_changed_percent", "characters_changed_percent")
WORD_COLUMNS = ("language", "word", "count", "tokens_a", "tokens_b", "split_a", "split_b")
LIMITS = {  # the column that each limit is on, and its change in words
    "max_change": ("change_percent", "tokens a line changed by"),
    "max_words": ("words_changed_percent", "words segmented differently:"),
    "max_characters": ("characters_changed_percent", "text segmented differently:"),
}


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
    """The text of one language under both tokenizers, `sides`.

    `sums`: those of each side, which end in `_a` and `_b`, and of `compare_text`; `words`:
    rows of words.tsv, most frequent first, without the language.
    """

    sides: tuple[Segments, Segments]
    sums: dict[str, int]
    words: list[tuple[Any, ...]]

    @cached_property
    def row(self) -> dict[str, Any]:
        """The cells of languages.tsv; None where there is nothing to average."""
        row = cells(LANGUAGE_COLUMNS, self.sums)
        return row | {name: row[name] or 0.0 for name in SHARES}


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
        return [{"language": code} | change.row for code, change in self.changes.items()]

    @property
    def languages(self) -> "DataFrame":
        """A row a language, with the columns of languages.tsv."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    @property
    def words(self) -> list[tuple[Any, ...]]:
        """The rows of words.tsv."""
        return [(code, *row) for code, change in self.changes.items() for row in change.words]

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
    for code, parts in files.items():
        blocks = chain.from_iterable(map(read_sentences, parts.values()))
        changes[code] = compare_text(one, other, to_b, blocks)
    if not any(change.sums["lines_a"] for change in changes.values()):
        raise VocapError("no line in any text; give text with a sentence a line")
    uses_a, uses_b = (np.zeros(side.encoder.size, np.int64) for side in (one, other))
    for change in changes.values():
        uses_a += change.sides[0].counts
        uses_b += change.sides[1].counts
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

    `to_b`: the id in B of each id of A, -1 where it has none. Words are separated by white
    space; a word counts as often as it occurs. `words_changed` are segmented differently;
    `characters_changed`, of `characters` in words, are those inside the parts that are
    segmented differently: a measure for scripts without spaces too.
    """
    sides = Segments(a.encoder), Segments(b.encoder)
    words: Counter[str] = Counter()
    lines_changed = 0
    for lines in blocks:
        # tokens of each line
        for one, other in zip(*(side.add(lines) for side in sides), strict=True):
            lines_changed += [to_b[number] for number in one] != other
        words.update(chain.from_iterable(map(str.split, lines)))
    sums, changed = _compare_words(a, b, words)
    sums |= sums_by_side(a=sides[0], b=sides[1])
    sums |= {"lines_changed": lines_changed, "growth": sums["paid_b"] - sums["paid_a"]}
    return LanguageChange(sides, sums, changed)


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


def _compare_words(
    a: Splitter, b: Splitter, words: Counter[str]
) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
    """The sums of `compare_text` over all words of a text, and the rows of those that
    changed.
    """
    sums = dict.fromkeys(("words_changed", "distinct_changed", "characters_changed"), 0)
    sums["words"] = words.total()
    sums["characters"] = sum(count * len(word) for word, count in words.items())
    changed: Counter[tuple[str, Pieces, Pieces]] = Counter()
    for (word, count), one, other in zip(
        words.items(), a.split(words), b.split(words), strict=True
    ):
        if one == other:
            continue
        parts = changed_parts(one, other)
        sums["words_changed"] += count
        sums["distinct_changed"] += 1
        inside = sum(len(surface(piece)) for piece, _ in parts)
        sums["characters_changed"] += count * min(len(word), inside)
        shown = [(word, one, other)]
        if len(word) > LONG_WORD:
            shown = [(surface(part), part, change) for part, change in parts]
        for entry in shown:
            changed[entry] += count
    most = sorted(changed.items(), key=lambda item: (-item[1], item[0][:2]))[:KEPT_WORDS]
    return sums, [
        (word, count, *map(tokens_of, splits), *map(" ".join, splits))
        for (word, *splits), count in most
    ]


def surface(split: Sequence[str]) -> str:
    """The text of pieces, in brackets or not.

    >>> surface(("▁", "⟨%⟩", "⟨"))
    '▁%⟨'
    """
    text = "".join(split)
    if "⟨" not in text:
        return text
    return "".join(piece[1:-1] if is_bracketed(piece) else piece for piece in split)


def changed_parts(one: Sequence[str], other: Sequence[str]) -> list[tuple[Pieces, Pieces]]:
    """The differences of two splits of a text: the shortest parts between borders that
    both have.

    Where the texts differ (other normalisation), the whole is one part.

    >>> changed_parts(["ab", "c", "d"], ["a", "bc", "d"])
    [(('ab', 'c'), ('a', 'bc'))]
    """
    if surface(one) != surface(other):
        return [(tuple(one), tuple(other))]
    borders = sorted({*_ends(one)} & {*_ends(other)})
    sides = zip(_cut_at(borders, one), _cut_at(borders, other), strict=True)
    return [(part, changed) for part, changed in sides if part != changed]


def _ends(split: Sequence[str]) -> Iterable[int]:
    """The place in the text at which each piece ends."""
    return accumulate(len(surface((piece,))) for piece in split)


def _cut_at(borders: Sequence[int], split: Sequence[str]) -> list[Pieces]:
    """The pieces of a split between borders."""
    pairs = zip(split, _ends(split), strict=True)
    groups = groupby(pairs, key=lambda pair: bisect_left(borders, pair[1]))
    return [tuple(piece for piece, _ in group) for _, group in groups]


def compare_ids(
    a: Splitter, b: Splitter, counts_a: NDArray[np.int64], counts_b: NDArray[np.int64]
) -> list[PieceChange]:
    """Every piece whose id is not the same in both, the most used first, then by piece.

    `counts` int64 [V]: counts of each id in the text. Pieces are compared in the common
    notation; of two ids with one notation (a byte and a character), the last counts.
    """
    ids_a, ids_b = _ids_of_pieces(a), _ids_of_pieces(b)
    changes = []
    for piece in ids_a | ids_b:
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
