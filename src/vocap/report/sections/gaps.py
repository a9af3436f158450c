"""What could not be reached, was clipped, is dead or is missing: nothing stays silent."""

import re
from itertools import groupby

from vocap.report.blocks import Block, Note, Section, Text, counted
from vocap.report.results import Results
from vocap.report.sections.allocation import find
from vocap.report.tables import Column, Table
from vocap.vocabularies.curve import Point


def section(results: Results) -> Section:
    """One table for each kind of gap, or a sentence that there is none."""
    blocks: list[Block] = []
    blocks += _missing(results)
    blocks += _unreachable(results)
    blocks += _short(results)
    blocks += _clipped(results)
    blocks += _dead(results)
    if not any(isinstance(block, Table) for block in blocks) and not results.curves:
        blocks = [Text("No stage has run, so nothing can be missing yet.")]
    return Section("gaps", "What is missing, out of reach, clipped or dead", "Gaps", blocks)


def missing_languages(results: Results) -> list[tuple[str, str, str]]:
    """Languages of the run without text: code, name, why. Empty where the corpora stage left nothing at all."""
    if not results.corpora:
        return []
    rows = []
    for code in results.languages:
        stats = results.corpora.get(code)
        if stats is None:
            rows.append((code, results.name(code), "no stats.json: the corpora stage has not finished it"))
        elif not stats.get("kept"):
            rows.append((code, results.name(code), str(stats.get("missing") or "no line was kept")))
    return rows


def short_of_total(results: Results) -> list[tuple[str, str, int | None, int]]:
    """Allocations and tokenizers with fewer ids than asked for: what, name, T, how many are lacking."""
    rows = []
    for entry in results.allocations.values():
        if short := _count(find(entry.summary, "short")):
            rows.append(("allocation", entry.name, _count(find(entry.summary, "settings.total")), short))
    for tokenizer in results.tokenizers.values():
        if short := _count(tokenizer.description.get("short")):
            asked = _count(find(tokenizer.description, "settings.total")) or tokenizer.total
            rows.append(("tokenizer", tokenizer.name, asked, short))
    return rows


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _missing(results: Results) -> list[Block]:
    rows = missing_languages(results)
    if not results.corpora:
        return []
    stats = {code: results.corpora[code] for code in results.languages if code in results.corpora}
    little = [
        (code, results.name(code), entry["kept"], str(entry["missing"]))
        for code, entry in stats.items()
        if entry.get("kept") and entry.get("missing")
    ]
    blocks: list[Block] = []
    if little:
        columns = [
            Column("language", "Code"),
            Column("name", "Language"),
            Column("kept", "Lines", "number"),
            Column("remark", "What the corpora stage says"),
        ]
        caption = "Few lines make short curves: bring more text. From results/corpora/{language}/stats.json."
        title = f"{counted(len(little), 'language')} with little text"
        blocks.append(Table("little-text", title, caption, columns, little, folded=True))
    if not rows:
        return [*blocks, Text("Every language of the run has text.")]
    columns = [Column("language", "Code"), Column("name", "Language"), Column("reason", "Why")]
    caption = (
        "Languages without text take no part in any later stage. Give each a file of your own (one sentence a "
        "line; corpora section of the configuration), or take it out of the languages list. From "
        "results/corpora/{language}/stats.json."
    )
    return [*blocks, Table("missing", f"{counted(len(rows), 'language')} without text", caption, columns, rows)]


def _unreachable(results: Results) -> list[Block]:
    if not results.curves:
        return []
    rows = []
    for code in results.languages:
        points = results.curves.get(code, [])
        failed = [point for point in points if not point.ok]
        for first, last, reason, count in _runs(failed):
            rows.append((code, results.name(code), first, last, count, reason))
    nothing = [code for code in results.curves if results.curves[code] and not results.trained(code)]
    blocks: list[Block] = []
    if nothing:
        blocks.append(
            Note(
                f"No size at all could be trained for {', '.join(nothing)}: they take no part in the allocation.",
                "warning",
            )
        )
    if not rows:
        return [*blocks, Text("Every size of every language could be trained.")]
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("first", "From size", "number"),
        Column("last", "To size", "number"),
        Column("sizes", "Sizes", "number"),
        Column("reason", "Why"),
    ]
    total = sum(row[4] for row in rows)
    caption = (
        "Sizes that a language’s text cannot reach: too few different pieces at the top, or more required "
        "characters than ids at the bottom. They are holes of the curve and stop nothing. From "
        "results/vocabularies/{language}/curve.tsv."
    )
    title = f"{counted(total, 'size')} out of reach"
    return [*blocks, Table("unreachable", title, caption, columns, rows, folded=True)]


