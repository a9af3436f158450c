"""Figure 5: what models reach for what their pre-training costs, from models exported on the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import altair as alt

from vocap.finetuning.metrics import MEASURES, task_score
from vocap.report.figures import WIDTH, Figure
from vocap.report.model_charts import COLOURS, DASHES
from vocap.report.models import Model
from vocap.report.paper.runs import origins
from vocap.report.results import Results
from vocap.report.tables import Column, Table


@dataclass(frozen=True)
class CostPoint:
    """One state of one model: its steps and device hours so far, and the mean over tasks of what it reached."""

    model: str
    step: int
    hours: float
    score: float


def cost_points(results: Results) -> tuple[list[CostPoint], tuple[str, ...]]:
    """Every fine-tuned state whose cost is known, by model and step, and the tasks that all of them have."""
    found = {
        name: origin for name, origin in origins(results).items() if _hours(results, origin.model, origin.step)
    }
    scored = [{task for task, _ in results.finetuned[name].scores} for name in found]
    tasks = tuple(task for task in MEASURES if scored and all(task in one for one in scored))
    points = []
    for name, origin in found.items():
        scores = results.finetuned[name].scores
        values = [
            task_score(task, {metric: value for (one, metric), value in scores.items() if one == task})
            for task in tasks
        ]
        step = origin.step or results.models[origin.model].rows[-1]["step"]
        if values:
            hours = _hours(results, origin.model, origin.step)
            points.append(CostPoint(origin.model, step, hours, sum(values) / len(values)))
    return sorted(points, key=lambda point: (point.model, point.step)), tasks


def _hours(results: Results, name: str, step: int | None) -> float | None:
    """Hours of all devices up to a step, from the metrics: between two lines in proportion to the steps."""
    model = results.models[name]
    rows = [(0, 0.0), *((row["step"], row["seconds"]) for row in model.rows if row.get("seconds") is not None)]
    if len(rows) == 1:
        return None
    wanted = rows[-1][0] if step is None else step
    for (before, start), (after, end) in pairwise(rows):
        if before < wanted <= after:
            seconds = start + (end - start) * (wanted - before) / (after - before)
            return seconds * _processes(model) / 3600
    return None


def _processes(model: Model) -> int:
    count = model.setting("processes")
    return count if isinstance(count, int) else 1


def cost_figure(points: Sequence[CostPoint], tasks: Sequence[str]) -> Figure:
    """The points as lines, one a model."""
    names = ", ".join(tasks)
    return Figure(
        "paper-figure-5",
        "Figure 5: performance against the cost of pre-training",
        "Each model at the steps that it was exported at and fine-tuned from: hours of training on all its "
        f"devices, and the mean over tasks ({names}; question answering as the mean of F1 and EM). Hours of "
        "different devices do not compare.",
        f"Line chart of {len({point.model for point in points})} models over hours of training.",
        lambda: cost_chart(points),
        table="paper-costs",
    )


def cost_chart(points: Sequence[CostPoint]) -> alt.Chart:
    """Score against hours, a line a model."""
    names = list(dict.fromkeys(point.model for point in points))
    rows = [
        {"model": point.model, "step": point.step, "hours": round(point.hours, 5), "score": round(point.score, 3)}
        for point in points
    ]
    colours = alt.Scale(domain=names, range=[COLOURS[place % len(COLOURS)] for place in range(len(names))])
    dashes = alt.Scale(
        domain=names, range=[DASHES[place // len(COLOURS) % len(DASHES)] for place in range(len(names))]
    )
    legend = alt.Legend(title=None, columns=4, symbolType="stroke")
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=40))
        .encode(
            x=alt.X("hours:Q", title="hours of pre-training, all devices", axis=alt.Axis(grid=True, tickCount=8)),
            y=alt.Y("score:Q", title="mean over tasks (percent)", scale=alt.Scale(zero=False)),
            color=alt.Color("model:N", scale=colours, legend=legend),
            strokeDash=alt.StrokeDash("model:N", scale=dashes, legend=legend),
            tooltip=[
                "model:N",
                alt.Tooltip("step:Q", format=",d"),
                alt.Tooltip("hours:Q", format=",.3f"),
                alt.Tooltip("score:Q", title="mean over tasks", format=".2f"),
            ],
        )
        .properties(width=WIDTH, height=320)
    )


def cost_table(points: Sequence[CostPoint], tasks: Sequence[str]) -> Table:
    """The points as a table."""
    columns = [
        Column("model", "Model"),
        Column("step", "Step", "number"),
        Column("hours", "Hours", "number", 3),
        Column("score", "Mean over tasks", "number", 2),
    ]
    caption = (
        f"Hours of pre-training on all devices and the mean over {', '.join(tasks) or 'no task'}. A model’s "
        "states are entries of finetuning.models with a step of its export_steps. From results/pretraining and "
        "results/finetuning."
    )
    rows = [(point.model, point.step, point.hours, point.score) for point in points]
    return Table("paper-costs", "Figure 5 in numbers", caption, columns, rows)
