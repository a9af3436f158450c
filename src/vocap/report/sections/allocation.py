"""Vocabulary sizes of the languages; on the paper's languages, compared with the paper's Table 9."""

import math
from functools import partial
from typing import Any

import altair as alt

from vocap.allocation.rules import size_rules
from vocap.report.data import as_number, find
from vocap.report.data.results import Allocation, Results, Share, rank_correlation
from vocap.report.page.blocks import (
    Block,
    Code,
    Facts,
    Fold,
    Note,
    Section,
    Text,
    counted,
    not_run,
    text_of,
    without_results,
)
from vocap.report.page.figures import WIDTH, Figure, chart, group_color, group_shape, token
from vocap.report.page.tables import LONG, Column, Table, language_columns
from vocap.report.paper.published import on_paper_languages

CODES_SIZE = alt.ExprRef("width < 450 ? 0 : 10")  # no codes beside the dots on a phone: they would overlap
WHY_SCALES_DIFFER = (
    "The paper’s sizes come from CommonCrawl, a million lines of each language by its authors’ scripts, for a "
    "union of 500,000 pieces (before merging they sum to 711,000). With less text, another T or other weights "
    "every size moves; the order of the languages should agree, so the rank correlation is the number to "
    "compare."
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
    gap = partial(Column, kind="number", digits=2, share=True)

    def total(entry: Allocation) -> int:
        return sum(share.size or 0 for share in entry.shares)

    columns = [
        Column("allocation", "Allocation", value=lambda entry: entry.name),
        Column("rule", "Rule", value=lambda entry: entry.setting("rule")),
        Column("total", "T", "number", value=lambda entry: entry.setting("total")),
        Column("alpha", "α", "number", value=lambda entry: entry.setting("alpha")),
        Column("beta", "β", "number", value=lambda entry: entry.setting("beta")),
        Column("languages", "Languages", "number", value=lambda entry: len(entry.shares)),
        Column("sum_of_sizes", "Sum of sizes", "number", value=total),
        Column("pieces", "Merged pieces", "number"),
        gap("optimality_gap", "Optimality gap", value=lambda entry: _gap(entry.summary.get("chosen"))),
    ]
    for rule in size_rules():
        key, title = f"optimality_gap_{rule.name}", f"by rule {rule.name}"
        columns.append(gap(key, title, value=lambda entry, name=rule.name: _gaps(entry.summary).get(name)))
    if any(_comparable(entry) for entry in results.allocations.values()):
        key, title = "rank_correlation", "Rank correlation with the paper"
        columns.append(Column(key, title, "number", 3, value=lambda entry: _correlation(results, entry)))
    caption = (
        "One row for each allocation of the configuration. Sum of sizes counts a piece once for each language "
        "that has it, merged pieces once; the gap is measured at the last union that fits T, before clipping, and "
        "beside it that of each rule that chooses sizes, with the same settings. "
        "From results/allocation/{name}/summary.json and allocation.tsv."
    )
    return Table.of("allocations", "Allocations side by side", caption, columns, results.allocations.values())


def _gap(assessed: Any) -> float | None:
    """The optimality gap as a share: 1 minus the share of the distance to the bound that was gained."""
    gained = as_number(find(assessed, "way_percent"))
    return None if gained is None else 1 - gained / 100


def _warnings(entry: Allocation) -> list[Block]:
    """Notes above the sizes: the stage's warnings, and missing files."""
    found = entry.summary.get("warnings") or []
    said = [text_of(warning) for warning in ([found] if isinstance(found, str) else found)]
    if not entry.summary:
        said.append("summary.json is missing: the optimality gap and the clipping are not known.")
    if not entry.shares:
        said.append("allocation.tsv is missing or empty: no sizes to show.")
    return [Note(f"{entry.name}: {text}", "warning") for text in said]


def _one(results: Results, entry: Allocation) -> list[Block]:
    summary = {key: value for key, value in entry.summary.items() if key != "warnings"}
    return (_facts(summary) if summary else []) + ([_table(results, entry)] if entry.shares else [])


def _beside_the_paper(results: Results) -> list[Block]:
    """The sizes of the first allocation on the paper's languages against the paper's; nothing where none is."""
    for entry in results.allocations.values():
        correlation = _correlation(results, entry)
        if correlation is None:
            continue
        count = counted(len(_paired(results, entry)), "language")
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


def _sizes(results: Results) -> Table:
    """Every language's size in every allocation."""
    sizes = {
        entry.name: {share.language: share.size for share in entry.shares}
        for entry in results.allocations.values()
        if entry.shares
    }
    codes = [code for code in results.languages if any(code in found for found in sizes.values())]
    columns = language_columns(results) + [
        Column(f"size_{name}", name, "number", bar=True, value=found.get) for name, found in sizes.items()
    ]
    caption = (
        "Each language’s chosen vocabulary in ids, before all are merged and clipped. From "
        "results/allocation/{name}/allocation.tsv."
    )
    return Table.of("sizes", "Sizes by language", caption, columns, codes, folded=len(codes) > LONG)


def _comparable(entry: Allocation) -> bool:
    """Whether its sizes compare with the paper's: it is on the paper's languages."""
    return on_paper_languages(share.language for share in entry.shares if share.size is not None)


def _correlation(results: Results, entry: Allocation) -> float | None:
    """Spearman's, of its sizes and the paper's; None for an allocation on other languages."""
    if not _comparable(entry):
        return None
    ours, paper = zip(*_paired(results, entry), strict=True)
    return rank_correlation(list(ours), list(paper))


def _paired(results: Results, entry: Allocation) -> list[tuple[float, float]]:
    """Of each language that the paper has: its size here, and the paper's in thousands."""
    pairs = []
    for share in entry.shares:
        language = results.languages.get(share.language)
        if share.size is not None and language and language.paper_thousands is not None:
            pairs.append((float(share.size), language.paper_thousands))
    return pairs


def _table(results: Results, entry: Allocation) -> Table:
    compared = _comparable(entry)

    def paper(share: Share) -> float | None:
        language = results.languages.get(share.language)
        return language.paper_thousands if language else None

    def own(share: Share) -> float | None:
        return share.own_pieces / share.size if share.size and share.own_pieces is not None else None

    columns = [
        *language_columns(results),
        Column("n", "n", "number"),
        Column("q", "q", "number", 3, share=True),
        Column("size", "Size", "number", bar=True),
        *([Column("paper_thousands", "Paper’s size (thousands)", "number", value=paper)] if compared else []),
        Column("gain", "Gain of the last step", "number", 5),
        Column("own_pieces", "Own pieces", "number"),
        Column("own_share", "Own share", "number", 1, share=True, value=own),
    ]
    gained = "of the last step taken (nats per line; none for a language at its smallest size)"
    if entry.rule and entry.rule.needs_text:
        gained = "of the last pieces kept (nats per line; one price for all languages)"
    caption = (
        "n is the weight of the language, q its sampling probability (Equation 3), size its chosen vocabulary in "
        f"ids; gain is weight × ALP gain per 1,000 ids {gained}; own pieces are in no other language’s chosen "
        f"vocabulary. Before clipping. From results/allocation/{entry.name}/allocation.tsv"
        + (" and Table 9 of the paper (config/languages.tsv)." if compared else ".")
    )
    name, title = f"allocation-{entry.name}", f"{entry.name}: sizes by language"
    return Table.of(name, title, caption, columns, entry.shares, folded=len(entry.shares) > LONG)


def _facts(summary: dict[str, Any]) -> list[Block]:
    """The most important entries of a summary; all of it folded under them."""
    chosen = find(summary, "chosen", "rule")
    rows = [
        ("T", find(summary, "settings", "total")),
        ("Rule", find(summary, "settings", "rule")),
        ("α, β", " and ".join(text_of(find(summary, "settings", key)) for key in ("alpha", "beta"))),
        ("Sum of sizes", summary.get("sum_of_sizes")),
        ("Union before clipping", summary.get("union_before_clipping")),
        ("Clipped", summary.get("clipped")),
        ("Short of T", summary.get("short")),
        ("Optimality gap", _percent(_gap(summary.get("chosen")))),
        *((f"by rule {name}", _percent(gap)) for name, gap in _gaps(summary).items() if name != chosen),
        ("At the end of their curve", summary.get("exhausted")),
    ]
    facts = [(name, text_of(value)) for name, value in rows if value is not None]
    return [Facts(facts), Code.of_file(summary, "summary.json")]


def _gaps(summary: dict[str, Any]) -> dict[str, float | None]:
    """The optimality gap, as a share, by the name of each rule that the summary has."""
    others = summary.get("other_rules")
    assessed = [summary.get("chosen"), *(others if isinstance(others, list) else [])]
    return {str(one.get("rule")): _gap(one) for one in assessed if isinstance(one, dict)}


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.2f} %".replace("-", "−")


