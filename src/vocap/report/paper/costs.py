"""Figure 5: what models reach for what their pre-training costs, from models exported on the way."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import altair as alt

from vocap.finetuning.metrics import MEASURES, task_score
from vocap.report.blocks import counted
from vocap.report.figures import WIDTH, Figure
from vocap.report.model_charts import COLOURS, DASHES
from vocap.report.models import Model
from vocap.report.paper.published import METRIC_NAMES, TASK_NAMES
from vocap.report.paper.runs import origins
from vocap.report.results import Results
from vocap.report.tables import Column, Table

TASKS = ("xnli", "mlqa")  # of the paper's figure


@dataclass(frozen=True)
class CostPoint:
    """One state of one model on one task: its steps and device hours so far, and the score it reached there."""

    task: str
    model: str
    step: int
    hours: float
    score: float  # percent, as the paper's average counts the task: of question answering the mean of F1 and EM


def cost_points(results: Results) -> list[CostPoint]:
    """Every fine-tuned state of the models that have two or more of a task, by task, model and step.

    The paper's two tasks come first. A state without hours in its model's metrics is left out.
    """
    found = []
    for name, origin in origins(results).items():
        hours = _hours(results, origin.model, origin.step)
        if hours is None:
            continue
        step = origin.step or results.models[origin.model].rows[-1]["step"]
        by_task: dict[str, dict[str, float]] = {}
        for (task, metric), value in results.finetuned[name].scores.items():
            by_task.setdefault(task, {})[metric] = value
        found += [
            CostPoint(task, origin.model, step, hours, task_score(task, measured))
            for task, measured in by_task.items()
        ]
    states = Counter((point.task, point.model) for point in found)
    order = [*TASKS, *(task for task in MEASURES if task not in TASKS)]
    several = [point for point in found if states[point.task, point.model] > 1]
    return sorted(several, key=lambda point: (order.index(point.task), point.model, point.step))


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


def cost_figures(points: Sequence[CostPoint]) -> list[Figure]:
    """A panel a task, with a line a model."""
    tasks = dict.fromkeys(point.task for point in points)
    return [_figure(task, [point for point in points if point.task == task]) for task in tasks]


def _figure(task: str, points: Sequence[CostPoint]) -> Figure:
    models = len({point.model for point in points})
    return Figure(
        f"paper-figure-5-{task}",
        f"Figure 5: {TASK_NAMES[task]} against the cost of pre-training",
        "Each model at the steps that it was exported at and fine-tuned from: hours of training on all its "
        f"devices, and its {TASK_NAMES[task]} ({_measure(task)}). Hours of different devices do not compare.",
        f"Line chart of {counted(models, 'model')} over hours of training.",
        lambda: cost_chart(points),
        table="paper-costs",
    )


def _measure(task: str) -> str:
    """What a score of the task is, in words."""
    names = [METRIC_NAMES[metric] for metric in MEASURES[task]]
    return names[0] if len(names) == 1 else f"mean of {' and '.join(names)}"


def cost_chart(points: Sequence[CostPoint]) -> alt.Chart:
    """Score of one task against hours, a line a model."""
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
    title = f"{TASK_NAMES[points[0].task]}, {_measure(points[0].task)} (percent)"
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=40))
        .encode(
            x=alt.X("hours:Q", title="hours of pre-training, all devices", axis=alt.Axis(grid=True, tickCount=8)),
            y=alt.Y("score:Q", title=title, scale=alt.Scale(zero=False)),
            color=alt.Color("model:N", scale=colours, legend=legend),
            strokeDash=alt.StrokeDash("model:N", scale=dashes, legend=legend),
            tooltip=[
                "model:N",
                alt.Tooltip("step:Q", format=",d"),
                alt.Tooltip("hours:Q", format=",.3f"),
                alt.Tooltip("score:Q", title="score", format=".2f"),
            ],
        )
        .properties(width=WIDTH, height=320)
    )


def cost_table(points: Sequence[CostPoint]) -> Table:
    """The points as a table."""
    columns = [
        Column("task", "Task"),
        Column("model", "Model"),
        Column("step", "Step", "number"),
        Column("hours", "Hours", "number", 3),
        Column("score", "Score", "number", 2),
    ]
    caption = (
        "Hours of pre-training on all devices, and the score of a state: accuracy, F1, of question answering the "
        "mean of F1 and EM. A model’s states are entries of finetuning.models with a step of its export_steps. "
        "From results/pretraining and results/finetuning."
    )
    rows = [(TASK_NAMES[point.task], point.model, point.step, point.hours, point.score) for point in points]
    return Table("paper-costs", "Figure 5 in numbers", caption, columns, rows)
