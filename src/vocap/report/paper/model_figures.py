"""Figures 5 and 6: scores against the cost of pre-training, and by resource group."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import altair as alt

from vocap.allocation.rules import RULES
from vocap.finetuning.metrics import task_score
from vocap.finetuning.tasks import TASKS as XTREME_TASKS
from vocap.report.data import as_number
from vocap.report.data.models import Finetuned
from vocap.report.data.results import Results, order_groups
from vocap.report.page.blocks import counted
from vocap.report.page.figures import PAIR, WIDTH, Figure, chart, joined_pairs, line_scales
from vocap.report.page.tables import Column, Table
from vocap.report.paper.published import METRIC_NAMES, TASK_NAMES, paper_languages
from vocap.report.paper.runs import Run, final_states, of_paper_beta, origins

GROUP_MEASURES = {"xnli": "acc", "panx": "f1"}  # the figure's tasks
TASKS = ("xnli", "mlqa")  # of the paper's figure


ALLOCATED = ("vocap", *(name for name, rule in RULES.items() if rule.needs_text))  # kinds of an allocation


@dataclass(frozen=True)
class GroupScore:
    """Means over the languages of one resource group that both models have scores in, in percent."""

    task: str
    total: str  # T for titles
    vocap: str  # the models' names
    joint: str
    resource: str
    languages: tuple[str, ...]
    vocap_score: float
    joint_score: float

    @property
    def gain(self) -> float:
        return self.vocap_score - self.joint_score


def group_scores(results: Results, runs: Sequence[Run]) -> list[GroupScore]:
    """Every VOCAP model against the first JOINT one of the same T, loss, width and steps, by task and group.

    JOINT models are in the order of their tokenizers in the configuration. A language of no resource group is in
    no mean. VOCAP means any allocation, as in Figure 4; one by sizes has the paper's beta.
    """
    tuned = final_states(results)
    order = {name: place for place, name in enumerate(results.tokenizers)}
    scored = [run for run in runs if run.name in tuned and of_paper_beta(run)]
    scored.sort(key=lambda run: (run.total or 0, order.get(run.tokenizer, len(order)), run.name))
    found = []
    for task in GROUP_MEASURES:
        for run in scored:
            baselines = [other for other in scored if other.kind == "joint" and _alike(run, other)]
            if run.kind in ALLOCATED and baselines:
                found += _compare(results, task, run, baselines[0], tuned)
    return found


def _alike(run: Run, other: Run) -> bool:
    """Whether two models differ in their tokenizers alone, which have the same T."""
    return run.total is not None and all(
        getattr(run, name) == getattr(other, name) for name in ("total", "loss", "k", "half", "steps")
    )


def _compare(results: Results, task: str, vocap: Run, joint: Run, tuned: dict[str, Finetuned]) -> list[GroupScore]:
    mine, theirs = (_by_language(tuned[run.name], task) for run in (vocap, joint))
    groups: dict[str, list[str]] = {}
    for code in mine:
        if code in theirs and (resource := _resource(results, code)):
            groups.setdefault(resource, []).append(code)
    found = []
    for resource in order_groups(groups):
        codes = tuple(groups[resource])
        means = (fmean(scores[code] for code in codes) for scores in (mine, theirs))
        found.append(GroupScore(task, vocap.size, vocap.name, joint.name, resource, codes, *means))
    return found


def _by_language(model: Finetuned, task: str) -> dict[str, float]:
    reached = model.tasks.get(task)
    languages = reached.languages if reached else {}
    return {code: row[GROUP_MEASURES[task]].mean for code, row in languages.items() if GROUP_MEASURES[task] in row}


def _resource(results: Results, code: str) -> str | None:
    """A language's group by the run's table, else by the paper's."""
    language = results.languages.get(code) or paper_languages().get(code)
    return language.resource if language else None


def group_figures(scores: Sequence[GroupScore]) -> list[Figure]:
    """A figure a task."""
    tasks = dict.fromkeys(score.task for score in scores)
    return [_group_figure(task, [score for score in scores if score.task == task]) for task in tasks]


def _group_figure(task: str, scores: list[GroupScore]) -> Figure:
    name, measure = TASK_NAMES[task], METRIC_NAMES[GROUP_MEASURES[task]]
    gains = "; ".join(
        f"{row['row']}: {score.gain:+.2f}".replace("-", "−")
        for row, score in zip(_rows(scores), scores, strict=True)
    )
    return Figure(
        f"paper-figure-6-{task}",
        f"Figure 6: {name} by resource group",
        f"Mean {name} {measure} of each resource group’s languages, test scores of models whose "
        f"tokenizers alone differ. VOCAP − JOINT: {gains}. From results/finetuning/{{model}}/{task}/summary.tsv.",
        f"Chart of the mean {measure} of {counted(len(scores), 'group')} under VOCAP and JOINT. Differences: "
        f"{gains}.",
        lambda: group_chart(scores),
        table="paper-groups",
    )


