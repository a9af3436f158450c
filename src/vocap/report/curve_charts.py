"""The ALP curves, still and live: Figure 1 of the paper."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from vocap.report.charts import group_color, palette
from vocap.report.figures import WIDTH
from vocap.report.results import Results
from vocap.vocabularies.knee import outline

KNEE = {"shape": "diamond", "size": 110, "filled": True, "opacity": 1}
SIZE_AXIS = alt.Axis(labelExpr="datum.value ? format(datum.value / 1000, ',') + 'K' : '0'", grid=True, tickCount=8)

END_APART = 0.04  # of the curves' height: labels at their ends that are closer than this stand side by side
END_STEP, COLUMNS = 6, 4  # spaces from one to the next, and how many stand so
START = "\u200b"  # of a label: without width, and keeps Vega from trimming the spaces that follow

# what the page tells of a point of the live ALP curves: title, key of its row, decimals of a number
TOLD = [
    ["language", "n", None],
    ["code", "l", None],
    ["size", "s", 0],
    ["ALP, train", "a", 2],
    ["ALP, held out", "h", 2],
    ["tokens per line", "t", 2],
]


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
    """Figure 1 at rest: all languages faint, the chosen ones in full, held-out dashed, knees as diamonds."""
    groups = results.groups()
    rows = curve_rows(results)
    few = [row for row in rows if row["l"] in set(chosen)]
    x = alt.X("s:Q", title="vocabulary size (ids)", axis=SIZE_AXIS)
    y = alt.Y("a:Q", title="ALP (nats per line)", scale=alt.Scale(zero=False))
    hidden = {"detail": "l:N", "x": x}
    faint = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=1, interpolate="monotone")
        .encode(y=y, color=alt.Color("group:N", scale=palette(groups, "-faint"), legend=None), **hidden)
    )
    bold = (
        alt.Chart(alt.Data(values=few))
        .mark_line(strokeWidth=2, interpolate="monotone", point=alt.OverlayMarkDef(size=14))
        .encode(y=y, color=group_color(groups), **hidden)
    )
    held = (
        alt.Chart(alt.Data(values=[row for row in few if "h" in row]))
        .mark_line(strokeWidth=1.5, strokeDash=[4, 3], interpolate="monotone")
        .encode(y=alt.Y("h:Q"), color=group_color(groups, legend=False), **hidden)
    )
    labels = (
        alt.Chart(alt.Data(values=_ends(few)))
        .mark_text(align="left", dx=6, fontSize=12)
        .encode(x=x, y=y, text="text:N", color=group_color(groups, legend=False))
    )
    knees = (
        alt.Chart(alt.Data(values=[row for row in few if "k" in row]))
        .mark_point(**KNEE)
        .encode(x=x, y=y, color=group_color(groups, legend=False))
    )
    layers = alt.layer(faint, bold, held, knees, labels).resolve_scale(color="independent")
    return layers.properties(width=WIDTH, height=400)


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
    return alt.layer(*layers).add_params(*controls).properties(height=420)
