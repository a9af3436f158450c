"""Figure 6: XNLI and NER of a VOCAP and a JOINT tokenizer of the same T, by resource group."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import altair as alt

from vocap.report.blocks import counted
from vocap.report.figures import WIDTH, Figure, token
from vocap.report.finetuned import Finetuned
from vocap.report.paper.published import METRIC_NAMES, TASK_NAMES, paper_languages
from vocap.report.paper.runs import Run, final_states, of_paper_beta
from vocap.report.results import Results
from vocap.report.tables import Column, Table
from vocap.tokenizers.evaluation import RESOURCES

MEASURES = {"xnli": "acc", "panx": "f1"}  # the figure's tasks
KINDS = ("JOINT", "VOCAP")


@dataclass(frozen=True)
class GroupScore:
    """Means over the languages of one resource group that both models have scores in, in percent."""

    task: str
    total: str  # T as people write it
    vocap: str  # the models' names
    joint: str
    resource: str
    languages: tuple[str, ...]
    vocap_score: float
    joint_score: float


def group_scores(results: Results, runs: Sequence[Run]) -> list[GroupScore]:
    """Every VOCAP model against the first JOINT one of the same T, loss, width and steps, by task and group.

    JOINT models are in the order of their tokenizers in the configuration. A language of no resource group is in
    no mean. VOCAP stands for any allocation, as in Figure 4; one by sizes has the paper's beta.
    """
    tuned = final_states(results)
    order = {name: place for place, name in enumerate(results.tokenizers)}
    scored = [run for run in runs if run.name in tuned and of_paper_beta(run)]
    scored.sort(key=lambda run: (run.total or 0, order.get(run.tokenizer, len(order)), run.name))
    found = []
    for task in MEASURES:
        for run in scored:
            rivals = [other for other in scored if other.kind == "joint" and _alike(run, other)]
            if run.kind not in ("joint", "mono", "file", "") and rivals:
                found += _compare(results, task, run, rivals[0], tuned)
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
    order = [name for name in RESOURCES if name in groups] + sorted(groups.keys() - set(RESOURCES))
    return [
        GroupScore(
            task,
            vocap.size,
            vocap.name,
            joint.name,
            resource,
            tuple(groups[resource]),
            fmean(mine[code] for code in groups[resource]),
            fmean(theirs[code] for code in groups[resource]),
        )
        for resource in order
    ]


def _by_language(model: Finetuned, task: str) -> dict[str, float]:
    reached = model.tasks.get(task)
    languages = reached.languages if reached else {}
    return {code: row[MEASURES[task]].mean for code, row in languages.items() if MEASURES[task] in row}


def _resource(results: Results, code: str) -> str | None:
    """A language's group by the run's table, else by the paper's."""
    language = results.languages.get(code) or paper_languages().get(code)
    return language.resource if language else None


def group_figures(scores: Sequence[GroupScore]) -> list[Figure]:
    """A figure a task."""
    return [
        _figure(task, found) for task in MEASURES if (found := [score for score in scores if score.task == task])
    ]


def _figure(task: str, scores: list[GroupScore]) -> Figure:
    name, measure = TASK_NAMES[task], METRIC_NAMES[MEASURES[task]]
    gains = "; ".join(
        f"{row['row']}: {score.vocap_score - score.joint_score:+.2f}".replace("-", "−")
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
    """A row of the chart for each score; T alone names its pair where that is the only one of its T."""
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
                "gain": round(score.vocap_score - score.joint_score, 3),
                "languages": len(score.languages),
                "names": {"VOCAP": score.vocap, "JOINT": score.joint},
            }
        )
    return rows


def group_chart(scores: Sequence[GroupScore]) -> alt.LayerChart:
    """JOINT and VOCAP of each group, joined by a line."""
    rows = _rows(scores)
    order = [row["row"] for row in rows]
    y = alt.Y("row:N", sort=order, title=None, axis=alt.Axis(labelFontSize=12, labelLimit=320))
    ends = [
        {**row, "kind": kind, "score": row[kind], "model": row["names"][kind]} for row in rows for kind in KINDS
    ]
    axis, title = alt.Axis(tickCount=8, grid=True), "mean over languages (percent)"
    scale = alt.Scale(zero=False, padding=20)
    kinds = alt.Scale(domain=list(KINDS), range=[token("muted"), token("accent")])
    shapes = alt.Scale(domain=list(KINDS), range=["circle", "diamond"])
    rules = (
        alt.Chart(alt.Data(values=rows))
        .mark_rule(strokeWidth=2, color=token("line"))
        .encode(x=alt.X("JOINT:Q", scale=scale, title=title, axis=axis), x2="VOCAP:Q", y=y)
    )
    dots = (
        alt.Chart(alt.Data(values=ends))
        .mark_point(filled=True, size=110, opacity=1)
        .encode(
            x=alt.X("score:Q", scale=scale, title=title, axis=axis),
            y=y,
            color=alt.Color("kind:N", scale=kinds, legend=alt.Legend(title=None)),
            shape=alt.Shape("kind:N", scale=shapes, legend=alt.Legend(title=None)),
            tooltip=[
                alt.Tooltip("row:N", title="group"),
                alt.Tooltip("model:N"),
                alt.Tooltip("score:Q", title="mean", format=".2f"),
                alt.Tooltip("gain:Q", title="VOCAP − JOINT", format="+.2f"),
                alt.Tooltip("languages:Q"),
            ],
        )
    )
    return alt.layer(rules, dots).properties(width=WIDTH, height=30 * len(rows))


def group_table(scores: Sequence[GroupScore]) -> Table:
    """The means as a table."""
    columns = [
        Column("task", "Task"),
        Column("total", "T"),
        Column("resource", "Group"),
        Column("languages", "Languages", "number"),
        Column("vocap", "VOCAP model"),
        Column("joint", "JOINT model"),
        Column("vocap_score", "VOCAP", "number", 2),
        Column("joint_score", "JOINT", "number", 2),
        Column("gain", "Difference", "number", 2),
        Column("codes", "Which"),
    ]
    rows = [
        (
            TASK_NAMES[score.task],
            score.total,
            score.resource,
            len(score.languages),
            score.vocap,
            score.joint,
            score.vocap_score,
            score.joint_score,
            score.vocap_score - score.joint_score,
            " ".join(score.languages),
        )
        for score in scores
    ]
    caption = (
        "XNLI accuracy and NER F1, means over the languages of a group that both models have test scores in. The "
        "two models have the same loss, width and steps, and tokenizers of the same T. Groups are those of the "
        "table of languages; the paper’s: less than 1 GB of CommonCrawl, up to 10 GB, more. From "
        "results/finetuning/{model}/{task}/summary.tsv."
    )
    return Table("paper-groups", "Figure 6 in numbers", caption, columns, rows)
