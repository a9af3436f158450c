"""Vocabulary sizes of the languages; on the paper's languages, compared with the paper's Table 9."""

from typing import Any

import altair as alt
import numpy as np
import pandas

from vocap.report.data.comparison import records
from vocap.report.data.results import Allocation, Results
from vocap.report.page.blocks import (
    Block,
    Code,
    Fold,
    Note,
    Section,
    Text,
    counted,
    not_run,
    text_of,
    without_results,
)
from vocap.report.page.figures import SHAPES, Figure, tooltips
from vocap.report.page.scatter import scatter
from vocap.report.page.tables import Column, Table, specified
from vocap.report.paper.published import on_paper_languages, paper_size

PAPER_SIZES = "paper_allocated_thousands"
WHY_SCALES_DIFFER = (
    "The paper’s sizes come from CommonCrawl, a million lines of each language by its authors’ scripts, for a "
    "union of 500,000 pieces. With less text, another T or other weights every size moves; the order of the "
    "languages should agree, so the rank correlation is the number to compare."
)


def section(results: Results) -> Section:
    """The allocations side by side, in total and by language; details of each folded."""
    blocks: list[Block] = []
    if not results.allocations:
        blocks.append(not_run("allocation", "No vocabulary has been allocated yet."))
    else:
        blocks.append(
            Text(
                "Algorithm 1 raises the language whose next step gains the most weighted ALP until the union of "
                "all chosen vocabularies is full. The optimality gap is the distance of an allocation’s objective "
                "from an upper bound for any choice of sizes, in percent of the distance from every language at "
                "its smallest size (100 %) to the bound (0 %). A rule that chooses pieces instead of sizes can "
                "pass the bound: its gap is negative."
            )
        )
        for entry in results.allocations.values():
            blocks += _warnings(entry)
        blocks.append(_overview(results))
        if any(entry.shares for entry in results.allocations.values()):
            blocks.append(_sizes(results))
        blocks += _beside_the_paper(results)
        each = [Fold(entry.name, _one(results, entry)) for entry in results.allocations.values()]
        blocks.append(Fold("Each allocation: summary, and sizes by language", each))
        blocks += without_results(results.absent("allocation", results.allocations), "warning")
    return Section("allocation", "Vocabulary size of each language", "Allocation", blocks)


def _overview(results: Results) -> Table:
    """A row an allocation. A gap is 1 minus the share of the distance to the bound that was gained."""
    correlation = [Column("rank_correlation", "Rank correlation with the paper", "number", 3)]
    more = correlation if any(_comparable(entry) for entry in results.allocations.values()) else []
    rows = []
    for entry in results.allocations.values():
        row: dict[str, Any] = {key: entry.setting(key) for key in ("rule", "total", "alpha", "beta")}
        row |= {"allocation": entry.name, "languages": len(entry.shares), "pieces": entry.pieces}
        assessed = [entry.summary.get("chosen") or {}, *(entry.summary.get("other_rules") or ())]
        gaps = {one.get("rule"): 1 - one["way_percent"] / 100 for one in assessed if one.get("way_percent")}
        row |= {"optimality_gap": gaps.get(row["rule"]), "optimality_gap_paper": gaps.get("paper")}
        row["sum_of_sizes"] = sum(share.size or 0 for share in entry.shares)
        rows.append(row | {"rank_correlation": _correlation(entry)})
    return specified("allocations", rows, more)


def _warnings(entry: Allocation) -> list[Block]:
    """Notes above the sizes: the stage's warnings, and missing files."""
    found = entry.summary.get("warnings") or []
    said = [text_of(warning) for warning in ([found] if isinstance(found, str) else found)]
    if not entry.summary:
        said.append("summary.json is missing: the optimality gap and the clipping are not known.")
    if not entry.shares:
        said.append("allocation.tsv is missing or empty: no sizes to show.")
    return [Note(f"{entry.name}: {text}", "warning") for text in said]


def _sizes(results: Results) -> Table:
    """Every language's size in every allocation."""
    entries = [entry for entry in results.allocations.values() if entry.shares]
    sizes: dict[str, dict[str, int | None]] = {}
    for entry in entries:
        for share in entry.shares:
            sizes.setdefault(share.language, {})[f"size_{entry.name}"] = share.size
    rows = [results.about(code) | sizes[code] for code in results.languages if code in sizes]
    more = [Column(f"size_{entry.name}", entry.name, "number", bar=True) for entry in entries]
    return specified("sizes", rows, more)


