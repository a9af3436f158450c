"""The words of `vocap diff`: a comparison of two tokenizers for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vocap.diff.analysis import ONLY_A, ONLY_B, Comparison
from vocap.files.io import aligned
from vocap.unigram.usage import tokens_of

STEADY = 0.005  # percent: smaller changes count as none
LANGUAGE_FORMS = {  # column of languages.tsv: title and form of a cell
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


def diff_text(found: Comparison, words: int = 20, examples: int = 3) -> str:
    """The comparison as text, with at most `words` changed words and examples of at most
    `examples` languages; the largest changes first.
    """
    rows = sorted(
        found.rows,
        key=lambda row: (
            -abs(row["change_percent"] or 0.0),
            -row["words_changed"],
            row["language"],
        ),
    )
    lines = [line for row in rows[:examples] for line in _example_lines(found, row["language"])]
    if lines:
        lines.insert(0, "Sentences side by side, with their tokens:")
    verdict = [*_missing_pieces(found, words), *_verdict(found)]
    parts = [
        _heading(found),
        _language_table(rows),
        _word_table(found, words),
        "\n".join(lines),
        "\n".join(verdict) or "No piece is missing in either",
    ]
    return "\n\n".join(filter(None, parts))


def _heading(found: Comparison) -> str:
    counts = found.summary()["pieces"]
    return (
        f"A  {found.a}  ({found.ids_a:,} ids)\nB  {found.b}  ({found.ids_b:,} ids)\n"
        f"{counts['same']:,} ids hold the same piece; {counts['moved']:,} pieces have another id, "
        f"{counts['only_a']:,} are only in A, {counts['only_b']:,} only in B"
    )


def _language_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A row a language, and the number of languages with fewer and with more tokens."""

    def cells(row: Mapping[str, Any]) -> list[str]:
        return [
            "-" if row[key] is None else form.format(row[key])
            for key, (_, form) in LANGUAGE_FORMS.items()
        ]

    table = [[title for title, _ in LANGUAGE_FORMS.values()], *map(cells, rows)]
    moves = [row["change_percent"] or 0.0 for row in rows]
    fewer, more = sum(move < -STEADY for move in moves), sum(move > STEADY for move in moves)
    counts = f"fewer tokens in {fewer}, more in {more}, as many in {len(moves) - fewer - more}"
    return "\n".join([*aligned(table, left=[0]), f"B needs {counts} of {len(moves)} languages"])


def _word_table(found: Comparison, most: int) -> str:
    """The most frequent words that are segmented differently; empty for none."""
    changed = [(code, one) for code, change in found.changes.items() for one in change.changed]
    if not changed or not most:
        return ""
    changed.sort(key=lambda pair: (-pair[1].times, pair[0], pair[1].word))
    table = [("times", "language", "word", "A", "B")]
    for code, one in changed[:most]:
        splits = " ".join(one.split_a), " ".join(one.split_b)
        table.append((f"{one.times:,}", code, one.word, *splits))
    title = f"Words segmented differently, the most frequent of {len(changed):,}:"
    return "\n".join([title, *aligned(table, left=range(1, 5))])


def _example_lines(found: Comparison, language: str) -> Iterator[str]:
    for one in found.changes[language].examples:
        yield f"{language}: {one.line}"
        for side, split in (("A", one.split_a), ("B", one.split_b)):
            yield f"  {side} {tokens_of(split):4}  {' '.join(split)}"


def _missing_pieces(found: Comparison, most: int) -> Iterator[str]:
    """The most used pieces that only one of the two has."""
    for status, title in ((ONLY_A, "Only in A"), (ONLY_B, "Only in B")):
        pieces = [piece for piece in found.pieces if piece.status == status][:most]
        names = [f"{piece.piece} ({max(piece.uses_a, piece.uses_b):,})" for piece in pieces]
        if names:
            yield f"{title}, with uses in this text: {'  '.join(names)}"


def _verdict(found: Comparison) -> list[str]:
    """The limits that are exceeded; nothing where there are none."""
    if found.limits and not found.beyond:
        return ["Within all limits"]
    return [f"BEYOND THE LIMIT: {reason}" for reason in found.beyond]
