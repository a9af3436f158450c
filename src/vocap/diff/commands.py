"""`vocap diff`: two tokenizers on the user's text, counted line by line; as text, JSON
and tables.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from vocap import options
from vocap.errors import UsageError, VocapError, explain, system_error
from vocap.files.io import aligned, replacing_directory, write_json, write_tsv
from vocap.text_files.named_texts import find_texts, parse_languages, read_sentences
from vocap.tokenizer_files.encoders import Splitter, is_bracketed, load_encoders
from vocap.unigram.alp import average_log_probability

PATH = click.Path(path_type=Path)
LIMIT = options.Real(min=0)
KEPT = 10_000  # changed words kept of a language, the most frequent
AT_ONCE = 50_000  # words split at a time
LONG = 20  # characters of a word above which only the parts that differ are shown
EXAMPLE = 160  # characters of the longest line that may serve as an example
ONLY_A, ONLY_B, MOVED = "only_a", "only_b", "moved"
FILES = ("languages.tsv", "words.tsv", "pieces.tsv", "examples.tsv", "summary.json")
WORD_COLUMNS = ("language", "word", "count", "tokens_a", "tokens_b", "split_a", "split_b")
EXAMPLE_COLUMNS = ("language", "kind", "line", "tokens_a", "tokens_b", "split_a", "split_b")
MEASURES = {  # by limit: the column, and its change in words
    "max_change": ("change_percent", "tokens a line changed by"),
    "max_words": ("words_changed_percent", "words segmented differently:"),
    "max_characters": ("characters_changed_percent", "text segmented differently:"),
}
STEADY = 0.005  # percent: smaller changes count as none


class WordChange(NamedTuple):
    """A word, or a part of a long one, `times` in the text, and its tokens in each
    tokenizer.
    """

    word: str
    times: int
    split_a: tuple[str, ...]
    split_b: tuple[str, ...]


class Example(NamedTuple):
    """A line with all pieces of both; `kind`: `fewer`, `more` or the `same` number of
    tokens in B.
    """

    kind: str
    line: str
    split_a: tuple[str, ...]
    split_b: tuple[str, ...]


@dataclass
class Change:
    """One language. `counts`: int64 [V] by id, and `unknown`: the id of the unknown
    token, of either side.

    Words are separated by white space; a word counts as often as it occurs in the text.
    `words_changed` are segmented differently; `characters_changed`, of `characters` in
    words, are those inside the parts that are segmented differently: a measure for
    scripts without spaces too.
    """

    counts: Mapping[str, np.ndarray]
    unknown: Mapping[str, int | None]
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
        """The cells of languages.tsv by column; None where there is nothing to
        average.
        """
        lines = self.lines
        tokens = {side: int(counts.sum()) for side, counts in self.counts.items()}
        unknown = {
            side: 0 if one is None else int(self.counts[side][one])
            for side, one in self.unknown.items()
        }
        return {
            "language": language,
            "lines": lines,
            "lines_changed": self.lines_changed,
            **{f"tokens_{side}": count for side, count in tokens.items()},
            **{
                f"tokens_per_sentence_{side}": count / lines if lines else None
                for side, count in tokens.items()
            },
            "change_percent": 100 * (tokens["b"] - tokens["a"]) / tokens["a"]
            if tokens["a"]
            else None,
            **{
                f"alp_{side}": average_log_probability(counts, lines) if lines else None
                for side, counts in self.counts.items()
            },
            **{
                f"unk_rate_{side}": unknown[side] / count if count else 0.0
                for side, count in tokens.items()
            },
            "words": self.words,
            "words_changed": self.words_changed,
            "words_changed_percent": 100 * self.words_changed / self.words if self.words else 0.0,
            "distinct_changed": self.distinct_changed,
            "characters_changed_percent": 100 * self.characters_changed / self.characters
            if self.words
            else 0.0,
        }


def compare_text(a: Splitter, b: Splitter, blocks: Iterable[list[str]]) -> Change:
    """Encode every line with both tokenizers, and every distinct word, all of which are
    held in memory.
    """
    sides = {"a": a, "b": b}
    counts = {name: np.zeros(side.encoder.size, np.int64) for name, side in sides.items()}
    change = Change(counts, {name: side.encoder.unk_id for name, side in sides.items()})
    to_b = _ids_in_b(a, b)
    words: Counter[str] = Counter()
    # the changed line of the largest relative difference of each kind
    best: dict[str, tuple[float, str]] = {}
    for lines in blocks:
        # tokens of each line
        rows = [side.encoder.encode_batch(lines) for side in (a, b)]
        for name, ids in zip(counts, rows, strict=True):
            flat = np.fromiter(chain.from_iterable(ids), np.int64)
            counts[name] += np.bincount(flat, minlength=len(counts[name]))
        change.lines += len(lines)
        for line, one, other in zip(lines, *rows, strict=True):
            if len(one) != len(other) or [to_b[number] for number in one] != other:
                change.lines_changed += 1
                if len(other) == len(one):
                    kind = "same"
                else:
                    kind = "fewer" if len(other) < len(one) else "more"
                # short lines count little
                size = abs(len(other) - len(one)) / max(len(one), len(other), 8)
                if len(line) <= EXAMPLE and (kind not in best or size > best[kind][0]):
                    best[kind] = size, line
        words.update(chain.from_iterable(map(str.split, lines)))
    change.examples = [
        Example(kind, line, _split_line(a, line), _split_line(b, line))
        for kind, (_, line) in sorted(best.items())
    ]
    _compare_words(a, b, words, change)
    return change


def _split_line(side: Splitter, line: str) -> tuple[str, ...]:
    """The pieces of all words of a line."""
    return tuple(chain.from_iterable(side.split(line.split())))


@lru_cache(maxsize=1)  # the same for every language
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


def _compare_words(a: Splitter, b: Splitter, words: Counter[str], change: Change) -> None:
    """Add up the changes in all words of a text."""
    change.words = words.total()
    change.characters = sum(count * len(word) for word, count in words.items())
    every = list(words)
    # changed words, with both splits
    changed: Counter[tuple[str, tuple[str, ...], tuple[str, ...]]] = Counter()
    for start in range(0, len(every), AT_ONCE):
        part = every[start : start + AT_ONCE]
        for word, one, other in zip(part, a.split(part), b.split(part), strict=True):
            if one == other:
                continue
            count, parts = words[word], changed_parts(one, other)
            change.words_changed += count
            change.distinct_changed += 1
            inside = sum(len(surface(piece)) for piece, _ in parts)
            change.characters_changed += count * min(len(word), inside)
            if len(word) <= LONG:
                changed[word, one, other] += count
                continue
            for part_a, part_b in parts:
                changed[surface(part_a), part_a, part_b] += count
    most = sorted(changed.items(), key=lambda item: (-item[1], item[0][0], item[0][1]))[:KEPT]
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


def compare_ids(
    a: Splitter, b: Splitter, counts_a: np.ndarray, counts_b: np.ndarray
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


def describe(
    names: tuple[str, str],
    sizes: tuple[int, int],
    found: Mapping[str, Change],
    pieces: Sequence[PieceChange],
    limits: Mapping[str, float],
) -> dict:
    """The content of `summary.json` and of --json: everything but the long lists.

    `beyond`: a message for each of the `limits` that a language exceeds, and for each
    language without a line.
    """
    rows = [change.row(code) for code, change in found.items()]
    beyond = [
        f"{row['language']}: no line in its text" for row in rows if limits and not row["lines"]
    ]
    for name, (column, words) in MEASURES.items():
        if name not in limits:
            continue
        for row in rows:
            value = row[column]
            if value is None:  # no token in A
                value = float("inf") if row["tokens_b"] else 0.0
            if abs(value) > limits[name]:
                beyond.append(
                    f"{row['language']}: {words} {abs(value):.3g} %, more than {limits[name]:g} %"
                )
    status = Counter(piece.status for piece in pieces)
    same = sizes[0] - status[ONLY_A] - status[MOVED]
    return {
        "a": names[0],
        "b": names[1],
        "ids_a": sizes[0],
        "ids_b": sizes[1],
        "pieces": {"same": same, **{kind: status[kind] for kind in (ONLY_A, ONLY_B, MOVED)}},
        "limits": dict(limits),
        "beyond": beyond,
        "languages": rows,
    }


def write_tables(
    out: Path, summary: Mapping, found: Mapping[str, Change], pieces: Sequence[PieceChange]
) -> None:
    """Write `FILES` as the folder `out`, whole or not at all."""

    def with_splits(code: str, one: WordChange | Example) -> tuple:
        *cells, a, b = one
        return (code, *cells, len(a), len(b), " ".join(a), " ".join(b))

    rows = summary["languages"]
    words = [with_splits(code, one) for code, change in found.items() for one in change.changed]
    examples = [with_splits(code, one) for code, change in found.items() for one in change.examples]
    with replacing_directory(out, owned=FILES) as folder:
        write_tsv(folder / FILES[0], tuple(rows[0]), [tuple(row.values()) for row in rows])
        write_tsv(folder / FILES[1], WORD_COLUMNS, words)
        write_tsv(folder / FILES[2], PieceChange._fields, pieces)
        write_tsv(folder / FILES[3], EXAMPLE_COLUMNS, examples)
        write_json(folder / FILES[4], summary)


def as_text(
    summary: Mapping,
    found: Mapping[str, Change],
    pieces: Sequence[PieceChange],
    words: int,
    examples: int,
) -> str:
    """The comparison as text for a terminal, with `words` and `examples` of them at
    most.
    """
    counts = summary["pieces"]
    head = (
        f"A  {summary['a']}  ({summary['ids_a']:,} ids)\nB  {summary['b']}  ({summary['ids_b']:,} "
        "ids)\n"
        f"{counts['same']:,} ids hold the same piece; {counts['moved']:,} pieces have another id, "
        f"{counts['only_a']:,} are only in A, {counts['only_b']:,} only in B"
    )
    # the largest changes first
    rows = sorted(
        summary["languages"],
        key=lambda row: (
            -abs(row["change_percent"] or 0.0),
            -row["words_changed"],
            row["language"],
        ),
    )
    parts = [head, _languages(rows)]
    # words
    changed = [(code, one) for code, change in found.items() for one in change.changed]
    changed.sort(key=lambda pair: (-pair[1].times, pair[0], pair[1].word))
    if changed and words:
        table = [("times", "language", "word", "A", "B")]
        table += [
            (f"{one.times:,}", code, one.word, " ".join(one.split_a), " ".join(one.split_b))
            for code, one in changed[:words]
        ]
        shown = "\n".join(aligned(table, left=range(1, 5)))
        parts.append(
            f"Words segmented differently, the most frequent of {len(changed):,}:\n{shown}"
        )
    # sentences
    lines = []
    for code in [row["language"] for row in rows[:examples]]:
        for one in found[code].examples:
            lines.append(f"{code}: {one.line}")
            for side, split in (("A", one.split_a), ("B", one.split_b)):
                lines.append(f"  {side} {len(split):4}  {' '.join(split)}")
    if lines:
        parts.append("\n".join(["Sentences side by side, with their tokens:", *lines]))
    # pieces, limits
    lines = []
    for kind, title in ((ONLY_A, "Only in A"), (ONLY_B, "Only in B")):
        names = [
            f"{one.piece} ({max(one.uses_a, one.uses_b):,})" for one in pieces if one.status == kind
        ]
        if names and words:
            lines.append(f"{title}, with uses in this text: {'  '.join(names[:words])}")
    lines += [f"BEYOND THE LIMIT: {reason}" for reason in summary["beyond"]]
    if summary["limits"] and not summary["beyond"]:
        lines.append("Within all limits")
    return "\n\n".join([*parts, "\n".join(lines) or "No piece is missing in either"])


def _languages(rows: Sequence[Mapping]) -> str:
    """A row a language, and the number of languages with fewer and with more tokens."""
    forms = {
        "language": ("language", "{}"),
        "lines": ("lines", "{:,}"),
        "lines_changed": ("changed", "{:,}"),
        "tokens_per_sentence_a": ("tokens/line A", "{:.2f}"),
        "tokens_per_sentence_b": ("B", "{:.2f}"),
        "change_percent": ("change", "{:+.2f} %"),
        "alp_a": ("ALP A", "{:.2f}"),
        "alp_b": ("B", "{:.2f}"),
        "words_changed_percent": ("words changed", "{:.2f} %"),
    }

    def cells(row: Mapping) -> list[str]:
        return [
            "-" if row[key] is None else form.format(row[key]) for key, (_, form) in forms.items()
        ]

    table = [[head for head, _ in forms.values()], *map(cells, rows)]
    moves = [row["change_percent"] or 0.0 for row in rows]
    fewer, more = sum(move < -STEADY for move in moves), sum(move > STEADY for move in moves)
    counts = f"fewer tokens in {fewer}, more in {more}, as many in {len(moves) - fewer - more}"
    return "\n".join([*aligned(table, left=[0]), f"B needs {counts} of {len(moves)} languages"])


@click.command()
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@click.option(
    "--text",
    "texts",
    multiple=True,
    metavar="LANG=FILE",
    help="Text of a language; may be repeated.",
)
@options.split
@click.option(
    "--corpora", type=PATH, help="Folder with {language}/heldout.txt, such as results/corpora."
)
@click.option(
    "--languages", metavar="CODES", help="Comma-separated; all that have text unless given."
)
@click.option(
    "--max-change", type=LIMIT, metavar="PERCENT", help="Limit on the change of tokens a line."
)
@click.option(
    "--max-words", type=LIMIT, metavar="PERCENT", help="Limit on words segmented differently."
)
@click.option(
    "--max-characters", type=LIMIT, metavar="PERCENT", help="Limit on text segmented differently."
)
@click.option("--words", default=20, type=click.IntRange(0), help="Changed words to print.")
@click.option("--examples", default=3, type=click.IntRange(0), help="Languages with examples.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.option("-o", "--output", "out", type=PATH, help="Folder to write: tables and a summary.")
@click.pass_context
def diff(
    context, a, b, texts, splits, corpora, languages, as_json, out, words, examples, **limits
) -> None:
    """Compare two tokenizers on text: tokens, words, sentences, pieces.

    A and B are each a SentencePiece .model, a tokenizer.json, tiktoken's ranks, a
    tekken.json, or a folder with one (results/tokenizers/NAME, or any Hugging Face
    tokenizer); --split names them a and b. The limits apply to every
    language separately. Exit status: 0; 1 where a limit is exceeded, for a check in CI;
    2 for a wrong call and for unusable files.
    """
    limits = {name: value for name, value in limits.items() if value is not None}
    try:
        files = find_texts(texts, corpora, parse_languages(languages), ["heldout"])
        one, other = map(Splitter, load_encoders({"a": a, "b": b}, splits).values())
        found = {
            code: compare_text(one, other, chain.from_iterable(map(read_sentences, parts.values())))
            for code, parts in files.items()
        }
        if not any(change.lines for change in found.values()):
            raise VocapError("no line in any text; give text with a sentence a line")
        uses_a = np.zeros(one.encoder.size, np.int64)
        uses_b = np.zeros(other.encoder.size, np.int64)
        for change in found.values():
            uses_a += change.counts["a"]
            uses_b += change.counts["b"]
        pieces = compare_ids(one, other, uses_a, uses_b)
        summary = describe(
            (str(a), str(b)), (one.encoder.size, other.encoder.size), found, pieces, limits
        )
        if out is not None:
            write_tables(out, summary, found, pieces)
    except Exception as error:
        system = system_error(error)
        if system is None and not isinstance(error, VocapError):
            raise
        raise UsageError(
            explain(system) if system else str(error)
        ) from None  # 1 means that the tokenizers differ
    text = (
        json.dumps(summary, ensure_ascii=False)
        if as_json
        else as_text(summary, found, pieces, words, examples)
    )
    click.echo(text)
    if summary["beyond"]:
        context.exit(1)
