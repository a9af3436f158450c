"""The text of each language, and what is missing: languages, sizes, pieces."""

import json
import re
from itertools import groupby
from typing import Any

from vocap.report.data import find
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Section, Text, not_run, text_of
from vocap.report.page.tables import specified

Rows = list[dict[str, Any]]


def section(results: Results) -> Section:
    """One row a language, as the corpora stage counted it, and a table of each kind of gap that there is."""
    blocks: list[Block] = [not_run("corpora", "No text has been sampled yet.")]
    if results.corpora:
        blocks = [
            Text(
                "Lines are sampled in one pass; none is in both the training and the held-out part. Where reading "
                "stopped at the scan limit the number of lines n is extrapolated by bytes, and the row is marked."
            )
        ]
    with_pieces = [tokenizer for tokenizer in results.tokenizers.values() if tokenizer.pieces]
    tables = {
        "corpora": _lines(results),
        "packages": results.packages,
        "missing": little_text(results),
        "unreachable": _unreachable(results),
        "short": short_of_total(results),
        "clipped": _clipped(results),
        "dead": [row | {"tokenizer": one.name} for one in with_pieces for row in one.pieces.dead],
    }
    blocks += [specified(name, rows) for name, rows in tables.items() if rows]
    return Section("corpora", "Text of each language, and what is missing", "Corpora", blocks)


def _lines(results: Results) -> Rows:
    """The counts of each language, as stats.json and weights.tsv have them."""
    rows = []
    for code in (code for code in results.languages if code in results.corpora):
        stats, weight = results.corpora[code], results.weights.get(code, {})
        n = weight.get("n", stats.get("n"))
        whole = "yes" if stats.get("complete", True) else "no: scan limit"
        about = {**results.about(code), "source": text_of(stats.get("source")), "n_source": weight.get("source")}
        measured = {"n": n and json.loads(str(n)), "complete": "" if stats.get("missing") else whole}
        rows.append({**stats, **about, **measured})
    return rows


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
