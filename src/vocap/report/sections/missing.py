"""Missing languages, unreachable sizes, clipped and dead pieces."""

import re
from itertools import groupby

from vocap.report.data import as_number, find
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Note, Section, Text, counted
from vocap.report.page.tables import Column, Table, language_columns


def section(results: Results) -> Section:
    """One table for each kind, or a sentence that there is none."""
    parts = (_missing, _unreachable, _short, _clipped, _dead)
    blocks: list[Block] = [block for part in parts for block in part(results)]
    if not any(isinstance(block, Table) for block in blocks) and not results.curves:
        blocks = [Text("No stage has run, so nothing can be missing yet.")]
    return Section("missing", "Missing, unreachable, clipped and dead", "Missing", blocks)


def missing_languages(results: Results) -> list[tuple[str, str, str]]:
    """Languages of the run without text: code, name, reason. Empty where the corpora stage has no results."""
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
    """Allocations and tokenizers with fewer ids than configured: kind, name, T, number of missing ids."""
    rows = []
    for entry in results.allocations.values():
        if short := as_number(entry.summary.get("short")):
            rows.append(("allocation", entry.name, as_number(entry.setting("total")), short))
    for tokenizer in results.tokenizers.values():
        if short := as_number(tokenizer.description.get("short")):
            asked = as_number(find(tokenizer.description, "settings", "total")) or tokenizer.total
            rows.append(("tokenizer", tokenizer.name, asked, short))
    return rows


def _missing(results: Results) -> list[Block]:
    if not results.corpora:
        return []
    rows, stats = missing_languages(results), results.corpora
    little = [code for code in results.languages if find(stats, code, "kept") and find(stats, code, "missing")]
    blocks: list[Block] = []
    if little:
        columns = [
            *language_columns(results, group=False),
            Column("kept", "Lines", "number", value=lambda code: stats[code]["kept"]),
            Column("remark", "Remark of the corpora stage", value=lambda code: str(stats[code]["missing"])),
        ]
        caption = "Few lines make short curves: bring more text. From results/corpora/{language}/stats.json."
        title = f"{counted(len(little), 'language')} with little text"
        blocks.append(Table.of("little-text", title, caption, columns, little, folded=True))
    if not rows:
        return [*blocks, Text("Every language of the run has text.")]
    columns = [Column("language", "Code"), Column("name", "Language"), Column("reason", "Reason")]
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
        failed = [point for point in results.curves.get(code, ()) if not point.ok]
        for _, members in groupby(failed, key=lambda point: re.sub(r"\d+", "#", point.status)):
            run = list(members)  # neighbouring sizes whose reasons differ only in their numbers
            rows.append((code, results.name(code), run[0].size, run[-1].size, len(run), run[0].status))
    nothing = [code for code in results.curves if results.curves[code] and not results.trained(code)]
    said = f"No size at all could be trained for {', '.join(nothing)}: they take no part in the allocation."
    blocks: list[Block] = [Note(said, "warning")] if nothing else []
    if not rows:
        return [*blocks, Text("Every size of every language could be trained.")]
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("first", "From size", "number"),
        Column("last", "To size", "number"),
        Column("sizes", "Sizes", "number"),
        Column("reason", "Reason"),
    ]
    total = sum(row[4] for row in rows)
    caption = (
        "Sizes that a language’s text cannot reach: too few different pieces at the top, or more required "
        "characters than ids at the bottom. The curve has no points there; the run continues without them. From "
        "results/vocabularies/{language}/curve.tsv."
    )
    title = f"{counted(total, 'size')} out of reach"
    return [*blocks, Table("unreachable", title, caption, columns, rows, folded=True)]


def _short(results: Results) -> list[Block]:
    rows = short_of_total(results)
    if not rows:
        return []
    columns = [
        Column("kind", "Kind"),
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
    if not results.allocations:
        return []

    def number(key: str, title: str, name: str = "") -> Column:
        return Column(key, title, "number", value=lambda entry: as_number(entry.summary.get(name or key)))

    def names(key: str, title: str, name: str = "") -> Column:
        return Column(key, title, value=lambda entry: _names(entry.summary.get(name or key)))

    columns = [
        Column("allocation", "Allocation", value=lambda entry: entry.name),
        number("union", "Union before", "union_before_clipping"),
        number("clipped", "Clipped"),
        number("short", "Short of T"),
        Column("pieces", "Pieces after", "number"),
        names("exhausted", "Languages at their last size"),
        names("dropped", "Languages without a vocabulary", "left_out"),
    ]
    caption = (
        "The last slice overshoots T; its pieces with the lowest scores are clipped, never a single character. "
        "Pieces without special tokens. From results/allocation/{name}/summary.json and vocabulary.tsv."
    )
    rows = results.allocations.values()
    return [Table.of("clipped", "Clipped to exactly T", caption, columns, rows, folded=True)]


def _names(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {reason}" for name, reason in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "" if value is None else str(value)


def _dead(results: Results) -> list[Block]:
    known = [tokenizer for tokenizer in results.tokenizers.values() if tokenizer.pieces]
    if not known:
        return []
    rows = [row | {"tokenizer": tokenizer.name} for tokenizer in known for row in tokenizer.pieces.dead]
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
    return [Table.of("dead", counted(total, "dead piece"), caption, columns, rows, folded=True, limit=200)]
