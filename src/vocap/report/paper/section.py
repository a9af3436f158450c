"""The part of the page on the paper: its tables and figures, and below each row this
run's that does the same.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
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
from vocap.report.page.blocks import Fold, Note, PageBlock, Paragraph, text_of
from vocap.report.page.figures import COLOURS, Figure, drawn_as, line_figure, scatter_figure
from vocap.report.page.rendering import sentence
from vocap.report.page.tables import (
    Column,
    Table,
    caption,
    counted,
    signed,
    specification,
    specified,
)
from vocap.report.paper import (
    METRIC_NAMES,
    SOURCE,
    TASK_NAMES,
    paper_languages,
    paper_size,
    printed,
)
from vocap.report.paper.model_tables import (
    NOT_RUN,
    TABLES,
    Run,
    join_printed,
    origins,
    results_table,
    runs,
)
from vocap.tables.frames import records

GB = 1e9
FIGURES = {"udpos": 2, "panx": 3}  # the paper's numbers
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross"]
GROUP_MEASURES = {"xnli": "acc", "panx": "f1"}  # of Figure 6
ALIKE = itemgetter("total", "loss", "k", "half", "steps")  # of two runs that Figure 6 compares
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
    parts: dict[str, Sequence[PageBlock]] = {
        "Models and scores": [
            *filter(
                lambda table: {row.get("model") for row in table.rows} - {None, NOT_RUN}, tables
            ),
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
    if not results.correlation:
        return []
    found = correlations(results.correlation, results.unreached)
    points = pandas.DataFrame(results.correlation)
    blocks: list[PageBlock] = [Paragraph(text)] if (text := sentence("study", found=found)) else []
    blocks += [_figure(results, task, points, found) for task in FIGURES if task in {*points.task}]
    # Table 5
    cells: dict[Any, Run] = {(one.language, one.task): one._asdict() for one in found}
    for key, rows in points.groupby(["language", "task"]):
        other = (rows.split != "test").any()
        cells[key] |= {
            "remarks": "development file: the test labels are withheld" if other else "",
            "seeds": int(rows.seeds.min()),
            "steps": int(rows.steps.max()),
        }
    table = []
    joined = join_printed("paper-correlation", cells)
    for (code, task), (paper, cell) in joined.items():
        rho = {f"paper_{column}": paper.get(column) for column in ("rho_alp", "rho_size")}
        about = results.about(code) | {"task": TASK_NAMES[task]}
        table.append({"remarks": NOT_RUN} | rho | cell | about)
    return [*blocks, specified("paper-correlation", table)]


def _figure(
    results: Results, task: str, points: pandas.DataFrame, found: list[Coefficients]
) -> Figure:
    """Figure 2 or 3: F1 against ALP, a colour and a shape a language."""
    points, found = points[points.task == task], [one for one in found if one.task == task]
    rows = pandas.DataFrame(
        {
            "name": "",
            "kind": points.language.map(results.name),
            "size": points["size"],
            "alp": points.alp.round(3),
            "x": points.alp.round(4),
            "y": points.f1.round(3),
        }
    )
    codes = points.language.unique()
    looks = {results.name(code): (COLOURS[k % 4], SHAPES[k % 5]) for k, code in enumerate(codes)}
    unreached = {
        results.name(code): sizes for code, sizes in results.unreached.items() if code in codes
    }
    said = sentence("correlations", found=found, name=results.name).replace("-", "−")
    return scatter_figure(
        "paper-figure-2-and-3",
        records(rows),
        looks,
        number=FIGURES[task],
        task=TASK_NAMES[task],
        said=said.unescape(),
        holes=sentence("holes", unreached=unreached).unescape(),
        vocabularies=counted(len(points), "vocabulary", "vocabularies"),
    )


def data_tables(results: Results, runs: Sequence[Run]) -> list[Table]:
    """Tables 6 to 9, where the run has numbers for them."""
    tasks = []
    for row in printed("datasets"):
        task = row["task"]
        scored = {
            run["model"]: count for run in runs if (count := len(run["tuned"].by_language(task)))
        }
        tasks.append(
            {
                "task": TASK_NAMES[task],
                "kind": row["kind"],
                "paper_train_examples": row["train_examples"],
                "paper_languages": row["languages"],
                "languages": max(scored.values(), default=None),
                "models": listed(scored, 4) or NOT_RUN,
            }
        )
    read = {
        code: {
            "read_gb": stats["bytes"] / GB,
            "lines": results.lines(code),
            "source": text_of(stats.get("source")),
        }
        for code, stats in results.corpora.items()
        if stats.get("kept")
    }
    trained = {code: {"trained_gb": size / GB} for code, size in results.training_bytes.items()}
    more = [Column(f"thousands_{name}", name, "number") for name in results.allocations]
    allocated = [one.sizes for one in results.allocations.values()]
    sizes = pandas.DataFrame(allocated, [column.key for column in more], dtype=float).T / 1000
    tables = [
        _by_language(results, "paper-text-vocabularies", read),
        _by_language(results, "paper-text-pretraining", trained),
        _by_language(
            results,
            "paper-allocated-sizes",
            dict(zip(sizes.index, records(sizes), strict=True)),
            more,
        ),
    ]
    if any(run["tuned"].cells for run in runs):
        tables.insert(0, specified("paper-data-sets", tasks))
    return [table for table in tables if table.rows]


def _by_language(
    results: Results, name: str, own: Mapping[str, Run], more: Sequence[Column] = ()
) -> Table:
    """Table 7, 8 or 9: of the paper's languages in this run its number, and the cells of `own`
    by code; no row where there are none.
    """
    ((key, fact),) = specification()[name]["printed"].items()
    rows = [
        results.about(code) | {key: paper_size(code, fact)} | own.get(code, {})
        for code in results.languages
        if own and code in paper_languages()
    ]
    return specified(name, rows, more)


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
        tuned = [run for run in scored if f"{task}_{measure}" in run["tuned"].cells]
        joints = [run for run in tuned if run["reference"]]
        for run in tuned:
            alike = [one for one in joints if ALIKE(one) == ALIKE(run)]
            if not alike or not (run["allocated"] or run["kind"] in RULES):
                continue
            pair = {"vocap": run, "joint": alike[0]}
            means = {key: one["tuned"].by_language(task)[measure] for key, one in pair.items()}
            both = pandas.concat(means, axis=1, join="inner")
            for group in RESOURCES:
                own = both[both.index.map(results.resource) == group]
                if len(own):
                    vocap, joint = own.mean()
                    row = {
                        "key": task,
                        "task": TASK_NAMES[task],
                        "total": run["size"],
                        "resource": group,
                        "languages": len(own),
                        "codes": " ".join(own.index),
                        "vocap": run["model"],
                        "joint": alike[0]["model"],
                        "vocap_score": vocap,
                        "joint_score": joint,
                        "gain": vocap - joint,
                    }
                    rows.append(row)
    return rows


def _by_task(rows: Records, draw: Callable[[str, Records], Figure], table: str) -> list[PageBlock]:
    """A figure for each task, and the table of their numbers; nothing without rows."""
    figures = [draw(task, list(own)) for task, own in groupby(rows, itemgetter("key"))]
    return [*figures, specified(table, rows)] if rows else []


def _group_figure(task: str, rows: Records) -> Figure:
    """Figure 6 of one task: JOINT and VOCAP of each group, joined by a line."""
    # a row of the chart is a group, with the models' names where T has several pairs
    pairs = {(row["total"], row["vocap"], row["joint"]) for row in rows}
    totals = [total for total, _, _ in pairs]
    for row in rows:
        row["row"] = f"{row['resource']}, {row['total']}"
        if totals.count(row["total"]) > 1:
            row["row"] += f", {row['vocap']} and {row['joint']}"
    return drawn_as(
        "paper-figure-6",
        rows,
        {},
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
    found = []
    for name, (origin, exported) in origins(results).items():
        model = results.models[origin]
        timed = pandas.DataFrame(model.rows, columns=["step", "seconds"]).dropna()
        step = exported or model.rows[-1]["step"]
        if step > timed.step.max() or timed.empty:
            continue
        seconds = np.interp(step, [0, *timed.step], [0.0, *timed.seconds])
        hours = float(seconds) * (model.setting("processes") or 1) / 3600
        for task, own in results.finetuned[name].overall.groupby("task"):
            score = task_score(task, own.set_index("metric")["mean"])
            found.append((task, TASK_NAMES[task], origin, step, hours, score))
    columns = ["key", "task", "model", "step", "hours", "score"]
    rows = pandas.DataFrame(found, columns=columns).sort_values(["model", "step"])
    rows = rows[rows.duplicated(["key", "model"], keep=False)]
    order = list(dict.fromkeys([*COST_TASKS, *TASKS]))
    return records(rows.sort_values("key", key=lambda keys: keys.map(order.index), kind="stable"))


def _cost_figure(task: str, rows: Records) -> Figure:
    """Figure 5 of one task, a line a model."""
    names = [METRIC_NAMES[metric] for metric in TASKS[task].metrics]
    measure = names[0] if len(names) == 1 else f"mean of {' and '.join(names)}"
    return line_figure("paper-figure-5", rows, task, task=TASK_NAMES[task], measure=measure)
