"""ALP of every language at every size: the paper's Figure 1."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Section, Text, not_run
from vocap.report.page.figures import WIDTH, Figure, chart, group_color, palette
from vocap.report.page.tables import LONG, Column, Table
from vocap.tables.curve import outline

PAPER_FIGURE = ("hi", "fa", "it", "ru")  # the four languages of the paper's Figure 1
KNEE = {"shape": "diamond", "size": 110, "filled": True, "opacity": 1}
SIZE_AXIS = alt.Axis(labelExpr="datum.value ? format(datum.value / 1000, ',') + 'K' : '0'", grid=True, tickCount=8)
END_APART = 0.04  # of the curves' height: labels at their ends that are closer than this are placed side by side
END_STEP, COLUMNS = 6, 4  # spaces from one to the next, and the most side by side
START = "\u200b"  # of a label: without width, and keeps Vega from trimming the spaces that follow
# of a point of the live ALP curves: title, key of its row, decimals of a number
TOOLTIP = [
    ["language", "n", None],
    ["code", "l", None],
    ["size", "s", 0],
    ["ALP, train", "a", 2],
    ["ALP, held out", "h", 2],
    ["tokens per line", "t", 2],
]


def section(results: Results) -> Section:
    """The curves, a summary by language, and every point as a file."""
    blocks: list[Block] = []
    if not any(results.trained(code) for code in results.curves):
        blocks.append(not_run("vocabularies", "No monolingual vocabulary has been trained yet."))
    else:
        chosen = _first_choice(results)
        blocks.append(
            Text(
                "One unigram vocabulary for each language and size. A larger vocabulary segments a language "
                "into fewer pieces and its ALP rises, steeply at first: where the curve flattens, further "
                "pieces are better spent on another language. The knee of a curve is the point that lies "
                "farthest above the straight line between its ends. To choose a size by eye, look at the knee, "
                "and at the rise of the held-out curve beyond it."
            )
        )
        blocks.append(
            Figure(
                "alp-curves",
                "ALP against vocabulary size",
                "ALP in nats per line on each language’s training lines; for the chosen languages also on their "
                "held-out lines (dashed), and a diamond at the knee. Lines of different corpora differ in length, "
                "so compare the shapes of curves, not their heights; “gain” shows each curve from its smallest "
                "size on. The paper’s Figure 1.",
                f"Line chart of {len(results.curves)} languages: ALP rises with vocabulary size for all and "
                "flattens. The numbers are in the table that follows.",
                lambda: curves(results, chosen),
                lambda: live_curves(results, chosen),
                {
                    "languages": [
                        {"code": code, "name": language.name, "group": language.resource}
                        for code, language in sorted(results.languages.items(), key=lambda item: item[1].name)
                        if results.trained(code)
                    ],
                    "chosen": chosen,
                    "groups": results.groups(),
                    "tooltip": TOOLTIP,
                },
                table="curves",
            )
        )
        blocks += [_summary(results), _points(results)]
    return Section("curves", "ALP of every language at every size", "ALP curves", blocks)


def _first_choice(results: Results) -> list[str]:
    """All of a few languages; of many the paper's four, or else the first two languages of each group."""
    trained = [code for code in results.languages if results.trained(code)]
    if len(trained) <= 6:
        return trained
    paper = [code for code in PAPER_FIGURE if results.trained(code)]
    if paper:
        return paper
    members = [
        [code for code in results.languages if results.trained(code) and results.resource(code) == group]
        for group in results.groups()
    ]
    return [code for group in members for code in group[:2]]


