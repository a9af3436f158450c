"""Curves of models in training, as altair charts."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from vocap.report.figures import WIDTH, token
from vocap.report.models import Model

COLOURS = [token(name) for name in ("accent", "low", "mid", "unknown")]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [1, 4]]  # four models each: 24 are told apart


def curve_rows(models: Sequence[Model]) -> list[dict[str, Any]]:
    """Bits per byte of every line of metrics, with its step and minutes."""
    return [
        {
            "model": model.name,
            "step": row["step"],
            "minutes": round(row.get("seconds", 0.0) / 60, 4),
            "bits": round(row["bits_per_byte"], 5),
            "exact": round(row["exact_loss"], 4),
            "sampled": round(row["loss"], 4) if row.get("loss") is not None else None,
        }
        for model in models
        for row in model.rows
        if row["bits_per_byte"] is not None and row["exact_loss"] is not None
    ]


def curves(models: Sequence[Model], against: str, title: str) -> alt.LayerChart:
    """Exact held-out bits per byte against `against` (step or minutes), a line a model, named at its end."""
    rows = curve_rows(models)
    names = [model.name for model in models]
    ends = {row["model"]: row for row in rows}
    axis = alt.Axis(grid=True, tickCount=8, format=",~r")
    x = alt.X(f"{against}:Q", title=title, axis=axis)
    y = alt.Y("bits:Q", title="exact loss (bits per byte)", scale=alt.Scale(zero=False))
    colours = alt.Scale(domain=names, range=[COLOURS[place % len(COLOURS)] for place in range(len(names))])
    dashes = alt.Scale(
        domain=names, range=[DASHES[place // len(COLOURS) % len(DASHES)] for place in range(len(names))]
    )
    legend = alt.Legend(title=None, columns=4, symbolType="stroke")
    lines = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=18))
        .encode(
            x=x,
            y=y,
            color=alt.Color("model:N", scale=colours, legend=legend),
            strokeDash=alt.StrokeDash("model:N", scale=dashes, legend=legend),
            tooltip=[
                "model:N",
                alt.Tooltip("step:Q", format=",d"),
                alt.Tooltip("minutes:Q", format=",.2f"),
                alt.Tooltip("bits:Q", title="bits per byte", format=",.4f"),
                alt.Tooltip("exact:Q", title="nats per token, exact", format=",.3f"),
                alt.Tooltip("sampled:Q", title="nats per token, in training", format=",.3f"),
            ],
        )
    )
    labels = (
        alt.Chart(alt.Data(values=[ends[name] for name in names if name in ends]))
        .mark_text(align="left", dx=6, fontSize=11)
        .encode(x=x, y=y, text="model:N", color=alt.Color("model:N", scale=colours, legend=legend))
    )
    shown = alt.layer(lines, labels) if len(names) <= 6 else lines
    return shown.properties(width=WIDTH, height=320)
