"""The figure of a sweep: tokens saved, lines changed and pieces never used, over the number of new pieces.

It is drawn as the report's still figures: one font and no opacity, so that its bytes are the same in every run.
"""

import json
from collections.abc import Sequence

import altair as alt
import vl_convert

from vocap.adapt.sweep import KNEE, Point

FONT = "Liberation Sans, Arial, sans-serif"  # vl-convert carries it, so files look alike everywhere
LINE, MARKED = "#1f5fa8", "#c4510a"
WIDTH, HEIGHT = 560, 180  # px
PANELS = {
    "saved_share": "tokens saved",
    "changed_share": "lines of other languages that change",
    "never_used": "new pieces never used",
}


def draw(points: Sequence[Point], language: str) -> bytes:
    """The figure as SVG, a panel a measure that the points have; the knee is marked."""
    known = [point for point in points if point.saved_share is not None]
    panels = []
    for key, title in PANELS.items():
        rows = [{"n": p.pieces, "y": getattr(p, key), "knee": p.status == KNEE} for p in known]
        if any(row["y"] is None for row in rows):
            continue
        y = alt.Y("y:Q", title=title, axis=alt.Axis(format=".1%" if key.endswith("share") else ",d"))
        chart = alt.Chart(alt.Data(values=rows)).encode(
            x=alt.X("n:Q", title=f"new pieces of {language}", axis=alt.Axis(format=",d")), y=y
        )
        knee = chart.transform_filter("datum.knee").mark_point(
            shape="diamond", size=120, filled=True, color=MARKED, opacity=1
        )
        line = chart.mark_line(point={"color": LINE, "opacity": 1}, color=LINE)
        panels.append((line + knee).properties(width=WIDTH, height=HEIGHT))
    figure = alt.vconcat(*panels).configure(font=FONT, background="white")
    return vl_convert.vegalite_to_svg(json.dumps(figure.to_dict())).encode() + b"\n"
