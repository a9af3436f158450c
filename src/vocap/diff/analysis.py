"""Two tokenizers on the same text: tokens of each language, splits of every distinct
word, ids of every piece.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from vocap.errors import VocapError
from vocap.files.io import replacing_directory, write_json
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
WORD_COLUMNS = ["language", "word", "count", "tokens_a", "tokens_b", "split_a", "split_b"]
LIMITS = {  # the column that each limit is on, and its change in words
    "max_change": ("change_percent", "tokens a line changed by"),
    "max_words": ("words_changed_percent", "words segmented differently:"),
    "max_characters": ("characters_changed_percent", "text segmented differently:"),
}


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Two tokenizers, by their paths or "a" and "b", with `ids_a` and `ids_b` ids.

    Frames with the columns of the tables: `languages`; `words` that changed, of each language
    the most frequent first; `pieces` whose ids differ, the most used first. `limits`: in percent
    by their names in `LIMITS`.
    """

    a: str
    b: str
    ids_a: int
    ids_b: int
    languages: "DataFrame"
    words: "DataFrame"
    pieces: "DataFrame"
    limits: dict[str, float]

    @property
    def beyond(self) -> list[str]:
        """A message for each limit that a language exceeds, and for each language
        without a line where there are limits.
        """
        from vocap.tables.frames import records

        found, rows = [], records(self.languages)
        if self.limits:
            empty = (row["language"] for row in rows if not row["lines"])
            found += [f"{language}: no line in its text" for language in empty]
        for name, limit in self.limits.items():
            column, words = LIMITS[name]
            for row in rows:
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
        from vocap.tables.frames import records

        status = Counter(self.pieces.status)
        same = self.ids_a - status[ONLY_A] - status[MOVED]
        return {
            "a": self.a,
            "b": self.b,
            "ids_a": self.ids_a,
            "ids_b": self.ids_b,
            "pieces": {"same": same, **{kind: status[kind] for kind in (ONLY_A, ONLY_B, MOVED)}},
            "limits": self.limits,
            "beyond": self.beyond,
            "languages": records(self.languages),
        }

    def write(self, output: str | Path) -> None:
        """Write `TABLES` as the folder `output`, whole or not at all."""
        from vocap.tables.frames import write_frame

        with replacing_directory(output, owned=TABLES) as folder:
            for name, table in zip(TABLES, (self.languages, self.words, self.pieces), strict=False):
                write_frame(folder / name, table)
            write_json(folder / TABLES[-1], self.summary())


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
    import pandas as pd

    limits = Limits.given(settings, **fields)
    folder = None if corpora is None else Path(corpora)
    files = find_texts(text or {}, folder, languages, ["heldout"])
    one, other = map(Splitter, open_encoders({"a": a, "b": b}, split).values())
    to_b = _ids_in_b(one, other)
    rows, words = [], []
    uses = [np.zeros(side.encoder.size, np.int64) for side in (one, other)]
    for code, parts in files.items():
        blocks = chain.from_iterable(map(read_sentences, parts.values()))
        sides, row, changed = compare_text(one, other, to_b, blocks)
        rows.append({"language": code} | row)
        words += [(code, *word) for word in changed]
        for used, side in zip(uses, sides, strict=True):
            used += side.counts
    if not any(row["lines"] for row in rows):
        raise VocapError("no line in any text; give text with a sentence a line")
    found = Comparison(
        a=str(a) if isinstance(a, str | Path) else "a",
        b=str(b) if isinstance(b, str | Path) else "b",
        ids_a=one.encoder.size,
        ids_b=other.encoder.size,
        languages=pd.DataFrame(rows),
        words=pd.DataFrame(words, columns=WORD_COLUMNS),
        pieces=compare_ids(one, other, *uses),
        limits=limits.model_dump(exclude_none=True),
    )
    if output is not None:
        found.write(output)
    return found


def compare_text(
    a: Splitter, b: Splitter, to_b: Sequence[int], blocks: Iterable[list[str]]
) -> tuple[tuple[Segments, Segments], dict[str, Any], list[tuple[Any, ...]]]:
    """Encode every line with both tokenizers, and every distinct word, all of which are
    held in memory: the text under each, the cells of languages.tsv (None where there is
    nothing to average) and the rows of words.tsv, most frequent first, without the language.

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
    row = cells(LANGUAGE_COLUMNS, sums)
    return sides, row | {name: row[name] or 0.0 for name in SHARES}, changed


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
) -> "DataFrame":
    """Every piece whose id is not the same in both, the most used first, then by piece: a row of
    pieces.tsv, with its ids and its counts in each tokenizer's segmentation of the text.

    `counts` int64 [V]: counts of each id in the text. Pieces are compared in the common
    notation; of two ids with one notation (a byte and a character), the last counts.
    """
    import pandas as pd

    ids = {
        name: pd.Series(_ids_of_pieces(side), dtype="Int64") for name, side in (("a", a), ("b", b))
    }
    table = pd.DataFrame(ids).rename_axis("piece").reset_index()
    table = table[table.a.ne(table.b).fillna(True)]
    lacks = [table.a.isna(), table.b.isna()]
    table.insert(1, "status", np.select(lacks, [ONLY_B, ONLY_A], MOVED))
    for name, counts in (("a", counts_a), ("b", counts_b)):
        table[f"uses_{name}"] = table[name].map(pd.Series(counts)).fillna(0).astype(int)
    table["most"] = table[["uses_a", "uses_b"]].max(axis=1)
    table = table.sort_values(["most", "piece"], ascending=[False, True]).drop(columns="most")
    return table.rename(columns={"a": "id_a", "b": "id_b"})