def _summary(results: Results) -> Table:
    rows = []
    for code in results.languages:
        found = outline(results.curves.get(code, ()))
        if found:
            trained = len(results.trained(code))
            row = [code, results.name(code), results.resource(code), trained, len(results.curves[code]) - trained]
            for point in (found.start, found.knee, found.end):
                row += [point.size, point.alp, point.alp_heldout] if point else [None, None, None]
            best = found.best_heldout.size if found.best_heldout else None
            rows.append((*row, best, found.end.tokens_per_sentence, found.start_reason, found.end_reason))
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("resource", "Group"),
        Column("trained", "Sizes trained", "number"),
        Column("unreachable", "Out of reach", "number"),
        Column("smallest", "Start", "number"),
        Column("alp_smallest", "ALP there, train", "number", 1),
        Column("alp_heldout_smallest", "held out", "number", 1),
        Column("knee", "Knee", "number"),
        Column("alp_knee", "ALP there, train", "number", 1),
        Column("alp_heldout_knee", "held out", "number", 1),
        Column("largest", "End", "number"),
        Column("alp_largest", "ALP there, train", "number", 1),
        Column("alp_heldout_largest", "held out", "number", 1),
        Column("best_heldout", "Highest held out at", "number"),
        Column("tokens_per_sentence_largest", "Tokens per line at the end", "number", 1),
        Column("start_reason", "Reason of the start"),
        Column("end_reason", "Reason of the end"),
    ]
    caption = (
        "For each language the sizes at the start, knee and end of its curve (ids, the three of SentencePiece "
        "included), and the ALP there in nats per line, on all training lines and on all held-out lines; the "
        "size with the highest held-out ALP; the reason that smaller and larger sizes have no model. The knee "
        "is the point farthest above the straight line from start to end, so it depends on where the curve "
        "ends: compare knees of curves that end alike. From results/vocabularies/{language}/curve.tsv."
    )
    title = "Start, knee and end of each curve"
    return Table("curve-summary", title, caption, columns, rows, folded=len(rows) > LONG)


def _points(results: Results) -> Table:
    rows = [
        (code, point.size, point.pieces, point.alp, point.alp_heldout, point.tokens_per_sentence, point.status)
        for code in results.languages
        for point in results.curves.get(code, ())
    ]
    columns = [
        Column("language", "Code"),
        Column("size", "Size", "number"),
        Column("pieces", "Pieces", "number"),
        Column("alp", "ALP, train", "number", 2),
        Column("alp_heldout", "ALP, held out", "number", 2),
        Column("tokens_per_sentence", "Tokens per line", "number", 2),
        Column("status", "Status"),
    ]
    caption = (
        "All points of all curves: ALP in nats per line. The page shows the first 100 rows, the files have all "
        "of them. From results/vocabularies/{language}/curve.tsv."
    )
    return Table("curves", "Every point", caption, columns, rows, folded=True, limit=100)


def curve_rows(results: Results) -> list[dict[str, Any]]:
    """Points of the ALP curves; thousands, so short keys: l(anguage), s(ize), a(lp), h(eld-out), k(nee)."""
    rows = []
    for code in results.curves:
        points = results.trained(code)
        found = outline(points)
        for point in points:
            row = {"l": code, "s": point.size, "a": round(point.alp, 2), "a0": round(points[0].alp, 2)}
            row |= {"n": results.name(code), "group": results.resource(code)}
            if point.alp_heldout is not None:
                row["h"] = round(point.alp_heldout, 2)
                row["h0"] = round(points[0].alp_heldout or point.alp_heldout, 2)
            if point.tokens_per_sentence is not None:
                row["t"] = round(point.tokens_per_sentence, 2)
            if point == found.knee:
                row["k"] = 1
            rows.append(row)
    return rows


def curves(results: Results, chosen: Sequence[str]) -> alt.LayerChart:
    """The still Figure 1: all languages faint, the chosen ones in full, held-out dashed, knees as diamonds."""
    groups = results.groups()
    rows = curve_rows(results)
    few = [row for row in rows if row["l"] in set(chosen)]
    x = alt.X("s:Q", title="vocabulary size (ids)", axis=SIZE_AXIS)
    y = alt.Y("a:Q", title="ALP (nats per line)", scale=alt.Scale(zero=False))
    hidden = {"detail": "l:N", "x": x}
    faint = chart(rows).mark_line(strokeWidth=1, interpolate="monotone")
    faint = faint.encode(y=y, color=alt.Color("group:N", scale=palette(groups, "-faint"), legend=None), **hidden)
    bold = chart(few).mark_line(strokeWidth=2, interpolate="monotone", point=alt.OverlayMarkDef(size=14))
    bold = bold.encode(y=y, color=group_color(groups), **hidden)
    held = chart([row for row in few if "h" in row]).mark_line(
        strokeWidth=1.5, strokeDash=[4, 3], interpolate="monotone"
    )
    held = held.encode(y=alt.Y("h:Q"), color=group_color(groups, legend=False), **hidden)
    labels = chart(_ends(few)).mark_text(align="left", dx=6, fontSize=12)
    labels = labels.encode(x=x, y=y, text="text:N", color=group_color(groups, legend=False))
    knees = chart([row for row in few if "k" in row]).mark_point(**KNEE)
    knees = knees.encode(x=x, y=y, color=group_color(groups, legend=False))
    layers = alt.layer(faint, bold, held, knees, labels).resolve_scale(color="independent")
    return layers.properties(width=WIDTH, height=360)


