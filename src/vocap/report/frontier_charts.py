"""The frontier: mean ALP against how unequally languages are served."""

from typing import Any

import altair as alt

from vocap.allocation.rules import RULES
from vocap.report.figures import WIDTH, token
from vocap.report.frontier import Frontier, Point

KINDS = {
    "beta": ("by beta", "high", "circle"),
    "fairness": ("by fairness weight", "mid", "circle"),
    "uniform": ("uniform", "muted", "square"),
    "proportional": ("in proportion to the text", "muted", "cross"),
    "vocap": ("VOCAP, merged", "high", "diamond"),
    "joint": ("JOINT", "low", "triangle-down"),
    "file": ("from elsewhere", "unknown", "triangle-up"),
    **{
        name: (f"{name.upper()}, merged", "ink", "triangle-right")
        for name, rule in RULES.items()
        if rule.needs_text
    },
}
LINES = ("beta", "fairness")


def trade_off(frontier: Frontier, unequal: str) -> alt.LayerChart:
    """Both lines and all rivals; `unequal` is `gini` or `worst_ratio`."""
    title = {  # in lines that a phone is wide enough for
        "gini": ["Gini coefficient of x: unequal towards the right"],
        "worst_ratio": ["x of the worst served language", "(nats over those of its best vocabulary)"],
    }[unequal]
    rows = [_row(point, unequal) for point in frontier.points]
    x = alt.X("x:Q", title=title, scale=alt.Scale(zero=False, padding=24), axis=alt.Axis(tickCount=7))
    y = alt.Y("alp:Q", title="mean held-out ALP (nats per line)", scale=alt.Scale(zero=False, padding=16))
    tooltip = [
        alt.Tooltip("label:N", title="what"),
        alt.Tooltip("alp:Q", title="mean ALP", format=",.3f"),
        alt.Tooltip("gini:Q", title="Gini of x", format=".4f"),
        alt.Tooltip("worst:N", title="worst served"),
        alt.Tooltip("worst_ratio:Q", title="its x", format=".3f"),
    ]
    kinds = [kind for kind in KINDS if any(row["series"] == kind for row in rows)]
    domain = [KINDS[kind][0] for kind in kinds]
    legend = alt.Legend(title=None, columns=2)  # a phone has room for two
    colors = alt.Scale(domain=domain, range=[token(KINDS[kind][1]) for kind in kinds])
    shapes = alt.Scale(domain=domain, range=[KINDS[kind][2] for kind in kinds])
    color, shape = (
        alt.Color("kind:N", scale=colors, legend=legend),
        alt.Shape("kind:N", scale=shapes, legend=legend),
    )
    lines = [row for row in rows if row["series"] in LINES]
    rivals = [row for row in rows if row["series"] not in LINES]
    paths = alt.Chart(alt.Data(values=lines)).mark_line(strokeWidth=2)
    paths = paths.encode(x=x, y=y, color=color, detail="kind:N", order="place:Q")
    labels = _labels(rows)

    def numbers(align: str, dx: int, halo: bool) -> alt.Chart:
        # the lines run to and fro: a halo keeps what is written on them readable
        ink = {"stroke": token("surface"), "strokeWidth": 4} if halo else {}
        texts = alt.Chart(alt.Data(values=[row for row in labels if row["align"] == align]))
        return texts.mark_text(align=align, dx=dx, dy=-9, **ink).encode(x=x, y=y, text="text:N", color=color)

    def points(values: list[dict[str, Any]], size: int) -> alt.Chart:
        marks = alt.Chart(alt.Data(values=values)).mark_point(filled=True, size=size, opacity=1)
        return marks.encode(x=x, y=y, color=color, shape=shape, tooltip=tooltip)

    texts = [numbers(align, dx, halo) for halo in (True, False) for align, dx in (("left", 7), ("right", -7))]
    layers = alt.layer(paths, points(lines, 40), points(rivals, 120), *texts)
    return layers.properties(width=WIDTH, height=360)


def _labels(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Beta and fairness beside some marks of the lines; marks of one line that lie together share a label.

    A label that would stand on one of the other line's, on a phone, is left out: hovering tells. Near the right
    edge, labels stand to the left of their mark.
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
    """The least value, and how far it is to the largest."""
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
