"""The output of a comparison: text for a terminal, JSON, tables."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vocap.diff.changes import Change
from vocap.files.atomic import replacing_directory, write_text
from vocap.files.tsv import aligned, write_tsv
from vocap.tokenizer_files.splitter import Splitter

ONLY_A, ONLY_B, MOVED = "only_a", "only_b", "moved"


class PieceChange(NamedTuple):
    """A row of pieces.tsv: a piece, its id in each, and its count in each tokenizer's segmentation of the text."""

    piece: str
    status: str  # ONLY_A, ONLY_B or MOVED
    id_a: int | None
    id_b: int | None
    uses_a: int
    uses_b: int


def compare_ids(a: Splitter, b: Splitter, counts_a: np.ndarray, counts_b: np.ndarray) -> list[PieceChange]:
    """Every piece whose id is not the same in both, the most used first, then by piece.

    `counts` int64 [V]: counts of each id in the text. Pieces are compared in the common notation; of two ids
    with one notation (a byte and a character), the last counts.
    """
    ids_a, ids_b = ({piece: n for n, piece in enumerate(side.pieces) if piece is not None} for side in (a, b))
    changes = []
    for piece in {**ids_a, **ids_b}:
        one, other = ids_a.get(piece), ids_b.get(piece)
        if one != other:
            uses = (0 if n is None else int(counts[n]) for n, counts in ((one, counts_a), (other, counts_b)))
            status = ONLY_A if other is None else ONLY_B if one is None else MOVED
            changes.append(PieceChange(piece, status, one, other, *uses))
    return sorted(changes, key=lambda change: (-max(change.uses_a, change.uses_b), change.piece))


FILES = ("languages.tsv", "words.tsv", "pieces.tsv", "examples.tsv", "summary.json")
WORD_COLUMNS = ("language", "word", "count", "tokens_a", "tokens_b", "split_a", "split_b")
EXAMPLE_COLUMNS = ("language", "kind", "line", "tokens_a", "tokens_b", "split_a", "split_b")
MEASURES = {  # by limit: the column, and its change in words
    "max_change": ("change_percent", "tokens a line changed by"),
    "max_words": ("words_changed_percent", "words segmented differently:"),
    "max_characters": ("characters_changed_percent", "text segmented differently:"),
}
STEADY = 0.005  # percent: smaller changes count as none


def describe(
    names: tuple[str, str],
    sizes: tuple[int, int],
    found: Mapping[str, Change],
    pieces: Sequence[PieceChange],
    limits: Mapping[str, float],
) -> dict:
    """The content of `summary.json` and of --json: everything but the long lists.

    `beyond`: a message for each of the `limits` that a language exceeds, and for each language without a line.
    """
    rows = [change.row(code) for code, change in found.items()]
    beyond = [f"{row['language']}: no line in its text" for row in rows if limits and not row["lines"]]
    for name, (column, words) in MEASURES.items():
        for row in rows if name in limits else ():
            value = row[column]
            if value is None:  # no token in A
                value = float("inf") if row["tokens_b"] else 0.0
            if abs(value) > limits[name]:
                beyond.append(f"{row['language']}: {words} {abs(value):.3g} %, more than {limits[name]:g} %")
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


def write_tables(out: Path, summary: Mapping, found: Mapping[str, Change], pieces: Sequence[PieceChange]) -> None:
    """Write `FILES` as the folder `out`, whole or not at all."""

    def with_splits(code: str, one) -> tuple:
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
        write_text(folder / FILES[4], json.dumps(summary, ensure_ascii=False, indent=2) + "\n")


def as_text(
    summary: Mapping, found: Mapping[str, Change], pieces: Sequence[PieceChange], words: int, examples: int
) -> str:
    """The comparison as text for a terminal, with `words` and `examples` of them at most."""
    counts = summary["pieces"]
    head = (
        f"A  {summary['a']}  ({summary['ids_a']:,} ids)\nB  {summary['b']}  ({summary['ids_b']:,} ids)\n"
        f"{counts['same']:,} ids hold the same piece; {counts['moved']:,} pieces have another id, "
        f"{counts['only_a']:,} are only in A, {counts['only_b']:,} only in B"
    )
    # the largest changes first
    rows = sorted(
        summary["languages"],
        key=lambda row: (-abs(row["change_percent"] or 0.0), -row["words_changed"], row["language"]),
    )
    parts = [head, _languages(rows)]
    # words
    changed = [(code, one) for code, change in found.items() for one in change.changed]
    changed.sort(key=lambda pair: (-pair[1].count, pair[0], pair[1].word))
    if changed and words:
        table = [("times", "language", "word", "A", "B")]
        table += [
            (f"{one.count:,}", code, one.word, " ".join(one.split_a), " ".join(one.split_b))
            for code, one in changed[:words]
        ]
        shown = "\n".join(aligned(table, left=range(1, 5)))
        parts.append(f"Words segmented differently, the most frequent of {len(changed):,}:\n{shown}")
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
        names = [f"{one.piece} ({max(one.uses_a, one.uses_b):,})" for one in pieces if one.status == kind]
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
    table = [[head for head, _ in forms.values()]]
    table += [
        ["-" if row[key] is None else form.format(row[key]) for key, (_, form) in forms.items()] for row in rows
    ]
    moves = [row["change_percent"] or 0.0 for row in rows]
    fewer, more = sum(move < -STEADY for move in moves), sum(move > STEADY for move in moves)
    counts = f"fewer tokens in {fewer}, more in {more}, as many in {len(moves) - fewer - more}"
    return "\n".join([*aligned(table, left=[0]), f"B needs {counts} of {len(moves)} languages"])
