"""The part of the page on the paper: its tables and figures, and below each row this
run's that does the same.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas

from vocap.allocation.rules import RULES
from vocap.correlation.study import Coefficients, correlations
from vocap.errors import listed
from vocap.finetuning.metrics import task_score
from vocap.finetuning.tasks import TASKS
from vocap.languages import RESOURCES
from vocap.report.data.results import Records, Results
from vocap.report.page.blocks import Fold, Note, PageBlock, Paragraph, counted, text_of
from vocap.report.page.figures import (
    COLOURS,
    PAIR_KEYS,
    Figure,
    drawn_as,
    joined_pairs,
    line_chart,
    scatter,
    tooltips,
)
from vocap.report.page.rendering import sentence
from vocap.report.page.tables import Column, Table, caption, signed, specification, specified
from vocap.report.paper import METRIC_NAMES, SOURCE, TASK_NAMES, printed
from vocap.report.paper.model_tables import NOT_RUN, TABLES, Run, origins, results_table, runs

Own = dict[tuple[str, ...], dict[str, Any]]  # cells of this run by the key of their row
GB = 1e9
FIGURES = {"udpos": 2, "panx": 3}  # the paper's numbers
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross"]
GROUP_MEASURES = {"xnli": "acc", "panx": "f1"}  # of Figure 6
ALIKE = ("total", "loss", "k", "half", "steps")  # of two runs that Figure 6 compares
COST_TASKS = ("xnli", "mlqa")  # of Figure 5
# of this part; those from Table 5 on are the appendix's
ITEMS = [f"Table {number}" for number in range(1, 10)]
ITEMS[4:4] = [f"Figure {number}" for number in (2, 3, 5, 6)]


def section(results: Results) -> list[PageBlock]:
    """The tables and figures that this run has numbers for, folded, and the names of
    the others.
    """
    found = runs(results)
    tables = [results_table(name, found) for name in TABLES]
    models = [table for table in tables if any(row[2] not in (None, NOT_RUN) for row in table.rows)]
    parts: dict[str, Sequence[PageBlock]] = {
        "Models and scores": [
            *models,
            *_by_task(group_scores(results, found), _group_figure, "paper-groups"),
            *_by_task(cost_points(results), _cost_figure, "paper-costs"),
        ],
        "Correlation of ALP with scores": correlation_blocks(results),
        "Data and sizes": data_tables(results, found),
    }
    made = [block for part in parts.values() for block in part]
    blocks: list[PageBlock] = []
    if made:
        blocks.append(
            Paragraph(f"Every number of “the paper” is as printed in {SOURCE}. {caption('paper')}")
        )
    titles = " ".join(block.title for block in made if isinstance(block, Table | Figure))
    if absent := [item for item in ITEMS if not re.search(rf"{item}\b", titles)]:
        blocks.append(Note(f"Not in this run: {', '.join(absent)}. {caption('paper-absent')}"))
    return [*blocks, *(Fold(title, part) for title, part in parts.items() if part)]


def correlation_blocks(results: Results) -> list[PageBlock]:
    """The figures and the table, of a study that was run."""
    points = results.correlation
    if not points:
        return []
    found = correlations(points, results.unreached)
    blocks: list[PageBlock] = [Paragraph(text)] if (text := sentence("study", found=found)) else []
    for task in FIGURES:
        own = [one for one in found if one.task == task]
        if own:
            blocks.append(_figure(results, task, own))
    # Table 5
    cells: Own = {(one.language, one.task): one._asdict() for one in found}
    for (language, task), rows in pandas.DataFrame(points).groupby(["language", "task"]):
        other = (rows.split != "test").any()
        cells[language, task] |= {
            "remarks": "development file: the test labels are withheld" if other else "",
            "seeds": int(rows.seeds.min()),
            "steps": int(rows.steps.max()),
        }
    return [*blocks, set_beside(results, "paper-correlation", cells)]


def _figure(results: Results, task: str, found: list[Coefficients]) -> Figure:
    """Figure 2 or 3: F1 against ALP, a colour and a shape a language."""
    points = [point for point in results.correlation if point.task == task]
    codes = list(dict.fromkeys(point.language for point in points))
    rows = [
        {
            "name": "",
            "kind": results.name(point.language),
            "size": point.size,
            "alp": round(point.alp, 3),
            "x": round(point.alp, 4),
            "y": round(point.f1, 3),
        }
        for point in points
    ]
    looks = {results.name(code): (COLOURS[k % 4], SHAPES[k % 5]) for k, code in enumerate(codes)}
    shown = tooltips(kind="|language", size=",d|vocabulary", alp=",.2f|ALP", y=".2f|F1")
    titles = ("ALP (nats per line)", "F1 (percent)")
    unreached = {
        results.name(code): sizes for code, sizes in results.unreached.items() if code in codes
    }
    said = sentence("correlations", found=found, name=results.name).replace("-", "−")
    return drawn_as(
        "paper-figure-2-and-3",
        lambda: scatter(rows, titles, looks, shown, height=320),
        number=FIGURES[task],
        task=TASK_NAMES[task],
        said=said.unescape(),
        holes=sentence("holes", unreached=unreached).unescape(),
        vocabularies=counted(len(points), "vocabulary", "vocabularies"),
    )


def set_beside(results: Results, name: str, own: Own, more: Sequence[Column] = ()) -> Table:
    """One of Tables 5 to 9: the numbers of the paper, as `paper_` and their column, and
    this run's `own` beside them in the same row.

    Keys are the values of `match` of the specification; rows those of the paper, then
    of this run alone; of the last three tables the paper's languages that the run has.
    """
    spec = specification()[name]
    match = spec["match"]
    paper: Own = {tuple(row[column] for column in match): row for row in printed(spec["printed"])}
    keys = [*dict.fromkeys([*paper, *own])]
    if spec["printed"] == "languages":
        keys = [(code,) for code in results.languages if (code,) in paper]
    rows = []
    for key in keys:
        row = {f"paper_{column}": value for column, value in paper.get(key, {}).items()}
        row |= {"remarks": NOT_RUN} | own.get(key, {}) | dict(zip(match, key, strict=True))
        if "language" in row:
            row |= results.about(row["language"])
        if "task" in row:
            row["task"] = TASK_NAMES.get(row["task"], row["task"])
        rows.append(row)
    return specified(name, rows, more)


def data_tables(results: Results, runs: Sequence[Run]) -> list[Table]:
    """Tables 6 to 9, where the run has numbers for them."""
    tasks: Own = {}
    for row in printed("datasets"):
        scores = {
            run["model"]: run["tuned"].tasks[row["task"]].languages
            for run in runs
            if row["task"] in run["tuned"].tasks
        }
        scored = {name: len(languages) for name, languages in scores.items() if languages}
        models = listed(scored, 4) or NOT_RUN
        languages = max(scored.values(), default=None)
        tasks[row["task"],] = {"kind": row["kind"], "languages": languages, "models": models}
    read: Own = {
        (code,): {
            "read_gb": stats["bytes"] / GB,
            "lines": results.lines(code),
            "source": text_of(stats.get("source")),
        }
        for code, stats in results.corpora.items()
        if stats.get("kept")
    }
    trained: Own = {
        (code,): {"trained_gb": size / GB} for code, size in results.training_bytes.items()
    }
    sizes: Own = {}
    for name, entry in results.allocations.items():
        for code, size in entry.sizes.items():
            if size is not None:
                sizes.setdefault((code,), {})[f"thousands_{name}"] = size / 1000
    more = [Column(f"thousands_{name}", name, "number") for name in results.allocations]
    tables = (
        ("paper-data-sets", tasks if any(run["tuned"].scores for run in runs) else {}, ()),
        ("paper-text-vocabularies", read, ()),
        ("paper-text-pretraining", trained, ()),
        ("paper-allocated-sizes", sizes, more),
    )
    made = [set_beside(results, name, own, columns) for name, own, columns in tables if own]
    return [table for table in made if table.rows]


def group_scores(results: Results, runs: Sequence[Run]) -> Records:
    """Every VOCAP model against the first JOINT one of the same T, loss, width and
    steps, by task and group.

    JOINT models are in the order of their tokenizers in the configuration. VOCAP means
    any allocation, as in Figure 4; one by sizes has the paper's beta. A score of a
    group is the mean over its languages that both models have one of, in percent; a
    language of no resource group is in none.
    """
    order = [*results.tokenizers, ""]
    scored = [run for run in runs if run["paper_beta"] and run["total"]]
    scored.sort(key=lambda run: (run["total"], order.index(run["tokenizer"]), run["model"]))
    rows: Records = []
    for task, measure in GROUP_MEASURES.items():
        tuned = [run for run in scored if task in run["tuned"].tasks]
        joints = [run for run in tuned if run["reference"]]
        for run in tuned:
            alike = [one for one in joints if all(one[key] == run[key] for key in ALIKE)]
            if not alike or not (run["allocated"] or run["kind"] in RULES):
                continue
            pair = dict(zip(PAIR_KEYS, (alike[0], run), strict=True))
            scores = pandas.DataFrame()
            for key, one in reversed(pair.items()):
                languages = one["tuned"].tasks[task].languages
                means = {code: row[measure]["mean"] for code, row in languages.items()}
                scores[f"{key}_score"] = pandas.Series(means)
            scores = scores.dropna()
            about = {"key": task, "task": TASK_NAMES[task], "total": run["size"]}
            about |= {key: one["model"] for key, one in pair.items()}
            groups = dict(list(scores.groupby(scores.index.map(results.resource))))
            for group in RESOURCES:
                if group in groups:
                    row = about | {"resource": group, **groups[group].mean()}
                    low, high = (row[f"{key}_score"] for key in PAIR_KEYS)
                    codes = groups[group].index
                    row |= {"languages": len(codes), "codes": " ".join(codes), "gain": high - low}
                    rows.append(row)
    return rows


def _by_task(rows: Records, draw: Callable[[str, Records], Figure], table: str) -> list[PageBlock]:
    """A figure for each task, and the table of their numbers; nothing without rows."""
    blocks: list[PageBlock] = []
    for task in dict.fromkeys(row["key"] for row in rows):
        own = [row for row in rows if row["key"] == task]
        blocks.append(draw(task, own))
    return [*blocks, specified(table, rows)] if rows else []


def _group_figure(task: str, rows: Records) -> Figure:
    """Figure 6 of one task: JOINT and VOCAP of each group, joined by a line."""
    # a row of the chart is a group, with the models' names where T has several pairs
    joint, vocap = PAIR_KEYS
    pairs = {(row["total"], row[vocap], row[joint]) for row in rows}
    totals = [total for total, _, _ in pairs]
    for row in rows:
        row["row"] = f"{row['resource']}, {row['total']}"
        if totals.count(row["total"]) > 1:
            row["row"] += f", {row[vocap]} and {row[joint]}"
    shown = {"score": ".2f|mean", "gain": "+.2f|VOCAP − JOINT", "languages": "d"}
    return drawn_as(
        "paper-figure-6",
        lambda: joined_pairs(
            rows,
            "score",
            "_score",
            title="mean over languages (percent)",
            scale={"zero": False, "padding": 20},
            axis={"tickCount": 8, "grid": True},
            tooltip=tooltips(row="|group", model="", **shown),
            label="",
        ),
        task,
        task=TASK_NAMES[task],
        measure=METRIC_NAMES[GROUP_MEASURES[task]],
        gains="; ".join(f"{row['row']}: {signed(row['gain'])}" for row in rows),
        groups=counted(len(rows), "group"),
    )


def cost_points(results: Results) -> Records:
    """Every fine-tuned state of the models that have two or more of a task, by task,
    model and step.

    `hours`: of all devices up to the state, by the metrics, between two lines in proportion to
    the steps; `score` in percent, of question answering the mean of F1 and EM. The paper's two
    tasks come first. A state without hours in its model's metrics is left out.
    """
    found: Records = []
    for name, (origin, exported) in origins(results).items():
        model = results.models[origin]
        timed = pandas.DataFrame(model.rows, columns=["step", "seconds"]).dropna()
        step = exported or model.rows[-1]["step"]
        if step > timed.step.max() or timed.empty:
            continue
        seconds = np.interp(step, [0, *timed.step], [0.0, *timed.seconds])
        hours = float(seconds) * (model.setting("processes") or 1) / 3600
        for task, scores in results.finetuned[name].tasks.items():
            if scores.overall:
                measured = {metric: value["mean"] for metric, value in scores.overall.items()}
                row = {"key": task, "task": TASK_NAMES[task], "model": origin, "step": step}
                found.append({**row, "hours": hours, "score": task_score(task, measured)})
    order = list(dict.fromkeys([*COST_TASKS, *TASKS]))
    found.sort(key=lambda row: (order.index(row["key"]), row["model"], row["step"]))
    states = [(row["key"], row["model"]) for row in found]
    return [row for row, state in zip(found, states, strict=True) if states.count(state) > 1]


def _cost_figure(task: str, rows: Records) -> Figure:
    """Figure 5 of one task, a line a model."""
    name = TASK_NAMES[task]
    names = [METRIC_NAMES[metric] for metric in TASKS[task].metrics]
    measure = names[0] if len(names) == 1 else f"mean of {' and '.join(names)}"
    places = (
        ("hours", "hours of pre-training, all devices"),
        ("score", f"{name}, {measure} (percent)"),
    )
    shown = tooltips(model="", step=",d", hours=",.3f", score=".2f")
    return drawn_as(
        "paper-figure-5",
        lambda: line_chart(rows, *places, shown),
        task,
        task=name,
        measure=measure,
        models=counted(len({row["model"] for row in rows}), "model"),
    )