def _comparable(entry: Allocation) -> bool:
    """Whether its sizes compare with the paper's: it is on the paper's languages."""
    return on_paper_languages(share.language for share in entry.shares if share.size is not None)


def _paired(entry: Allocation) -> pandas.DataFrame:
    """The languages that the paper has: their size here, and the paper's in thousands."""
    rows = [(share.language, share.size, paper_size(share.language, PAPER_SIZES)) for share in entry.shares]
    return pandas.DataFrame(rows, columns=["code", "size", "paper"]).dropna()


def _correlation(entry: Allocation) -> float | None:
    """Spearman's, of its sizes and the paper's; None for an allocation on other languages."""
    if not _comparable(entry):
        return None
    found = _paired(entry)[["size", "paper"]].corr("spearman").iloc[0, 1]
    return None if pandas.isna(found) else float(found)


def _beside_the_paper(results: Results) -> list[Block]:
    """The sizes of the first allocation on the paper's languages against the paper's; nothing where none is."""
    for entry in results.allocations.values():
        correlation = _correlation(entry)
        if correlation is None:
            continue
        count = counted(len(_paired(entry)), "language")
        said = f"Spearman’s rank correlation with the paper’s sizes over {count}: {correlation:.3f}.".replace(
            "-", "−"
        )
        figure = Figure(
            f"allocation-{entry.name}",
            f"{entry.name}: sizes beside the paper’s",
            "Allocated size of each language in this run (upright) against Table 9 of the paper (across), in "
            f"thousand pieces, both axes logarithmic. {said} The other allocations’ are in the first table.",
            f"Scatter chart of {count}. {said}",
            lambda entry=entry: against_paper(results, entry),
            table=f"allocation-{entry.name}",
        )
        return [Fold("Sizes beside the paper’s", [Text(WHY_SCALES_DIFFER), figure])]
    return []


def against_paper(results: Results, entry: Allocation) -> alt.LayerChart:
    """Allocated size of every language against the paper's own table, both axes logarithmic.

    Both tables hold whole thousands: languages at the same point are spread over a small square around it.
    """
    rows = _paired(entry).assign(size=lambda rows: rows["size"] / 1000)
    alike = rows.groupby(["paper", "size"]).code
    place, side = alike.cumcount(), np.ceil(np.sqrt(alike.transform("size")))
    rows["x"] = (rows.paper * 1.055 ** (place % side - (side - 1) / 2)).round(4)
    rows["y"] = (rows["size"] * 1.055 ** (place // side - (side - 1) / 2)).round(4)
    rows["kind"], rows["language"] = rows.code.map(results.resource), rows.code.map(results.name)
    rows = rows.assign(name=rows.code, area=-rows.x * rows.y).sort_values(["area", "code"])
    kinds = {
        name: (name if name in SHAPES else "unknown", SHAPES.get(name, "diamond")) for name in results.groups()
    }
    tooltip = tooltips(language="", code="", paper="~g|paper, thousands", size="~g|this run, thousands")
    titles = ("the paper's allocation (thousand pieces, T = 500K)", "this run (thousand pieces)")
    return scatter(records(rows), titles, kinds, tooltip, log=True, height=420)


def _one(results: Results, entry: Allocation) -> list[Block]:
    """All of the summary, and the sizes."""
    summary = {key: value for key, value in entry.summary.items() if key != "warnings"}
    blocks: list[Block] = [Code.of_file(summary, "summary.json")] if summary else []
    return [*blocks, _table(results, entry)] if entry.shares else blocks


def _table(results: Results, entry: Allocation) -> Table:
    rows = []
    for share in entry.shares:
        known = share.size and share.own_pieces is not None
        row = {"own_share": share.own_pieces / share.size if known else None}
        rows.append(vars(share) | row | {"paper_thousands": paper_size(share.language, PAPER_SIZES)})
        rows[-1] |= results.about(share.language)
    gained = "of the last step taken (nats per line; none for a language at its smallest size)"
    if entry.rule and entry.rule.needs_text:
        gained = "of the last pieces kept (nats per line; one price for all languages)"
    more, source = [], ""
    if _comparable(entry):
        more = [Column("paper_thousands", "Paper’s size (thousands)", "number")]
        source = " and Table 9 of the paper (config/languages.tsv)"
    return specified("allocation", rows, more, of=entry.name, gained=gained, beside=source)
