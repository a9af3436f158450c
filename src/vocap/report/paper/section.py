"""The part of the page on the paper: its tables and figures, and below each row this
run's that does the same.
"""

import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vocap.allocation.rules import RULES
from vocap.correlation.study import Coefficients, StudyPoint, correlations
from vocap.errors import listed
from vocap.finetuning.metrics import task_score
from vocap.finetuning.tasks import TASKS
from vocap.languages import RESOURCES
from vocap.report.data.results import Results
from vocap.report.page.blocks import Fold, Note, PageBlock, Paragraph, counted, text_of
from vocap.report.page.figures import (
    COLOURS,
    PAIR_KEYS,
    Chart,
    Figure,
    drawn_as,
    joined_pairs,
    line_chart,
    scatter,
    tooltips,
)
from vocap.report.page.rendering import sentence
from vocap.report.page.tables import Column, Table, caption, signed, specification, specified
from vocap.report.paper import (
    METRIC_NAMES,
    SOURCE,
    TASK_NAMES,
    paper_languages,
    printed,
)
from vocap.report.paper.model_tables import NOT_RUN, TABLES, Run, origins, results_table, runs

Own = dict[tuple[str, ...], dict[str, Any]]  # cells of this run by the key of their row
GB = 1e9
FIGURES = {"udpos": 2, "panx": 3}  # the paper's numbers
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross"]
GROUP_MEASURES = {"xnli": "acc", "panx": "f1"}  # of Figure 6
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
    groups = _by_task(group_scores(results, found), _group_figure, "paper-groups")
    costs = _by_task(cost_points(results), _cost_figure, "paper-costs")
    trained = list(filter(_names_a_model, tables))
    parts: dict[str, Sequence[PageBlock]] = {
        "Models and scores": [*trained, *groups, *costs],
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
    blocks += [Fold(title, part) for title, part in parts.items() if part]
    return blocks


def _names_a_model(table: Table) -> bool:
    """Whether a line is of a model of this run."""
    return any(row[2] not in (None, NOT_RUN) for row in table.rows)


def correlation_blocks(results: Results) -> list[PageBlock]:
    """The figures and the table, of a study that was run."""
    if not results.correlation:
        return []
    found = correlations(results.correlation, results.unreached)
    both = [
        (one.rho_alp, one.rho_size)
        for one in found
        if one.rho_alp is not None and one.rho_size is not None
    ]
    blocks: list[PageBlock] = []
    if both:
        higher = sum(alp > size for alp, size in both)
        blocks.append(Paragraph(sentence("study", higher=higher, pairs=len(both))))
    for task in FIGURES:
        points = [point for point in results.correlation if point.task == task]
        own = [one for one in found if one.task == task]
        if points:
            blocks.append(_figure(results, task, points, own))
    return [*blocks, _correlations(results, found)]


def _figure(
    results: Results, task: str, points: list[StudyPoint], found: list[Coefficients]
) -> Figure:
    """Figure 2 or 3."""
    said = sentence("correlations", found=found, name=results.name).replace("-", "−")
    studied = dict.fromkeys(point.language for point in points)
    unreached = {
        results.name(code): sizes for code, sizes in results.unreached.items() if code in studied
    }
    holes = sentence("holes", unreached=unreached).unescape()
    return drawn_as(
        "paper-figure-2-and-3",
        lambda: _points(results, points),
        number=FIGURES[task],
        task=TASK_NAMES[task],
        said=said.unescape(),
        holes=f" {holes}" if holes else "",
        vocabularies=counted(len(points), "vocabulary", "vocabularies"),
    )


def _points(results: Results, points: Sequence[StudyPoint]) -> Chart:
    """F1 against ALP, a colour and a shape a language."""
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
    return scatter(rows, ("ALP (nats per line)", "F1 (percent)"), looks, shown, height=320)


def _correlations(results: Results, found: list[Coefficients]) -> Table:
    """Table 5."""
    own: Own = {}
    points: dict[tuple[str, ...], list[StudyPoint]] = {}
    for point in results.correlation:
        points.setdefault((point.language, point.task), []).append(point)
    for one in found:
        numbers = {key: getattr(one, key) for key in ("rho_alp", "rho_size", "sizes", "holes")}
        own[one.language, one.task] = numbers
    for key, members in points.items():
        other = any(point.split != "test" for point in members)
        own.setdefault(key, {}).update(
            remarks="development file: the test labels are withheld" if other else "",
            seeds=min(point.seeds for point in members),
            steps=max(point.steps for point in members),
        )
    return set_beside(results, "paper-correlation", own, {"remarks": NOT_RUN})


def set_beside(
    results: Results,
    name: str,
    own: Own,
    absent: Mapping[str, Any] = {},
    more: Sequence[Column] = (),
    rows_of: Iterable[tuple[str, ...]] = (),
) -> Table:
    """One of Tables 5 to 9: the numbers of the paper, as `paper_` and their column, and
    this run's `own` beside them in the same row; `absent` stands where it has none.

    Keys are the values of `match` of the specification; rows those of the paper, then
    of this run alone, or `rows_of` these keys.
    """
    spec = specification()[name]
    match = spec["match"]
    paper: Own = {tuple(map(row.__getitem__, match)): row for row in printed(spec["printed"])}
    rows = []
    for key in rows_of or {**paper, **own}:
        row = {f"paper_{column}": value for column, value in paper.get(key, {}).items()}
        row |= {**dict(zip(match, key, strict=True)), **own.get(key, absent)}
        if "language" in row:
            row |= results.about(row["language"])
        if "task" in row:
            row["task"] = TASK_NAMES.get(row["task"], row["task"])
        rows.append(row)
    return specified(name, rows, more)


def data_tables(results: Results, runs: list[Run]) -> list[Table]:
    """Tables 6 to 9, where the run has numbers for them; the last three of the paper's
    languages that the run has.
    """
    tables = [_datasets(results, runs)] if any(run.tuned.scores for run in runs) else []
    codes = [(code,) for code in results.languages if code in paper_languages()]
    read: Own = {
        (code,): {
            "read_gb": stats["bytes"] / GB,
            "lines": results.lines(code),
            "source": text_of(stats.get("source")),
        }
        for code, stats in results.corpora.items()
        if stats.get("kept")
    }
    sizes: Own = {}
    trained: Own = {
        (code,): {"trained_gb": size / GB} for code, size in results.training_bytes.items()
    }
    for name, entry in results.allocations.items():
        for code, size in entry.sizes.items():
            if size is not None:
                sizes.setdefault((code,), {})[f"thousands_{name}"] = size / 1000
    more = [Column(f"thousands_{name}", name, "number") for name in results.allocations]
    for table, there, own, columns in (
        ("paper-text-vocabularies", results.corpora, read, ()),
        ("paper-text-pretraining", results.training_bytes, trained, ()),
        ("paper-allocated-sizes", results.allocations, sizes, more),
    ):
        if codes and there:
            tables.append(set_beside(results, table, own, more=columns, rows_of=codes))
    return tables


def _datasets(results: Results, runs: list[Run]) -> Table:
    """Table 6: the tasks, with the languages and models of this run."""
    own: Own = {}
    for row in printed("datasets"):
        task = row["task"]
        tuned = [run for run in runs if task in run.tuned.tasks and run.tuned.tasks[task].overall]
        counts = [len(run.tuned.tasks[task].languages) for run in tuned]
        models = listed([run.name for run in tuned], most=4) or NOT_RUN
        own[task,] = {
            "kind": row["kind"],
            "languages": max(counts, default=None),
            "models": models,
        }
    return set_beside(results, "paper-data-sets", own)


def group_scores(results: Results, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Every VOCAP model against the first JOINT one of the same T, loss, width and
    steps, by task and group.

    JOINT models are in the order of their tokenizers in the configuration. VOCAP means
    any allocation, as in Figure 4; one by sizes has the paper's beta. A score of a
    group is the mean over its languages that both models have one of, in percent; a
    language of no resource group is in none.
    """
    order = {name: place for place, name in enumerate(results.tokenizers)}
    scored = [run for run in runs if run.tuned.tasks and run.paper_beta and run.total is not None]
    scored.sort(key=lambda run: (run.total, order.get(run.tokenizer, len(order)), run.name))
    first: dict[tuple[Any, ...], Run] = {}  # JOINT run
    for run in scored:
        if run.kind_class.is_reference:
            first.setdefault(_alike(run), run)
    rows = []
    for task in GROUP_MEASURES:
        for run in scored:
            allocated = run.kind_class.allocated or run.kind in RULES
            if allocated and _alike(run) in first:
                rows += _group_rows(results, task, run, first[_alike(run)])
    return rows


def _alike(run: Run) -> tuple[Any, ...]:
    """What two runs that are compared share."""
    return run.total, run.loss, run.k, run.half, run.steps


def _group_rows(results: Results, task: str, vocap: Run, joint: Run) -> list[dict[str, Any]]:
    """A row for each resource group that has languages with scores of both."""
    if task not in vocap.tuned.tasks or task not in joint.tuned.tasks:
        return []
    measure = GROUP_MEASURES[task]
    own, other = vocap.tuned.tasks[task].languages, joint.tuned.tasks[task].languages
    rows = []
    for group in RESOURCES:
        codes = [code for code in own if code in other and results.resource(code) == group]
        if codes:
            row: dict[str, Any] = {
                "key": task,
                "task": TASK_NAMES[task],
                "total": vocap.size,
                "resource": group,
                "languages": len(codes),
                "codes": " ".join(codes),
            }
            for key, run, scores in zip(PAIR_KEYS, (joint, vocap), (other, own), strict=True):
                mean = statistics.fmean(scores[code][measure]["mean"] for code in codes)
                row |= {key: run.name, f"{key}_score": mean}
            low, high = (row[f"{key}_score"] for key in PAIR_KEYS)
            rows.append(row | {"gain": high - low})
    return rows


def _by_task(
    rows: list[dict[str, Any]], draw: Callable[[str, list[dict[str, Any]]], Figure], table: str
) -> list[PageBlock]:
    """A figure for each task, and the table of their numbers; nothing without rows."""
    blocks: list[PageBlock] = []
    for task in dict.fromkeys(row["key"] for row in rows):
        own = [row for row in rows if row["key"] == task]
        blocks.append(draw(task, own))
    if rows:
        blocks.append(specified(table, rows))
    return blocks


def _group_figure(task: str, rows: list[dict[str, Any]]) -> Figure:
    """Figure 6 of one task."""
    # a row of the chart is a group, with the models' names where T has several pairs
    joint, vocap = PAIR_KEYS
    models = {(row["total"], row[vocap], row[joint]) for row in rows}
    pairs = Counter(total for total, _, _ in models)
    for row in rows:
        row["row"] = f"{row['resource']}, {row['total']}"
        if pairs[row["total"]] > 1:
            row["row"] += f", {row[vocap]} and {row[joint]}"
    gains = "; ".join(f"{row['row']}: {signed(row['gain'])}" for row in rows)
    return drawn_as(
        "paper-figure-6",
        lambda: group_chart(rows),
        task,
        task=TASK_NAMES[task],
        measure=METRIC_NAMES[GROUP_MEASURES[task]],
        gains=gains,
        groups=counted(len(rows), "group"),
    )


def group_chart(rows: list[dict[str, Any]]) -> Chart:
    """JOINT and VOCAP of each group, joined by a line."""
    return joined_pairs(
        rows,
        "score",
        "_score",
        title="mean over languages (percent)",
        scale={"zero": False, "padding": 20},
        axis={"tickCount": 8, "grid": True},
        tooltip=tooltips(
            row="|group", model="", score=".2f|mean", gain="+.2f|VOCAP − JOINT", languages="d"
        ),
        label="",
    )


def cost_points(results: Results) -> list[dict[str, Any]]:
    """Every fine-tuned state of the models that have two or more of a task, by task,
    model and step.

    `hours`: of all devices up to the state; `score` in percent, of question answering
    the mean of F1 and EM. The paper's two tasks come first. A state without hours in
    its model's metrics is left out.
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
    """Hours of all devices up to a step, from the metrics: between two lines in
    proportion to the steps.
    """
    model = results.models[name]
    timed = [(row["step"], row["seconds"]) for row in model.rows if row.get("seconds") is not None]
    if not timed or step > timed[-1][0]:
        return None
    steps, seconds = zip((0, 0.0), *timed, strict=True)
    return float(np.interp(step, steps, seconds)) * (model.setting("processes") or 1) / 3600


def _cost_figure(task: str, rows: list[dict[str, Any]]) -> Figure:
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