def _rows(scores: Sequence[GroupScore]) -> list[dict]:
    """A row of the chart for each score, with the models' names where T has several pairs."""
    pairs = {(score.total, score.vocap, score.joint) for score in scores}
    rows = []
    for score in scores:
        alone = sum(total == score.total for total, _, _ in pairs) == 1
        label = score.total if alone else f"{score.total}, {score.vocap} and {score.joint}"
        rows.append(
            {
                "row": f"{score.resource}, {label}",
                "VOCAP": round(score.vocap_score, 3),
                "JOINT": round(score.joint_score, 3),
                "gain": round(score.gain, 3),
                "languages": len(score.languages),
                "names": {"VOCAP": score.vocap, "JOINT": score.joint},
            }
        )
    return rows


def group_chart(scores: Sequence[GroupScore]) -> alt.LayerChart:
    """JOINT and VOCAP of each group, joined by a line."""
    rows = _rows(scores)
    ends = [
        {**row, "kind": kind, "score": row[kind], "model": row["names"][kind]} for row in rows for kind in PAIR
    ]
    axis, title = alt.Axis(tickCount=8, grid=True), "mean over languages (percent)"
    scale = alt.Scale(zero=False, padding=20)
    lines, marks = joined_pairs(rows, ends, PAIR, "score", scale=scale, title=title, axis=axis)
    marks = marks.encode(
        tooltip=[
            alt.Tooltip("row:N", title="group"),
            alt.Tooltip("model:N"),
            alt.Tooltip("score:Q", title="mean", format=".2f"),
            alt.Tooltip("gain:Q", title="VOCAP − JOINT", format="+.2f"),
            alt.Tooltip("languages:Q"),
        ],
    )
    return alt.layer(lines, marks).properties(width=WIDTH, height=30 * len(rows))


def group_table(scores: Sequence[GroupScore]) -> Table:
    """The means as a table."""
    columns = [
        Column("task", "Task", value=lambda score: TASK_NAMES[score.task]),
        Column("total", "T"),
        Column("resource", "Group"),
        Column("languages", "Languages", "number", value=lambda score: len(score.languages)),
        Column("vocap", "VOCAP model"),
        Column("joint", "JOINT model"),
        Column("vocap_score", "VOCAP", "number", 2),
        Column("joint_score", "JOINT", "number", 2),
        Column("gain", "Difference", "number", 2),
        Column("codes", "Codes", value=lambda score: " ".join(score.languages)),
    ]
    caption = (
        "XNLI accuracy and NER F1, means over the languages of a group that both models have test scores in. The "
        "two models have the same loss, width and steps, and tokenizers of the same T. Groups are those of the "
        "table of languages; the paper’s: less than 1 GB of CommonCrawl, up to 10 GB, more. From "
        "results/finetuning/{model}/{task}/summary.tsv."
    )
    return Table.of("paper-groups", "Figure 6 in numbers", caption, columns, scores)


@dataclass(frozen=True)
class CostPoint:
    """One state of one model on one task: its steps and device hours up to it, and its score."""

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
    order = [*TASKS, *(task for task in XTREME_TASKS if task not in TASKS)]
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
            return seconds * (as_number(model.setting("processes")) or 1) / 3600
    return None


def cost_figures(points: Sequence[CostPoint]) -> list[Figure]:
    """A panel a task, with a line a model."""
    tasks = dict.fromkeys(point.task for point in points)
    return [_cost_figure(task, [point for point in points if point.task == task]) for task in tasks]


def _cost_figure(task: str, points: Sequence[CostPoint]) -> Figure:
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
    """The measure of a task's score, in words."""
    names = [METRIC_NAMES[metric] for metric in XTREME_TASKS[task].metrics]
    return names[0] if len(names) == 1 else f"mean of {' and '.join(names)}"


def cost_chart(points: Sequence[CostPoint]) -> alt.Chart:
    """Score of one task against hours, a line a model."""
    names = list(dict.fromkeys(point.model for point in points))
    rows = [
        {"model": point.model, "step": point.step, "hours": round(point.hours, 5), "score": round(point.score, 3)}
        for point in points
    ]
    colours, dashes = line_scales(names)
    legend = alt.Legend(title=None, columns=4, symbolType="stroke")
    title = f"{TASK_NAMES[points[0].task]}, {_measure(points[0].task)} (percent)"
    return (
        chart(rows)
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
        Column("task", "Task", value=lambda point: TASK_NAMES[point.task]),
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
    return Table.of("paper-costs", "Figure 5 in numbers", caption, columns, points)
