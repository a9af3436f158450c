"""The trade-off of mean ALP and fairness: the frontier over beta and the fairness weight, and baselines."""

from typing import Any

import altair as alt

from vocap.allocation.rules import RULES
from vocap.report.data.frontier import Frontier, Point, frontiers
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Fold, Note, Section, Text, counted, not_run
from vocap.report.page.figures import WIDTH, Figure, chart, token
from vocap.report.page.tables import Column, Table

BY_TEXT = [name for name, rule in RULES.items() if rule.needs_text]
NAMES = {
    "beta": "Algorithm 1, by beta",
    "fairness": "Algorithm 1, by fairness weight",
    "uniform": "the same size for all",
    "proportional": "sizes in proportion to n",
    "vocap": "VOCAP tokenizer",
    "joint": "JOINT tokenizer",
    "file": "tokenizer from elsewhere",
    **{name: f"tokenizer by rule {name}" for name in BY_TEXT},
}
KINDS = {
    "beta": ("by beta", "high", "circle"),
    "fairness": ("by fairness weight", "mid", "circle"),
    "uniform": ("uniform", "muted", "square"),
    "proportional": ("in proportion to the text", "muted", "cross"),
    "vocap": ("VOCAP, merged", "high", "diamond"),
    "joint": ("JOINT", "low", "triangle-down"),
    "file": ("from elsewhere", "unknown", "triangle-up"),
    **{name: (f"{name.upper()}, merged", "ink", "triangle-right") for name in BY_TEXT},
}
LINES = ("beta", "fairness")


def section(results: Results) -> Section:
    """One figure pair and one table for each T."""
    title, short = "Cost of fairness", "Fairness"
    if not results.allocations:
        return Section("frontier", title, short, [not_run("allocation", "There is no allocation to compare.")])
    found = frontiers(results)
    if not found:
        why = results.no_inputs or "No allocation’s smallest sizes fit its T, or no curve has held-out ALP."
        return Section("frontier", title, short, [Note(f"No frontier: {why}")])
    blocks: list[Block] = [
        Text(
            "Beta weighs languages by their data, the fairness weight by x below; the lines "
            "show the effect of either on the mean ALP and on inequality. Vertical axis: the mean held-out ALP "
            "of a line of the multilingual sample (each language weighted by q). Horizontal axis: inequality of "
            "x, which is a language’s held-out ALP over the best held-out ALP of its own curve, a ratio without "
            "unit that does not depend on the length of lines. Better is up and to the left."
        ),
        Text(
            "Two baselines give every language the same size, or one in proportion to its text. On the lines, "
            "and for the baselines, each language is read off its own curve at its size in the last union within "
            "T. Tokenizers are measured with the pieces of all languages in one vocabulary: the distance from "
            "VOCAP’s mark to its line is the effect of merging. "
            "Languages whose curves end early are soon near their best, so compare within a run, not between runs."
        ),
    ]
    blocks += _one(results, found[0])
    blocks += [Fold(f"T = {one.total:,}: {_said(one)}", _one(results, one)) for one in found[1:]]
    return Section("frontier", title, short, blocks)


def _one(results: Results, one: Frontier) -> list[Block]:
    blocks: list[Block] = []
    if one.apart:
        named = ", ".join(f"{results.name(code)} ({reason})" for code, reason in sorted(one.apart.items()))
        blocks.append(Note(f"Not counted at T = {one.total:,}, in any mark: {named}.", "warning"))
    said = _said(one)
    start = f"All other settings are those of {one.reference}; {counted(len(one.languages), 'language')} counted."
    figures = [
        Figure(
            name,
            f"T = {one.total:,}: {title}",
            f"Held-out ALP in nats per line. {start} The fairness weight varies at beta {one.beta:g}.",
            f"Chart of {len(one.points)} allocations and tokenizers. {said} The numbers are in the table.",
            lambda unequal=unequal: trade_off(one, unequal),
            table=f"frontier-{one.total}",
        )
        for unequal, name, title in (
            ("gini", f"frontier-{one.total}", "mean ALP against the Gini coefficient"),
            ("worst_ratio", f"frontier-worst-{one.total}", "mean ALP against the worst served language"),
        )
    ]
    worst = Fold("The same against the worst served language", figures[1:])
    return [*blocks, Text(said), figures[0], worst, _table(results, one)]


def _said(one: Frontier) -> str:
    """The changes of mean ALP and inequality from beta 1 to beta 0."""
    ends = {point.beta: point for point in one.points if point.series == "beta"}
    fair, rich = ends[0.0], ends[1.0]
    change = f"{fair.alp - rich.alp:+.2f}".replace("-", "−")
    return (
        f"From beta 1 to beta 0 the mean ALP changes by {change} nats per line, the Gini coefficient of x from "
        f"{rich.gini:.4f} to {fair.gini:.4f}, and x of the worst served language from {rich.worst_ratio:.3f} "
        f"({rich.worst}) to {fair.worst_ratio:.3f} ({fair.worst})."
    )


