"""The frontier: mean ALP against how unequally languages are served."""

from typing import Any

import altair as alt

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
}
LINES = ("beta", "fairness")


def trade_off(frontier: Frontier, unequal: str) -> alt.LayerChart:
    """Both lines and all rivals; `unequal` is `gini` or `worst_ratio`."""
    title = {
        "gini": "Gini coefficient of x: unequal towards the right",
        "worst_ratio": "x of the worst served language (nats over those of its best vocabulary)",
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
    numbers = alt.Chart(alt.Data(values=[row for row in lines if row["text"]]))
    numbers = numbers.mark_text(align="left", dx=7, dy=-6).encode(x=x, y=y, text="text:N", color=color)

    def points(values: list[dict[str, Any]], size: int) -> alt.Chart:
        marks = alt.Chart(alt.Data(values=values)).mark_point(filled=True, size=size, opacity=1)
        return marks.encode(x=x, y=y, color=color, shape=shape, tooltip=tooltip)

    layers = alt.layer(paths, points(lines, 40), numbers, points(rivals, 120))
    return layers.properties(width=WIDTH, height=360)


def _row(point: Point, unequal: str) -> dict[str, Any]:
    varied = point.beta if point.series == "beta" else point.fairness
    marked = point.series == "beta" and round(10 * varied) in (0, 5, 7, 10)
    marked |= point.series == "fairness" and varied in (4, 16)
    return {
        "series": point.series,
        "kind": KINDS[point.series][0],
        "label": point.label,
        "text": f"{'β' if point.series == 'beta' else 'φ'} {varied:g}" if marked else "",
        "place": varied,
        "x": round(getattr(point, unequal), 5),
        "alp": round(point.alp, 4),
        "gini": round(point.gini, 5),
        "worst": point.worst,
        "worst_ratio": round(point.worst_ratio, 4),
    }