def against_paper(results: Results, allocation: Allocation) -> alt.LayerChart:
    """Allocated size of every language against the paper's own table, both axes logarithmic."""
    rows = []
    for share in allocation.shares:
        language = results.languages.get(share.language)
        if share.size and language and language.paper_thousands:
            rows.append(
                {
                    "code": share.language,
                    "language": language.name,
                    "group": language.resource,
                    "paper": language.paper_thousands,
                    "size": share.size / 1000,
                    "x": language.paper_thousands,
                    "y": share.size / 1000,
                }
            )
    groups = [name for name in results.groups() if any(row["group"] == name for row in rows)]
    _fan_out(rows)
    labels = _apart(rows)
    scale = alt.Scale(type="log", nice=False, padding=14)
    axis = alt.Axis(values=[1, 2, 3, 5, 7, 10, 15, 20, 30], format="~g")
    x = alt.X("x:Q", title="the paper's allocation (thousand pieces, T = 500K)", scale=scale, axis=axis)
    axis = alt.Axis(values=[0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50], format="~g")
    y = alt.Y("y:Q", title="this run (thousand pieces)", scale=scale, axis=axis)
    dots = chart(rows).mark_point(filled=True, size=48, opacity=1)
    dots = dots.encode(
        x=x,
        y=y,
        color=group_color(groups),
        shape=group_shape(groups),
        tooltip=[
            "language:N",
            "code:N",
            alt.Tooltip("paper:Q", title="paper, thousands"),
            alt.Tooltip("size:Q", title="this run, thousands"),
        ],
    )
    text = chart(labels).mark_text(align="left", dx=6, dy=-5, fontSize=CODES_SIZE, color=token("muted"))
    text = text.encode(x=x, y=y, text="code:N")
    return alt.layer(dots, text).properties(width=WIDTH, height=420)


