"""How many pieces each language got, of a run on the paper's languages beside the paper's own table."""

from typing import Any

from vocap.allocation.rules import size_rules
from vocap.report import charts
from vocap.report.blocks import Block, Facts, Fold, Note, Section, Text, counted, flatten, not_run, printable
from vocap.report.figures import Figure
from vocap.report.paper.published import on_paper_languages
from vocap.report.results import Allocation, Results, rank_correlation
from vocap.report.tables import Column, Table

WHY_SCALES_DIFFER = (
    "The paper’s sizes come from CommonCrawl, a million lines of each language by its authors’ scripts, for a "
    "union of 500,000 pieces (before merging they sum to 711,000). With less text, another T or other weights "
    "every size moves; what should agree is the order of the languages, so the rank correlation is the number to "
    "look at."
)


def section(results: Results) -> Section:
    """The allocations side by side, in all and by language; the rest of each folded."""
    blocks: list[Block] = []
    if not results.allocations:
        blocks.append(not_run("allocation", "No vocabulary has been allocated yet."))
    else:
        blocks.append(
            Text(
                "Algorithm 1 raises the language whose next step gains the most weighted ALP until the union of "
                "all chosen vocabularies is full. “Way to the bound” says how far an allocation has come from "
                "every language at its smallest size (0 %) to a bound that no union of the languages’ whole lists "
                "can pass (100 %). A rule that chooses pieces instead of lists is not held by it: above 100 % it "
                "is better than any choice of sizes."
            )
        )
        for entry in results.allocations.values():
            blocks += _warnings(entry)
        blocks.append(_overview(results))
        if any(entry.shares for entry in results.allocations.values()):
            blocks.append(_sizes(results))
        blocks += _beside_the_paper(results)
        for entry in results.allocations.values():
            blocks.append(Fold(f"{entry.name}: summary, and sizes by language", _one(results, entry)))
        if absent := results.absent("allocation", results.allocations):
            blocks.append(Note(f"In the configuration, without results here: {', '.join(absent)}.", "warning"))
    return Section("allocation", "How many pieces each language gets", "Allocation", blocks)


def find(summary: dict[str, Any], *names: str) -> Any:
    """The first of `names` in a summary, a dot stepping into an object; None where none is there."""
    for name in names:
        place: Any = summary
        for key in name.split("."):
            place = place.get(key) if isinstance(place, dict) else None
        if place is not None:
            return place
    return None


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _overview(results: Results) -> Table:
    compared = any(_comparable(entry) for entry in results.allocations.values())
    columns = [
        Column("allocation", "Allocation"),
        Column("rule", "Rule"),
        Column("total", "T", "number"),
        Column("alpha", "α", "number"),
        Column("beta", "β", "number"),
        Column("languages", "Languages", "number"),
        Column("sum_of_sizes", "Sum of sizes", "number"),
        Column("pieces", "Merged pieces", "number"),
        Column("way", "Way to the bound", "number", 2, share=True),
        *(Column(f"way_{rule.name}", f"by rule {rule.name}", "number", 2, share=True) for rule in size_rules()),
        *([Column("rank_correlation", "Rank correlation with the paper", "number", 3)] if compared else []),
    ]
    rows = []
    for entry in results.allocations.values():
        summary = entry.summary
        ways = {name: _share(way) for name, way in _ways(summary).items()}
        rows.append(
            (
                entry.name,
                str(find(summary, "settings.rule", "rule") or ""),
                _number(find(summary, "settings.total", "total")),
                _number(find(summary, "settings.alpha", "alpha")),
                _number(find(summary, "settings.beta", "beta")),
                len(entry.shares),
                sum(share.size or 0 for share in entry.shares),
                entry.pieces,
                _share(find(summary, "chosen.way_percent")),
                *(ways.get(rule.name) for rule in size_rules()),
                *([_correlation(results, entry)] if compared else []),
            )
        )
    caption = (
        "One row for each allocation of the configuration. Sum of sizes counts a piece once for each language "
        "that has it, merged pieces once; the way is measured at the last union that fits T, before clipping, and "
        "beside it that of each rule that chooses sizes, with the same settings. "
        "From results/allocation/{name}/summary.json and allocation.tsv."
    )
    return Table("allocations", "Allocations side by side", caption, columns, rows)


def _share(value: Any) -> float | None:
    number = _number(value)
    return None if number is None else number / 100


def _warnings(entry: Allocation) -> list[Block]:
    """What a reader must know before the sizes: the stage's warnings, and files that are not there."""
    found = entry.summary.get("warnings") or []
    said = [printable(warning) for warning in ([found] if isinstance(found, str) else found)]
    if not entry.summary:
        said.append("summary.json is missing: the distance to the bound and the clipping are not known.")
    if not entry.shares:
        said.append("allocation.tsv is missing or empty: no sizes to show.")
    return [Note(f"{entry.name}: {text}", "warning") for text in said]


