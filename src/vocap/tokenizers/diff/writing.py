"""A comparison for people (text), for programs (JSON) and for tables (TSV)."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from vocap.files import replacing_directory, write_text
from vocap.tokenizers.diff import changes, vocabularies
from vocap.tokenizers.diff.changes import Change, WordChange
from vocap.tokenizers.diff.vocabularies import PieceChange
from vocap.tsv import write_tsv

FILES = ("languages.tsv", "words.tsv", "pieces.tsv", "examples.tsv", "summary.json")
WORD_COLUMNS = ("language", "word", "count", "tokens_a", "tokens_b", "split_a", "split_b")
EXAMPLE_COLUMNS = ("language", "kind", "line", "tokens_a", "tokens_b", "split_a", "split_b")
STEADY = 0.005  # percent: below it tokens are said to be as many
EXAMPLES = 6  # languages whose examples the text shows: those that moved most


def describe(
    names: tuple[str, str],
    sizes: tuple[int, int],
    found: Mapping[str, Change],
    pieces: Sequence[PieceChange],
    limits: Mapping[str, float],
    beyond: Sequence[str],
) -> dict:
    """What `summary.json` holds and --json prints: everything but the long lists."""
    rows = [dict(zip(changes.COLUMNS, change.row(code), strict=True)) for code, change in found.items()]
    status = Counter(piece.status for piece in pieces)
    same = sizes[0] - status[vocabularies.ONLY_A] - status[vocabularies.MOVED]
    kinds = (vocabularies.ONLY_A, vocabularies.ONLY_B, vocabularies.MOVED)
    return {
        "a": names[0],
        "b": names[1],
        "ids_a": sizes[0],
        "ids_b": sizes[1],
        "pieces": {"same": same, **{kind: status[kind] for kind in kinds}},
        "limits": dict(limits),
        "beyond": list(beyond),
        "languages": rows,
    }


def write_tables(out: Path, summary: Mapping, found: Mapping[str, Change], pieces: Sequence[PieceChange]) -> None:
    """Write `FILES` as the folder `out`, whole or not at all."""
    with replacing_directory(out, owned=FILES) as folder:
        write_tsv(folder / FILES[0], changes.COLUMNS, [change.row(code) for code, change in found.items()])
        words = [_word_row(code, entry) for code, change in found.items() for entry in change.changed]
        write_tsv(folder / FILES[1], WORD_COLUMNS, words)
        write_tsv(folder / FILES[2], vocabularies.COLUMNS, [piece.row() for piece in pieces])
        examples = [
            (code, one.kind, one.line, len(one.split_a), len(one.split_b), *map(" ".join, _splits(one)))
            for code, change in found.items()
            for one in change.examples
        ]
        write_tsv(folder / FILES[3], EXAMPLE_COLUMNS, examples)
        write_text(folder / FILES[4], json.dumps(summary, ensure_ascii=False, indent=2) + "\n")


def as_text(
    summary: Mapping, found: Mapping[str, Change], pieces: Sequence[PieceChange], words: int, examples: int
) -> str:
    """The comparison as people read it, `words` and `examples` of them at most."""
    parts = [_headline(summary), _languages(found)]
    if lists := _words(found, words):
        parts.append(lists)
    if lines := _examples(found, examples):
        parts.append(lines)
    parts.append(_pieces(summary, pieces, words))
    return "\n\n".join(parts)


def _headline(summary: Mapping) -> str:
    counts = summary["pieces"]
    return (
        f"A  {summary['a']}  ({summary['ids_a']:,} ids)\nB  {summary['b']}  ({summary['ids_b']:,} ids)\n"
        f"{counts['same']:,} ids hold the same piece; {counts['moved']:,} pieces have another id, "
        f"{counts['only_a']:,} are only in A, {counts['only_b']:,} only in B"
    )


def _languages(found: Mapping[str, Change]) -> str:
    """A row a language, those that moved most first."""
    head = ("language", "lines", "changed", "tokens/line A", "B", "change", "ALP A", "B", "words changed")
    rows: list[tuple[str, ...]] = [head]
    for code, change in ordered(found):
        cells = dict(zip(changes.COLUMNS, change.row(code), strict=True))
        shown = [cells[name] for name in ("tokens_per_sentence_a", "tokens_per_sentence_b")]
        percent, alps = cells["change_percent"], [cells[name] for name in ("alp_a", "alp_b")]
        rows.append(
            (
                code,
                f"{change.lines:,}",
                f"{change.lines_changed:,}",
                *("-" if value is None else f"{value:.2f}" for value in shown),
                "-" if percent is None else f"{percent:+.2f} %",
                *("-" if value is None else f"{value:.2f}" for value in alps),
                f"{change.words_changed_percent:.2f} %",
            )
        )
    moves = [change.change_percent or 0.0 for change in found.values()]
    fewer, more = sum(move < -STEADY for move in moves), sum(move > STEADY for move in moves)
    counts = f"fewer tokens in {fewer}, more in {more}, as many in {len(moves) - fewer - more}"
    return f"{_table(rows)}\nB needs {counts} of {len(moves)} languages"


def ordered(found: Mapping[str, Change]) -> list[tuple[str, Change]]:
    """Languages by how far their tokens a sentence moved, then by words changed, then by code."""
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
        (f"{entry.count:,}", code, entry.word, *(" ".join(split) for split in _splits(entry)))
        for code, entry in entries[:limit]
    ]
    return f"Words cut elsewhere, the most frequent of {len(entries):,}:\n{_table(rows, numbers=1)}"


def _examples(found: Mapping[str, Change], limit: int) -> str:
    shown = []
    for code, change in ordered(found)[:limit]:
        for one in change.examples:
            both = (
                f"  {side} {len(split):4}  {' '.join(split)}"
                for side, split in zip("AB", _splits(one), strict=True)
            )
            shown.append("\n".join([f"{code}: {one.line}", *both]))
    return "Sentences side by side, with their tokens:\n" + "\n".join(shown) if shown else ""


def _pieces(summary: Mapping, pieces: Sequence[PieceChange], limit: int) -> str:
    lines = []
    for kind, title in ((vocabularies.ONLY_A, "Only in A"), (vocabularies.ONLY_B, "Only in B")):
        names = [f"{one.piece} ({max(one.uses_a, one.uses_b):,})" for one in pieces if one.status == kind]
        if names and limit:
            lines.append(f"{title}, with uses in this text: {'  '.join(names[:limit])}")
    lines += [f"BEYOND THE LIMIT: {reason}" for reason in summary["beyond"]]
    if summary["limits"] and not summary["beyond"]:
        lines.append("Within all limits")
    return "\n".join(lines) or "No piece is missing in either"


def _word_row(code: str, entry: WordChange) -> tuple:
    splits = _splits(entry)
    return code, entry.word, entry.count, *map(len, splits), *map(" ".join, splits)


def _splits(entry) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return entry.split_a, entry.split_b


def _table(rows: Sequence[tuple[str, ...]], numbers: int | None = None) -> str:
    """Columns side by side: words to the left, the first `numbers` (all but the first, if None) to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = [place > 0 if numbers is None else place < numbers for place in range(len(widths))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    )
