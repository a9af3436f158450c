"""Charts of named marks: each name beside its mark, where it covers no other name and no mark."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import altair as alt

from vocap.report.page.figures import WIDTH, chart, token

HEIGHT, PAD = 260, 0.1  # px; of the extent of the marks, on each side
# px of the marks' area in a wide page and on a phone, and the size of names for it
AREAS = ((WIDTH - 60, "width < 400 ? 0 : 11"), (280, "width < 400 ? 11 : 0"))
LETTER, LINE = 6.3, 15  # px of a letter and of a line of a name
LOG_TICKS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]


def scatter(
    rows: Sequence[dict[str, Any]],
    titles: tuple[str, str],
    kinds: Mapping[str, tuple[str, str]],
    tooltip: Sequence[alt.Tooltip],
    log: bool = False,
    height: int = HEIGHT,
) -> alt.LayerChart:
    """A mark for each of `rows`, at `x` and `y`, with its `name` where there is space, the first rows' first.

    `titles` are of the axes. `kinds`: colour (a name of the palette) and shape by the `kind` of a row, in the
    order of the legend. Rows with the same `line` are joined in the order of `place`.
    """
    # positions, in the logarithms of values where `log`
    plain = [{axis: math.log(row[axis]) if log else row[axis] for axis in "xy"} for row in rows]
    domains = {axis: _domain([row[axis] for row in plain]) for axis in "xy"}
    position = {}
    for axis, title, channel, ticks in zip("xy", titles, (alt.X, alt.Y), (6, 5), strict=True):
        domain = [math.exp(value) if log else value for value in domains[axis]]
        scale = alt.Scale(type="log" if log else "linear", domain=domain, nice=False)
        marked = alt.Axis(values=LOG_TICKS, format="~g") if log else alt.Axis(tickCount=ticks)
        position[axis] = channel(f"{axis}:Q", title=title, scale=scale, axis=marked)
    # lines, marks and names
    present = [kind for kind in kinds if any(row["kind"] == kind for row in rows)]
    colours, shapes = ([kinds[kind][part] for kind in present] for part in (0, 1))
    legend = alt.Legend(title=None, columns=3)
    look = {
        "color": alt.Color(
            "kind:N", scale=alt.Scale(domain=present, range=list(map(token, colours))), legend=legend
        ),
        "shape": alt.Shape("kind:N", scale=alt.Scale(domain=present, range=shapes), legend=legend),
    }
    joined = [row for row in rows if row.get("line") is not None]
    lines = chart(joined).mark_line(strokeWidth=1, color=token("muted"))
    lines = lines.encode(**position, detail="line:N", order="place:Q")
    points = (
        chart(rows).mark_point(filled=True, size=80, opacity=1).encode(**position, **look, tooltip=list(tooltip))
    )
    layers = [*([lines] if joined else []), points]
    for width, size in AREAS:
        names = chart(_place(rows, plain, domains, width, height))
        place = {key: alt.ExprRef(f"datum.{key}") for key in ("align", "dx", "dy")}
        style = {**place, "baseline": "middle", "fontSize": alt.ExprRef(size)}
        halo = {"stroke": token("surface"), "strokeWidth": 4}  # names cross the lines
        for ink in ({"color": token("surface"), **halo}, {"color": token("ink")}):
            layers.append(names.mark_text(**style, **ink).encode(**position, text="name:N"))
    return alt.layer(*layers).properties(width=WIDTH, height=height)


def _domain(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    pad = PAD * (high - low) or 0.05 * abs(high) or 1.0
    return low - pad, high + pad


def _place(
    rows: Sequence[dict[str, Any]],
    plain: Sequence[dict[str, float]],
    domains: Mapping[str, tuple[float, float]],
    width: int,
    height: int,
) -> list[dict[str, Any]]:
    """The names that have space, with `align`, `dx` and `dy`, in an area of this width and height in px.

    A name without space is left out; the tooltip and the table have it.
    """
    (left, right), (low, high) = domains["x"], domains["y"]
    marks = [
        (width * (row["x"] - left) / (right - left), height * (high - row["y"]) / (high - low)) for row in plain
    ]
    taken = [(a - 6, a + 6, b - 6, b + 6) for a, b in marks]
    labels = []
    for number, (row, (a, b)) in enumerate(zip(rows, marks, strict=True)):
        long = LETTER * len(row["name"])
        sides = {"left": (8, a + 8), "right": (-8, a - 8 - long), "center": (0, a - long / 2)}
        for dy, (align, (dx, start)) in product((0, -14, 14), sides.items()):
            box = (start, start + long, b + dy - LINE / 2, b + dy + LINE / 2)
            inside = start >= 0 and start + long <= width and box[2] >= 0 and box[3] <= height
            free = not any(_overlap(box, other) for place, other in enumerate(taken) if place != number)
            if row["name"] and inside and free and (dy or align != "center"):
                labels.append(
                    {**{key: row[key] for key in ("name", "x", "y")}, "align": align, "dx": dx, "dy": dy}
                )
                taken.append(box)
                break
    return labels


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