def _fan_out(rows: list[dict[str, Any]]) -> None:
    """Both tables hold whole thousands: spread languages at the same point over a small square around it."""
    stacks: dict[tuple, list[dict[str, Any]]] = {}
    for row in rows:
        stacks.setdefault((row["paper"], row["size"]), []).append(row)
    for members in stacks.values():
        side = math.ceil(math.sqrt(len(members)))
        for place, row in enumerate(members):
            right, up = place % side - (side - 1) / 2, place // side - (side - 1) / 2
            row["x"] = round(row["paper"] * 1.055**right, 4)
            row["y"] = round(row["size"] * 1.055**up, 4)


def _apart(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Codes beside their dots, largest first, none over another; the tooltips have all.

    A code takes a box right above its dot; distances are in the logarithms of the axes.
    """

    def inside(
        row: dict[str, Any], other: dict[str, Any], left: float, right: float, low: float, high: float
    ) -> bool:
        across, up = math.log(other["x"] / row["x"]) / width, math.log(other["y"] / row["y"]) / height
        return left < across < right and low < up < high

    width, height = (
        math.log(max(row[axis] for row in rows) / min(row[axis] for row in rows)) or 1 for axis in "xy"
    )
    shown: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda row: (-row["x"] * row["y"], row["code"])):
        dot = any(inside(row, other, 0.003, 0.042, -0.012, 0.045) for other in rows if other is not row)
        if not dot and not any(inside(row, other, -0.036, 0.036, -0.03, 0.03) for other in shown):
            shown.append(row)
    return shown