def _one(results: Results, entry: Allocation) -> list[Block]:
    summary = {key: value for key, value in entry.summary.items() if key != "warnings"}
    blocks = _facts(summary) if summary else []
    return [*blocks, *([_table(results, entry)] if entry.shares else [])]


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
            f"thousand pieces, both axes logarithmic. {said} The other allocations’ stand in the first table.",
            f"Scatter chart of {count}. {said}",
            lambda entry=entry: charts.against_paper(results, entry),
            table=f"allocation-{entry.name}",
        )
        return [Fold("Sizes beside the paper’s", [Text(WHY_SCALES_DIFFER), figure])]
    return []


def _sizes(results: Results) -> Table:
    """Every language's size in every allocation."""
    entries = [entry for entry in results.allocations.values() if entry.shares]
    sizes = {entry.name: {share.language: share.size for share in entry.shares} for entry in entries}
    rows = [
        (
            code,
            results.name(code),
            results.resource(code),
            *(sizes[entry.name].get(code) for entry in entries),
        )
        for code in results.languages
        if any(code in found for found in sizes.values())
    ]
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("resource", "Group"),
        *(Column(f"size_{entry.name}", entry.name, "number", bar=True) for entry in entries),
    ]
    caption = (
        "Each language’s chosen vocabulary in ids, before all are merged and clipped. From "
        "results/allocation/{name}/allocation.tsv."
    )
    return Table("sizes", "Sizes by language", caption, columns, rows, folded=len(rows) > 20)


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
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("resource", "Group"),
        Column("n", "n", "number"),
        Column("q", "q", "number", 3, share=True),
        Column("size", "Size", "number", bar=True),
        *([Column("paper_thousands", "Paper’s size (thousands)", "number")] if compared else []),
        Column("gain", "Gain of the last step", "number", 5),
        Column("own_pieces", "Own pieces", "number"),
        Column("own_share", "Own share", "number", 1, share=True),
    ]
    rows = []
    for share in entry.shares:
        language = results.languages.get(share.language)
        rows.append(
            (
                share.language,
                results.name(share.language),
                results.resource(share.language),
                share.n,
                share.q,
                share.size,
                *([language.paper_thousands if language else None] if compared else []),
                share.gain,
                share.own_pieces,
                share.own_pieces / share.size if share.size and share.own_pieces is not None else None,
            )
        )
    gained = "of the last step taken (nats per line; none for a language at its smallest size)"
    if entry.rule and entry.rule.needs_text:
        gained = "of the last pieces kept (nats per line; one price for all languages)"
    caption = (
        "n is what weighs the language, q its sampling probability (Equation 3), size its chosen vocabulary in "
        f"ids; gain is weight × ALP gain per 1,000 ids {gained}; own pieces are in no other language’s chosen "
        f"vocabulary. Before clipping. From results/allocation/{entry.name}/allocation.tsv"
        + (" and Table 9 of the paper (config/languages.tsv)." if compared else ".")
    )
    name = f"allocation-{entry.name}"
    return Table(name, f"{entry.name}: sizes by language", caption, columns, rows, folded=len(rows) > 20)


def _facts(summary: dict[str, Any]) -> list[Block]:
    """What matters first, in words; everything else of the summary folded under it."""
    chosen = find(summary, "chosen.rule")
    rows = [
        ("T", find(summary, "settings.total")),
        ("Rule", find(summary, "settings.rule")),
        ("α, β", " and ".join(printable(find(summary, f"settings.{key}")) for key in ("alpha", "beta"))),
        ("Sum of sizes", find(summary, "sum_of_sizes")),
        ("Union before clipping", find(summary, "union_before_clipping")),
        ("Clipped", find(summary, "clipped")),
        ("Short of T", find(summary, "short")),
        ("Way to the bound", _percent(find(summary, "chosen.way_percent"))),
        ("Above the bound", _above(find(summary, "chosen.way_percent"))),
        *((f"By rule {name}", _percent(way)) for name, way in _ways(summary).items() if name != chosen),
        ("At the end of their curve", summary.get("exhausted")),
    ]
    facts = [(name, dict(flatten({"": value}))[""]) for name, value in rows if value is not None]
    rest = [(name.replace("_", " ").replace(".", ": "), value) for name, value in flatten(summary)]
    return [Facts(facts), Facts(rest, "All of summary.json")]


def _ways(summary: dict[str, Any]) -> dict[str, Any]:
    """The way to the bound, in percent, by the name of each rule that the summary has."""
    others = summary.get("other_rules")
    assessed = [summary.get("chosen"), *(others if isinstance(others, list) else [])]
    return {str(one.get("rule")): one.get("way_percent") for one in assessed if isinstance(one, dict)}


def _above(value: Any) -> str | None:
    """How far a way lies above the bound on unions of whole lists, in words; None where it does not."""
    number = _number(value)
    if number is None or number <= 100:
        return None
    return f"by {number - 100:.2f} % of the way: more than any union of whole lists can reach"


def _percent(value: Any) -> str | None:
    return None if _number(value) is None else f"{value:.2f} %"
