"""Missing languages, unreachable sizes, clipped and dead pieces."""

import re
from itertools import groupby
from typing import Any

from vocap.report.data import find
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Section, Text, text_of
from vocap.report.page.tables import specified

Rows = list[dict[str, Any]]


def section(results: Results) -> Section:
    """A table of each kind that there is."""
    kinds = {
        "missing": little_text(results),
        "unreachable": _unreachable(results),
        "short": short_of_total(results),
        "clipped": _clipped(results),
        "dead": [
            row | {"tokenizer": tokenizer.name}
            for tokenizer in results.tokenizers.values()
            if tokenizer.pieces
            for row in tokenizer.pieces.dead
        ],
    }
    tables: list[Block] = [specified(name, rows) for name, rows in kinds.items() if rows]
    blocks = tables or [Text("Nothing is missing so far.")]
    return Section("missing", "Missing, unreachable, clipped and dead", "Missing", blocks)


def little_text(results: Results) -> Rows:
    """Languages of the run without text (`kept` is 0), or with a remark of the corpora stage: the `reason`."""
    rows = []
    for code in results.languages if results.corpora else ():
        stats = results.corpora.get(code, {"missing": "no stats.json: the corpora stage has not finished it"})
        kept = stats.get("kept") or 0
        if not kept or stats.get("missing"):
            rows.append(
                {**results.about(code), "kept": kept, "reason": stats.get("missing") or "no line was kept"}
            )
    return rows


def short_of_total(results: Results) -> Rows:
    """Allocations and tokenizers with fewer ids than configured: `kind`, `name`, `total`, and ids `short`."""
    found = [("allocation", entry.name, entry.summary) for entry in results.allocations.values()]
    found += [("tokenizer", entry.name, entry.description) for entry in results.tokenizers.values()]
    return [
        {"kind": kind, "name": name, "total": find(said, "settings", "total") or said.get("total"), "short": short}
        for kind, name, said in found
        if (short := said.get("short"))
    ]


def _unreachable(results: Results) -> Rows:
    """Neighbouring sizes without a model whose reasons differ only in their numbers, a row each."""
    rows = []
    for code in results.languages:
        failed = [point for point in results.curves.get(code, ()) if not point.ok]
        for _, members in groupby(failed, key=lambda point: re.sub(r"\d+", "#", point.status)):
            run = list(members)
            about = {"first": run[0].size, "last": run[-1].size, "sizes": len(run), "reason": run[0].status}
            rows.append(results.about(code) | about)
    return rows


def _clipped(results: Results) -> Rows:
    return [
        {
            **entry.summary,
            "allocation": entry.name,
            "union": entry.summary.get("union_before_clipping"),
            "pieces": entry.pieces,
            "exhausted": text_of(entry.summary.get("exhausted")),
            "dropped": text_of(entry.summary.get("left_out")),
        }
        for entry in results.allocations.values()
    ]