def _ends(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last point of each curve and its label, moved right past those that end at the same size just above."""
    if not rows:
        return []
    close = END_APART * (max(row["a"] for row in rows) - min(row["a"] for row in rows))
    ends = sorted({row["l"]: row for row in rows}.values(), key=lambda row: -row["a"])
    labels: list[dict[str, Any]] = []
    place = 0
    for row in ends:
        beside = labels and labels[-1]["s"] == row["s"] and labels[-1]["a"] - row["a"] <= close
        place = (place + 1) % COLUMNS if beside else 0
        labels.append({**row, "text": START + "\u00a0" * (END_STEP * place) + row["l"]})
    return labels


def live_curves(results: Results, chosen: Sequence[str]) -> alt.LayerChart:
    """Figure 1 on the page, whose script sets `chosen` (codes), `shown` (groups), `gain` and `pointed`."""
    groups = results.groups()
    data = alt.Data(values=curve_rows(results))
    controls = [
        alt.param(name="chosen", value=list(chosen)),
        alt.param(name="shown", value=list(groups)),
        alt.param(name="gain", value=False),
        alt.param(name="pointed", value=False),
    ]
    # the page interprets expressions: thousands of points pass as few as can be, conditions see few points only,
    # and those to point at are made when a pointer comes
    gain = "gain ? datum.a - datum.a0 : datum.a"
    every = alt.Chart(data).transform_filter("indexof(shown, datum.group) >= 0 || indexof(chosen, datum.l) >= 0")
    standing = alt.Chart(data).transform_filter("indexof(chosen, datum.l) >= 0")
    few = standing.transform_calculate(y=gain, z="gain ? datum.h - datum.h0 : datum.h")
    hover = alt.selection_point(
        name="hover", fields=["l"], nearest=True, on="pointerover", clear="pointerout", empty=False
    )
    x = alt.X("s:Q", title="vocabulary size (ids)", axis=SIZE_AXIS)
    y = alt.Y("y:Q", title="ALP (nats per line)", scale=alt.Scale(zero=False))
    color = alt.Color("group:N", scale=palette(groups), legend=alt.Legend(title="resource group", symbolOpacity=1))
    lines = {"x": x, "y": y, "detail": "l:N", "color": color}
    bold = {"strokeWidth": 2.2, "interpolate": "monotone"}
    faint = every.transform_calculate(y=gain).mark_line(strokeWidth=1, opacity=0.28, interpolate="monotone")
    held = few.transform_filter("isValid(datum.h)").mark_line(
        strokeDash=[4, 3], strokeWidth=1.5, interpolate="monotone"
    )
    knees = few.transform_filter("datum.k").mark_point(**KNEE).encode(x=x, y=y, color=color)
    # a view name of our own: altair would count one up over the life of the process
    points = every.properties(name="points").transform_filter("pointed").transform_calculate(y=gain)
    points = points.mark_point(filled=True, size=46, opacity=0, tooltip=alt.TooltipContent("data"))
    hovered = every.transform_filter(hover).transform_calculate(y=gain)
    downwards = [alt.SortField("y", order="descending")]
    labels = (  # as _ends
        few.transform_joinaggregate(top="max(y)", bottom="min(y)")
        .transform_joinaggregate(last="max(s)", groupby=["l"])
        .transform_filter("datum.s == datum.last")
        .transform_window(above="lag(y)", beside="lag(s)", sort=downwards)
        .transform_calculate(
            apart=f"datum.s != datum.beside || datum.above - datum.y > {END_APART} * (datum.top - datum.bottom)"
        )
        .transform_calculate(first="datum.apart ? 1 : 0")
        .transform_window(stack="sum(first)", sort=downwards)
        .transform_window(place="row_number()", groupby=["stack"], sort=downwards)
        .transform_calculate(spaces=f"{END_STEP} * ((datum.place - 1) % {COLUMNS})")
        .transform_calculate(text=f"'{START}' + pad(datum.l, length(datum.l) + datum.spaces, '\u00a0', 'left')")
        .mark_text(align="left", dx=6, fontSize=12)
        .encode(x=x, y=y, text="text:N", color=color)
    )
    layers = (
        faint.encode(**lines),
        few.mark_line(**bold).encode(**lines),
        held.encode(**{**lines, "y": alt.Y("z:Q")}),
        knees,
        hovered.mark_line(**bold, point=alt.OverlayMarkDef(size=46)).encode(**lines),
        points.encode(x=x, y=y, color=color).add_params(hover),
        labels,
    )
    return alt.layer(*layers).add_params(*controls).properties(height=380)