def _runs(points: list[Point]) -> list[tuple[int, int, str, int]]:
    """Neighbouring failed sizes whose reasons differ only in their numbers, as one: first, last, reason, count."""
    runs = []
    for _, members in groupby(points, key=lambda point: re.sub(r"\d+", "#", point.status)):
        run = list(members)
        runs.append((run[0].size, run[-1].size, run[0].status, len(run)))
    return runs


def _short(results: Results) -> list[Block]:
    rows = short_of_total(results)
    if not rows:
        return []
    columns = [
        Column("kind", "What"),
        Column("name", "Name"),
        Column("total", "T asked for", "number"),
        Column("short", "Short by", "number"),
    ]
    caption = (
        "The text has too few different pieces for T: bring more text or larger sizes, or lower T. From "
        "results/allocation/{name}/summary.json and results/tokenizers/{name}/description.json."
    )
    return [Table("short", "T not reached", caption, columns, rows)]


def _clipped(results: Results) -> list[Block]:
    rows = []
    for entry in results.allocations.values():
        summary = entry.summary
        rows.append(
            (
                entry.name,
                find(summary, "union_before_clipping"),
                find(summary, "clipped"),
                find(summary, "short"),
                entry.pieces,
                _names(find(summary, "exhausted")),
                _names(find(summary, "left_out")),
            )
        )
    if not rows:
        return []
    columns = [
        Column("allocation", "Allocation"),
        Column("union", "Union before", "number"),
        Column("clipped", "Clipped", "number"),
        Column("short", "Short of T", "number"),
        Column("pieces", "Pieces after", "number"),
        Column("exhausted", "Languages at their last size"),
        Column("dropped", "Languages without a vocabulary"),
    ]
    rows = [
        tuple(value if _fits(value, column) else None for value, column in zip(row, columns, strict=True))
        for row in rows
    ]
    caption = (
        "The last slice overshoots T; its pieces with the lowest scores are clipped, never a single character. "
        "Pieces without the five special tokens. From results/allocation/{name}/summary.json and vocabulary.tsv."
    )
    return [Table("clipped", "Clipped to exactly T", caption, columns, rows, folded=True)]


def _fits(value: object, column: Column) -> bool:
    return column.kind == "text" or (isinstance(value, int | float) and not isinstance(value, bool))


def _names(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {reason}" for name, reason in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "" if value is None else str(value)


def _dead(results: Results) -> list[Block]:
    known = [tokenizer for tokenizer in results.tokenizers.values() if tokenizer.pieces]
    rows = [
        (tokenizer.name, row["piece"], row.get("languages") or "", row.get("shadowed_by") or "")
        for tokenizer in known
        for row in tokenizer.pieces.dead
    ]
    if not known:
        return []
    total = sum(tokenizer.pieces.counts.get("dead", 0) for tokenizer in known)
    if not total:
        return [Text("No tokenizer has a dead piece: each piece can be the best segmentation of its own text.")]
    columns = [
        Column("tokenizer", "Tokenizer"),
        Column("piece", "Piece"),
        Column("languages", "Languages"),
        Column("shadowed_by", "Beaten by"),
    ]
    caption = (
        "Pieces that no text can produce, since another segmentation of the same characters always scores "
        "higher. At most 100 for each tokenizer; results/tokenizers/{name}/pieces.tsv has all."
    )
    return [Table("dead", f"{counted(total, 'dead piece')}", caption, columns, rows, folded=True, limit=200)]
