"""The page's first figure: tokenizers of one T against one of them, by resource group."""

import altair as alt

from vocap.report.figures import WIDTH, token
from vocap.report.same_size import Comparison
from vocap.tokenizers.evaluation import ALL

COLOURS = ("high", "low", "mid", "unknown", "ink")  # of the tokenizers in their order, again from the start
BY_Q = "all, by q"
NARROW = "width < 400"  # px of the bars and numbers: on a phone
ROW, LABEL = 19, 0.62  # height of a bar's row, px; width of the numbers beside the bars, of that of the bars


def standings(comparison: Comparison) -> alt.LayerChart:
    """A bar for each group and tokenizer but the reference, which is the line at 0; numbers at the right."""
    reference = comparison.reference.name
    names = [one.name for one in comparison.tokenizers if one.name != reference]
    rows = []
    for group in comparison.groups:
        rows += [_row(group, one, one.percent, one.nats) for one in comparison.of(group) if one.tokenizer in names]
    if all(one.percent_q is not None for one in comparison.of(ALL)):
        rows += [
            _row(BY_Q, one, one.percent_q, one.nats_q) for one in comparison.of(ALL) if one.tokenizer in names
        ]
    values = [0.0, *(row["percent"] for row in rows)]
    low, high = min(values), max(values)
    extent = (high - low) or 1.0
    scale = alt.Scale(domain=[low - 0.03 * extent, high + LABEL * extent], nice=False)
    order = _spaced(rows)
    names_axis = alt.Axis(labelFontSize=12, labelLimit=260, ticks=False)
    y = alt.Y("row:N", scale=alt.Scale(domain=order), title=None, axis=names_axis)
    x = alt.X(
        "percent:Q",
        scale=scale,
        title=[
            "percent of each language’s ALP",
            f"({reference} at 0)",
        ],  # in lines that a phone is wide enough for
        axis=alt.Axis(values=_ticks(low, high), labelExpr="datum.value ? datum.label : '0'", format="+~g"),
    )
    colour = alt.Color(
        "tokenizer:N",
        scale=alt.Scale(domain=names, range=[token(COLOURS[k % len(COLOURS)]) for k in range(len(names))]),
        legend=None,  # each row has the name
    )
    tooltip = [
        alt.Tooltip("tokenizer:N"),
        alt.Tooltip("group:N"),
        alt.Tooltip("percent:Q", title="percent of ALP", format="+.3f"),
        alt.Tooltip("nats:Q", title="nats per line", format="+.3f"),
        alt.Tooltip("better:Q", title="better in"),
        alt.Tooltip("languages:Q", title="of languages"),
    ]
    data = alt.Data(values=rows)
    bars = alt.Chart(data).mark_bar(height=11).encode(x=x, y=y, color=colour, tooltip=tooltip)
    zero = (
        alt.Chart(alt.Data(values=[{"zero": 0}]))
        .mark_rule(color=token("muted"))
        .encode(x=alt.X("zero:Q", scale=scale))
    )
    long = alt.Chart(data).mark_text(align="right", dx=-2, fontSize=alt.ExprRef(f"{NARROW} ? 0 : 11"))
    short = alt.Chart(data).mark_text(align="right", dx=-2, fontSize=alt.ExprRef(f"{NARROW} ? 11 : 0"))
    right = {"x": alt.value("width"), "y": y}
    numbers = [long.encode(**right, text="said:N"), short.encode(**right, text="short:N")]
    return alt.layer(bars, zero, *numbers).properties(width=WIDTH, height=ROW * len(order))


def _row(group: str, one, percent: float, nats: float) -> dict:
    said = f"{percent:+.2f} %, {nats:+.2f} nats"
    if group != BY_Q:
        said += f", {one.better} of {one.languages}"
    return {
        "row": f"{group}: {one.tokenizer}",
        "group": group,
        "tokenizer": one.tokenizer,
        "percent": round(percent, 4),
        "nats": round(nats, 4),
        "better": one.better,
        "languages": one.languages,
        "said": said.replace("-", "−"),
        "short": f"{percent:+.2f} %".replace("-", "−"),
    }


def _spaced(rows: list[dict]) -> list[str]:
    """The rows of the axis, an empty one between two groups."""
    order: list[str] = []
    for before, row in zip([None, *rows], rows, strict=False):
        if before and before["group"] != row["group"]:
            order.append(" " * (1 + len(order)))
        order.append(row["row"])
    return order


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers from `low` to `high`, 0 among them."""
    rough = (high - low) / 5 or 0.2
    step = next(base * 10.0**power for power in range(-6, 7) for base in (1, 2, 5) if base * 10.0**power >= rough)
    first, last = int(low / step) - 1, int(high / step) + 1
    return [round(k * step, 6) for k in range(first, last + 1) if low <= k * step <= high]
