"""Figures 5 and 6: scores against the cost of pre-training, and by resource group, with their tables."""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import altair as alt
import numpy as np

from vocap.allocation.rules import RULES
from vocap.finetuning.metrics import task_score
from vocap.finetuning.tasks import TASKS
from vocap.languages import RESOURCES
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, counted
from vocap.report.page.figures import PAIR, WIDTH, Figure, joined_pairs, line_chart, tooltips
from vocap.report.page.tables import caption, signed, specified
from vocap.report.paper.published import METRIC_NAMES, TASK_NAMES
from vocap.report.paper.runs import Run, origins

GROUP_MEASURES = {"xnli": "acc", "panx": "f1"}  # of Figure 6
COST_TASKS = ("xnli", "mlqa")  # of Figure 5
ALLOCATED = ("vocap", *(name for name, rule in RULES.items() if rule.needs_text))  # kinds of an allocation


def group_scores(results: Results, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Every VOCAP model against the first JOINT one of the same T, loss, width and steps, by task and group.

    JOINT models are in the order of their tokenizers in the configuration. VOCAP means any allocation, as in
    Figure 4; one by sizes has the paper's beta. A score of a group is the mean over its languages that both models
    have one of, in percent; a language of no resource group is in none.
    """
    order = {name: place for place, name in enumerate(results.tokenizers)}
    scored = [run for run in runs if run.tuned.tasks and run.paper_beta and run.total is not None]
    scored.sort(key=lambda run: (run.total, order.get(run.tokenizer, len(order)), run.name))

    def alike(run: Run) -> tuple:
        return run.total, run.loss, run.k, run.half, run.steps

    rows = []
    for task, measure in GROUP_MEASURES.items():
        for vocap in scored:
            baselines = [run for run in scored if run.kind == "joint" and alike(run) == alike(vocap)]
            if vocap.kind not in ALLOCATED or not baselines:
                continue
            pair = (vocap, baselines[0])
            tables = [run.tuned.tasks[task].languages if task in run.tuned.tasks else {} for run in pair]
            for group in RESOURCES:
                codes = [code for code in tables[0] if code in tables[1] and results.resource(code) == group]
                if codes:
                    means = [fmean(table[code][measure]["mean"] for code in codes) for table in tables]
                    rows.append(_group(task, group, pair, codes, means))
    return rows


def _group(task: str, group: str, pair: tuple[Run, Run], codes: list[str], means: list[float]) -> dict[str, Any]:
    return {
        "key": task,
        "task": TASK_NAMES[task],
        "total": pair[0].size,
        "resource": group,
        "languages": len(codes),
        "vocap": pair[0].name,
        "joint": pair[1].name,
        "vocap_score": means[0],
        "joint_score": means[1],
        "gain": means[0] - means[1],
        "codes": " ".join(codes),
    }


def group_blocks(rows: list[dict[str, Any]]) -> list[Block]:
    """Figure 6, one for each task, and its numbers."""
    tasks = dict.fromkeys(row["key"] for row in rows)
    figures = [_group_figure(task, [row for row in rows if row["key"] == task]) for task in tasks]
    return [*figures, *([specified("paper-groups", rows)] if rows else [])]


def _group_figure(task: str, rows: list[dict[str, Any]]) -> Figure:
    # a row of the chart is a group, with the models' names where T has several pairs
    pairs = Counter(total for total, _, _ in {(row["total"], row["vocap"], row["joint"]) for row in rows})
    for row in rows:
        label = f"{row['resource']}, {row['total']}"
        row["row"] = label if pairs[row["total"]] == 1 else f"{label}, {row['vocap']} and {row['joint']}"
    gains = "; ".join(f"{row['row']}: {signed(row['gain'])}" for row in rows)
    name, measure = TASK_NAMES[task], METRIC_NAMES[GROUP_MEASURES[task]]
    return Figure(
        f"paper-figure-6-{task}",
        f"Figure 6: {name} by resource group",
        caption("paper-figure-6", task=name, measure=measure, key=task, gains=gains),
        f"Chart of the mean {measure} of {counted(len(rows), 'group')} under VOCAP and JOINT. Differences: "
        f"{gains}.",
        lambda: group_chart(rows),
        table="paper-groups",
    )


def group_chart(rows: list[dict[str, Any]]) -> alt.LayerChart:
    """JOINT and VOCAP of each group, joined by a line."""
    ends = [
        {**row, "kind": kind, "score": row[f"{kind.lower()}_score"], "model": row[kind.lower()]}
        for row in rows
        for kind in PAIR
    ]
    axis = {"scale": alt.Scale(zero=False, padding=20), "axis": alt.Axis(tickCount=8, grid=True)}
    fields = [f"{kind.lower()}_score" for kind in PAIR]
    lines, marks = joined_pairs(rows, ends, fields, "score", title="mean over languages (percent)", **axis)
    shown = tooltips(row="|group", model="", score=".2f|mean", gain="+.2f|VOCAP − JOINT", languages="d")
    return alt.layer(lines, marks.encode(tooltip=shown)).properties(width=WIDTH, height=30 * len(rows))


def cost_points(results: Results) -> list[dict[str, Any]]:
    """Every fine-tuned state of the models that have two or more of a task, by task, model and step.

    `hours`: of all devices up to the state; `score` in percent, of question answering the mean of F1 and EM. The
    paper's two tasks come first. A state without hours in its model's metrics is left out.
    """
    found = []
    for name, (model, exported) in origins(results).items():
        step = exported or results.models[model].rows[-1]["step"]
        hours = _hours(results, model, step)
        for task, scores in results.finetuned[name].tasks.items():
            if hours is not None and scores.overall:
                measured = {metric: value["mean"] for metric, value in scores.overall.items()}
                score = task_score(task, measured)
                row = {"key": task, "task": TASK_NAMES[task], "model": model, "step": step}
                found.append({**row, "hours": hours, "score": score})
    states = Counter((row["key"], row["model"]) for row in found)
    order = [*COST_TASKS, *(task for task in TASKS if task not in COST_TASKS)]
    several = [row for row in found if states[row["key"], row["model"]] > 1]
    return sorted(several, key=lambda row: (order.index(row["key"]), row["model"], row["step"]))


def _hours(results: Results, name: str, step: int) -> float | None:
    """Hours of all devices up to a step, from the metrics: between two lines in proportion to the steps."""
    model = results.models[name]
    timed = [(row["step"], row["seconds"]) for row in model.rows if row.get("seconds") is not None]
    if not timed or step > timed[-1][0]:
        return None
    steps, seconds = zip((0, 0.0), *timed, strict=True)
    return float(np.interp(step, steps, seconds)) * (model.setting("processes") or 1) / 3600


def cost_blocks(rows: list[dict[str, Any]]) -> list[Block]:
    """Figure 5, a panel a task with a line a model, and its numbers."""
    tasks = dict.fromkeys(row["key"] for row in rows)
    figures = [_cost_figure(task, [row for row in rows if row["key"] == task]) for task in tasks]
    return [*figures, *([specified("paper-costs", rows)] if rows else [])]


def _cost_figure(task: str, rows: list[dict[str, Any]]) -> Figure:
    name = TASK_NAMES[task]
    names = [METRIC_NAMES[metric] for metric in TASKS[task].metrics]
    measure = names[0] if len(names) == 1 else f"mean of {' and '.join(names)}"
    places = (("hours", "hours of pre-training, all devices"), ("score", f"{name}, {measure} (percent)"))
    shown = tooltips(model="", step=",d", hours=",.3f", score=".2f")
    return Figure(
        f"paper-figure-5-{task}",
        f"Figure 5: {name} against the cost of pre-training",
        caption("paper-figure-5", task=name, measure=measure),
        f"Line chart of {counted(len({row['model'] for row in rows}), 'model')} over hours of training.",
        lambda: line_chart(rows, *places, shown),
        table="paper-costs",
    )
