"""The charts, as altair objects: data in, chart out.

Colours are tokens of the page's palette (see figures.py). Still charts avoid opacity and clipping.
"""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from vocap.report.comparing import Group, Pair
from vocap.report.figures import WIDTH, token
from vocap.report.results import Allocation, Results
from vocap.tokenizers.evaluation import RESOURCES

SHAPES = {"low": "circle", "mid": "square", "high": "triangle-up"}  # groups are told apart without colour too
CODES_SIZE = alt.ExprRef("width < 450 ? 0 : 10")  # no codes beside the dots on a phone: they would overlap


def palette(groups: Sequence[str], suffix: str = "") -> alt.Scale:
    """A colour for each resource group; "-faint" as suffix gives the pale ones."""
    return alt.Scale(
        domain=list(groups), range=[token((name if name in RESOURCES else "unknown") + suffix) for name in groups]
    )


def group_color(groups: Sequence[str], legend: bool = True) -> alt.Color:
    """The colour of a mark by its row's `group`."""
    shown = alt.Legend(title="resource group") if legend else None
    return alt.Color("group:N", scale=palette(groups), legend=shown)


def _group_shape(groups: Sequence[str]) -> alt.Shape:
    scale = alt.Scale(domain=list(groups), range=[SHAPES.get(name, "diamond") for name in groups])
    return alt.Shape("group:N", scale=scale, legend=alt.Legend(title="resource group"))


def group_means(groups: Sequence[Group]) -> alt.LayerChart:
    """Figure 4: mean held-out ALP of each resource group, JOINT and VOCAP joined by a line."""
    rows = [
        {
            "row": f"{one.resource}, {one.pair.label}",
            "group": one.resource,
            "vocap": round(one.vocap, 3),
            "joint": round(one.joint, 3),
            "gain": round(one.gain, 3),
            "label": f"{one.gain:+.2f}".replace("-", "−"),
            "languages": one.languages,
            "best": round(max(one.vocap, one.joint), 3),
        }
        for one in groups
    ]
    names = alt.Axis(labelFontSize=12, labelLimit=320)
    y = alt.Y("row:N", sort=[row["row"] for row in rows], title=None, axis=names)
    extent = [value for row in rows for value in (row["vocap"], row["joint"])]
    pad = 0.08 * (max(extent) - min(extent) or 1)
    domain = [min(extent) - pad, max(extent) + 2.2 * pad]
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    title = "mean ALP on held-out lines (nats per line)"
    ends = [{**row, "kind": kind, "alp": row[kind.lower()]} for row in rows for kind in ("JOINT", "VOCAP")]
    kinds = alt.Scale(domain=["JOINT", "VOCAP"], range=[token("muted"), token("accent")])
    shapes = alt.Scale(domain=["JOINT", "VOCAP"], range=["circle", "diamond"])
    data = alt.Data(values=rows)
    rules = (
        alt.Chart(data)
        .mark_rule(strokeWidth=2, color=token("line"))
        .encode(x=alt.X("joint:Q", scale=scale, title=title, axis=alt.Axis(tickCount=8)), x2="vocap:Q", y=y)
    )
    dots = (
        alt.Chart(alt.Data(values=ends))
        .mark_point(filled=True, size=110, opacity=1)
        .encode(
            x=alt.X("alp:Q", scale=scale, title=title, axis=alt.Axis(tickCount=8)),
            y=y,
            color=alt.Color("kind:N", scale=kinds, legend=alt.Legend(title=None)),
            shape=alt.Shape("kind:N", scale=shapes, legend=alt.Legend(title=None)),
            tooltip=[
                alt.Tooltip("row:N", title="group"),
                alt.Tooltip("kind:N", title="tokenizer"),
                alt.Tooltip("alp:Q", title="mean ALP", format=",.2f"),
                alt.Tooltip("gain:Q", title="VOCAP − JOINT", format="+,.2f"),
                alt.Tooltip("languages:Q", title="languages"),
            ],
        )
    )
    text = (
        alt.Chart(data).mark_text(align="left", dx=10).encode(x=alt.X("best:Q", scale=scale), y=y, text="label:N")
    )
    return alt.layer(rules, dots, text).properties(width=WIDTH, height=30 * len(rows))


