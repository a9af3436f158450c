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
STEADY = 0.005  # percent: smaller changes count as none


def describe(
    names: tuple[str, str],
    sizes: tuple[int, int],
    found: Mapping[str, Change],
    pieces: Sequence[PieceChange],
    limits: Mapping[str, float],
    beyond: Sequence[str],
) -> dict:
    """The content of `summary.json` and of --json: everything but the long lists."""
    status = Counter(piece.status for piece in pieces)
    same = sizes[0] - status[ONLY_A] - status[MOVED]
    return {
        "a": names[0],
        "b": names[1],
        "ids_a": sizes[0],
        "ids_b": sizes[1],
        "pieces": {"same": same, **{kind: status[kind] for kind in (ONLY_A, ONLY_B, MOVED)}},
        "limits": dict(limits),
        "beyond": list(beyond),
        "languages": [change.row(code) for code, change in found.items()],
    }


def write_tables(out: Path, summary: Mapping, found: Mapping[str, Change], pieces: Sequence[PieceChange]) -> None:
    """Write `FILES` as the folder `out`, whole or not at all."""
    rows = summary["languages"]
    words = [
        (code, one.word, one.count, len(one.split_a), len(one.split_b), *map(" ".join, (one.split_a, one.split_b)))
        for code, change in found.items()
        for one in change.changed
    ]
    examples = [
        (code, one.kind, one.line, len(one.split_a), len(one.split_b), *map(" ".join, (one.split_a, one.split_b)))
        for code, change in found.items()
        for one in change.examples
    ]
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
    parts = [_headline(summary), _languages(found), _words(found, words), _examples(found, examples)]
    return "\n\n".join(filter(None, [*parts, _pieces(summary, pieces, words)]))


def _headline(summary: Mapping) -> str:
    counts = summary["pieces"]
    return (
        f"A  {summary['a']}  ({summary['ids_a']:,} ids)\nB  {summary['b']}  ({summary['ids_b']:,} ids)\n"
        f"{counts['same']:,} ids hold the same piece; {counts['moved']:,} pieces have another id, "
        f"{counts['only_a']:,} are only in A, {counts['only_b']:,} only in B"
    )


def _languages(found: Mapping[str, Change]) -> str:
    """A row a language, the largest changes first."""
    head = ("language", "lines", "changed", "tokens/line A", "B", "change", "ALP A", "B", "words changed")
    rows: list[tuple[str, ...]] = [head]
    for code, change in ordered(found):
        cells = change.row(code)
        percent, numbers = (
            cells["change_percent"],
            [
                "-" if cells[name] is None else f"{cells[name]:.2f}"
                for name in ("tokens_per_sentence_a", "tokens_per_sentence_b", "alp_a", "alp_b")
            ],
        )
        rows.append(
            (
                code,
                f"{change.lines:,}",
                f"{change.lines_changed:,}",
                *numbers[:2],
                "-" if percent is None else f"{percent:+.2f} %",
                *numbers[2:],
                f"{change.words_changed_percent:.2f} %",
            )
        )
    moves = [change.change_percent or 0.0 for change in found.values()]
    fewer, more = sum(move < -STEADY for move in moves), sum(move > STEADY for move in moves)
    counts = f"fewer tokens in {fewer}, more in {more}, as many in {len(moves) - fewer - more}"
    table = "\n".join(aligned(rows, left=[0]))
    return f"{table}\nB needs {counts} of {len(moves)} languages"


def ordered(found: Mapping[str, Change]) -> list[tuple[str, Change]]:
    """Languages by the change of their tokens, the largest first, then by words changed, then by code."""
    return sorted(
        found.items(), key=lambda pair: (-abs(pair[1].change_percent or 0.0), -pair[1].words_changed, pair[0])
    )


def _words(found: Mapping[str, Change], limit: int) -> str:
    entries = [(code, entry) for code, change in found.items() for entry in change.changed]
    entries.sort(key=lambda pair: (-pair[1].count, pair[0], pair[1].word))
    if not entries or not limit:
        return ""
    rows = [("times", "language", "word", "A", "B")]
    rows += [
        (f"{entry.count:,}", code, entry.word, " ".join(entry.split_a), " ".join(entry.split_b))
        for code, entry in entries[:limit]
    ]
    table = "\n".join(aligned(rows, left=range(1, len(rows[0]))))
    return f"Words segmented differently, the most frequent of {len(entries):,}:\n{table}"


def _examples(found: Mapping[str, Change], limit: int) -> str:
    shown = []
    for code, change in ordered(found)[:limit]:
        for one in change.examples:
            shown.append(f"{code}: {one.line}")
            for side, split in (("A", one.split_a), ("B", one.split_b)):
                shown.append(f"  {side} {len(split):4}  {' '.join(split)}")
    return "\n".join(["Sentences side by side, with their tokens:", *shown]) if shown else ""


def _pieces(summary: Mapping, pieces: Sequence[PieceChange], limit: int) -> str:
    lines = []
    for kind, title in ((ONLY_A, "Only in A"), (ONLY_B, "Only in B")):
        names = [f"{one.piece} ({max(one.uses_a, one.uses_b):,})" for one in pieces if one.status == kind]
        if names and limit:
            lines.append(f"{title}, with uses in this text: {'  '.join(names[:limit])}")
    lines += [f"BEYOND THE LIMIT: {reason}" for reason in summary["beyond"]]
    if summary["limits"] and not summary["beyond"]:
        lines.append("Within all limits")
    return "\n".join(lines) or "No piece is missing in either"