def _table(results: Results, one: Frontier) -> Table:
    columns = [
        Column("kind", "Kind", value=lambda point: NAMES[point.series]),
        Column("name", "Name", value=lambda point: point.label),
        Column("beta", "β", "number"),
        Column("fairness", "Fairness", "number"),
        Column("pieces", "Pieces", "number"),
        Column("languages", "Languages", "number", value=lambda point: len(one.languages)),
        Column("alp", "Mean ALP, held out", "number", 3),
        Column("gini", "Gini of x", "number", 4),
        Column("worst_ratio", "Largest x", "number", 3),
        Column("worst", "Language"),
        Column("worst_name", "Name of it", value=lambda point: results.name(point.worst)),
    ]
    caption = (
        "Mean held-out ALP in nats per line, each language weighted by q; x is held-out ALP over the best of the "
        "language’s own curve. Allocations at the last union that fits, read off the curves; tokenizers as "
        "measured, their pieces being T. From results/vocabularies/{language}/curve.tsv and pieces.npz, "
        "results/tokenizers/{name}/evaluation.tsv."
    )
    title = f"T = {one.total:,}: the frontier"
    return Table.of(f"frontier-{one.total}", title, caption, columns, one.points, folded=True)


def trade_off(frontier: Frontier, unequal: str) -> alt.LayerChart:
    """Both lines, baselines and tokenizers; `unequal` is `gini` or `worst_ratio`."""
    title = {  # lines that fit a phone
        "gini": ["Gini coefficient of x: unequal towards the right"],
        "worst_ratio": ["x of the worst served language", "(nats over those of its best vocabulary)"],
    }[unequal]
    rows = [_row(point, unequal) for point in frontier.points]
    x = alt.X("x:Q", title=title, scale=alt.Scale(zero=False, padding=24), axis=alt.Axis(tickCount=7))
    y = alt.Y("alp:Q", title="mean held-out ALP (nats per line)", scale=alt.Scale(zero=False, padding=16))
    tooltip = [
        alt.Tooltip("label:N", title="allocation"),
        alt.Tooltip("alp:Q", title="mean ALP", format=",.3f"),
        alt.Tooltip("gini:Q", title="Gini of x", format=".4f"),
        alt.Tooltip("worst:N", title="worst served"),
        alt.Tooltip("worst_ratio:Q", title="its x", format=".3f"),
    ]
    kinds = [kind for kind in KINDS if any(row["series"] == kind for row in rows)]
    domain = [KINDS[kind][0] for kind in kinds]
    legend = alt.Legend(title=None, columns=2)  # as many as fit a phone
    colors = alt.Scale(domain=domain, range=[token(KINDS[kind][1]) for kind in kinds])
    shapes = alt.Scale(domain=domain, range=[KINDS[kind][2] for kind in kinds])
    color = alt.Color("kind:N", scale=colors, legend=legend)
    shape = alt.Shape("kind:N", scale=shapes, legend=legend)
    lines = [row for row in rows if row["series"] in LINES]
    others = [row for row in rows if row["series"] not in LINES]
    paths = chart(lines).mark_line(strokeWidth=2)
    paths = paths.encode(x=x, y=y, color=color, detail="kind:N", order="place:Q")
    labels = _labels(rows)

    def numbers(align: str, dx: int, halo: bool) -> alt.Chart:
        # a halo keeps labels readable where they cross the lines
        ink = {"stroke": token("surface"), "strokeWidth": 4} if halo else {}
        texts = chart([row for row in labels if row["align"] == align])
        return texts.mark_text(align=align, dx=dx, dy=-9, **ink).encode(x=x, y=y, text="text:N", color=color)

    def points(values: list[dict[str, Any]], size: int) -> alt.Chart:
        marks = chart(values).mark_point(filled=True, size=size, opacity=1)
        return marks.encode(x=x, y=y, color=color, shape=shape, tooltip=tooltip)

    texts = [numbers(align, dx, halo) for halo in (True, False) for align, dx in (("left", 7), ("right", -7))]
    layers = alt.layer(paths, points(lines, 40), points(others, 120), *texts)
    return layers.properties(width=WIDTH, height=320)


def _labels(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Beta and fairness beside some marks of the lines; marks of one line that lie together share a label.

    A label that would cover one of the other line's, on a phone, is left out; the tooltip has it. Near the right
    edge, labels are left of their mark.
    """
    left, width = _extent(rows, "x")
    _, height = _extent(rows, "alp")
    labels: list[dict[str, Any]] = []
    for row in sorted((row for row in rows if row["marked"]), key=lambda row: (row["series"], row["place"])):
        near = [
            label
            for label in labels
            if abs(label["x"] - row["x"]) < 0.14 * width and abs(label["alp"] - row["alp"]) < 0.06 * height
        ]
        if not near:
            align = "right" if row["x"] - left > 0.8 * width else "left"
            labels.append({**row, "align": align, "last": row["place"]})
        elif near[-1]["series"] == row["series"]:
            near[-1]["last"] = row["place"]
    for label in labels:
        letter = {"beta": "β", "fairness": "φ"}[label["series"]]
        more = f" to {label['last']:g}" if label["last"] > label["place"] else ""
        label["text"] = f"{letter} {label['place']:g}{more}"
    return labels


def _extent(rows: list[dict[str, Any]], axis: str) -> tuple[float, float]:
    """The least value, and the distance to the largest."""
    values = [row[axis] for row in rows]
    return min(values), max(values) - min(values) or 1


def _row(point: Point, unequal: str) -> dict[str, Any]:
    varied = point.beta if point.series == "beta" else point.fairness
    marked = point.series == "beta" and round(10 * varied) in (0, 5, 7, 10)
    marked |= point.series == "fairness" and varied in (4, 16)
    return {
        "series": point.series,
        "kind": KINDS[point.series][0],
        "label": point.label,
        "marked": marked,
        "place": varied,
        "x": round(getattr(point, unequal), 5),
        "alp": round(point.alp, 4),
        "gini": round(point.gini, 5),
        "worst": point.worst,
        "worst_ratio": round(point.worst_ratio, 4),
    }