def differences(results: Results, pair: Pair) -> alt.LayerChart:
    """Every language's difference of ALP in percent of the second's, one row a group, dots spread apart."""
    difference = f"{pair.vocap} − {pair.joint}"
    groups = [name for name in results.groups() if any(one.resource == name for one in pair.compared)]
    gains = [0.0, *(one.percent for one in pair.compared)]
    extent = max(gains) - min(gains) or 1
    width = extent / 46  # what one dot takes of the axis
    scale = alt.Scale(domain=[min(gains) - extent / 12, max(gains) + extent / 12], nice=False)
    rows, means = [], []
    for group in groups:
        members = sorted((one for one in pair.compared if one.resource == group), key=lambda one: one.percent)
        lanes = _lanes([one.percent for one in members], width)
        edge = {members[0].language, members[-1].language}
        rows += [
            {
                "group": group,
                "language": results.name(one.language),
                "code": one.language,
                "percent": round(one.percent, 4),
                "gain": round(one.gain, 4),
                "vocap": round(one.vocap, 3),
                "joint": round(one.joint, 3),
                "lane": lane,
                "label": one.language if one.language in edge else "",
                "left": one is members[0],
            }
            for one, lane in zip(members, lanes, strict=True)
        ]
        average = sum(one.percent for one in members) / len(members)
        means.append({"group": group, "mean": round(average, 4), "lane": 0})
    y = alt.Y("group:N", sort=groups, title=None, axis=alt.Axis(labelFontSize=12, grid=True))
    x = alt.X(
        "percent:Q",
        title=[difference, f"percent of each language’s ALP under {pair.joint}"],
        scale=scale,
        axis=alt.Axis(tickCount=8),
    )
    reach = max(4, *(abs(row["lane"]) + 1 for row in rows))
    offset = alt.YOffset("lane:Q", scale=alt.Scale(domain=[-reach, reach]))
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color=token("muted")).encode(x="zero:Q")
    ticks = (
        alt.Chart(alt.Data(values=means))
        .mark_point(shape="stroke", angle=90, size=3600, strokeWidth=2, color=token("muted"), opacity=1)
        .encode(x="mean:Q", y=y, yOffset=offset, tooltip=["group:N", alt.Tooltip("mean:Q", format="+.3f")])
    )
    dots = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=52, opacity=1)
        .encode(
            x=x,
            y=y,
            yOffset=offset,
            color=group_color(groups, legend=False),
            shape=alt.Shape(
                "group:N",
                scale=alt.Scale(domain=groups, range=[SHAPES.get(name, "diamond") for name in groups]),
                legend=None,
            ),
            tooltip=[
                "language:N",
                "code:N",
                alt.Tooltip("percent:Q", title="percent", format="+.2f"),
                alt.Tooltip("gain:Q", title=f"{difference}, nats", format="+,.2f"),
                alt.Tooltip("vocap:Q", title=f"ALP, {pair.vocap}", format=",.2f"),
                alt.Tooltip("joint:Q", title=f"ALP, {pair.joint}", format=",.2f"),
            ],
        )
    )

    def edges(left: bool) -> alt.Chart:
        values = [row for row in rows if row["label"] and row["left"] is left]
        return (
            alt.Chart(alt.Data(values=values))
            .mark_text(align="right" if left else "left", dx=-8 if left else 8)
            .encode(x=x, y=y, yOffset=offset, text="label:N")
        )

    return alt.layer(zero, ticks, dots, edges(True), edges(False)).properties(width=WIDTH, height=90 * len(groups))


def _lanes(places: list[float], width: float) -> list[int]:
    """A lane for each of the ascending places, no two in a lane nearer than `width`: 0, 1, -1, 2 ..."""
    last: list[float] = []  # of each lane
    lanes = []
    for place in places:
        lane = next((lane for lane, end in enumerate(last) if place - end >= width), len(last))
        last[lane : lane + 1] = [place]
        lanes.append((lane + 1) // 2 * (1 if lane % 2 else -1))
    return lanes


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
    labels = _labels(rows)
    x = alt.X(
        "x:Q",
        title="the paper's allocation (thousand pieces, T = 500K)",
        scale=alt.Scale(type="log", nice=False, padding=14),
        axis=alt.Axis(values=[1, 2, 3, 5, 7, 10, 15, 20, 30], format="~g"),
    )
    y = alt.Y(
        "y:Q",
        title="this run (thousand pieces)",
        scale=alt.Scale(type="log", nice=False, padding=14),
        axis=alt.Axis(values=[0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50], format="~g"),
    )
    dots = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=48, opacity=1)
        .encode(
            x=x,
            y=y,
            color=group_color(groups),
            shape=_group_shape(groups),
            tooltip=[
                "language:N",
                "code:N",
                alt.Tooltip("paper:Q", title="paper, thousands"),
                alt.Tooltip("size:Q", title="this run, thousands"),
            ],
        )
    )
    text = (
        alt.Chart(alt.Data(values=labels))
        .mark_text(align="left", dx=6, dy=-5, fontSize=CODES_SIZE, color=token("muted"))
        .encode(x=x, y=y, text="code:N")
    )
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


def _labels(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Codes beside their dots, largest first, each only where nothing stands yet; hovering tells the rest.

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
