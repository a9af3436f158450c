"""The part of the page on the paper: its tables and figures, and below each row this
run's that does the same.
"""

import re
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import altair as alt
import numpy as np

from vocap.allocation.rules import RULES
from vocap.correlation.study import Coefficients, Measured, correlations
from vocap.errors import listed
from vocap.finetuning.metrics import task_score
from vocap.finetuning.tasks import TASKS
from vocap.languages import RESOURCES
from vocap.pretraining.loss_kinds import LOSSES
from vocap.report.data.results import Finetuned, Model, Results
from vocap.report.page.blocks import Block, Fold, Note, Section, Text, counted, text_of
from vocap.report.page.figures import (
    COLOURS,
    PAIR,
    WIDTH,
    Figure,
    joined_pairs,
    line_chart,
    scatter,
    tooltips,
)
from vocap.report.page.tables import Column, Table, caption, signed, specification, specified
from vocap.report.paper import (
    METRIC_NAMES,
    SOURCE,
    TASK_NAMES,
    on_paper_languages,
    paper_size,
    printed,
)
from vocap.tokenizers.settings import KINDS

NOT_RUN = "not run"
PAPER_BETA = 0.7
PAPER_TOTAL = 500_000  # of Tables 2 to 4
PAPER_K = 50  # where a table has one k
TABLES = {
    name: f"paper-table-{number}"
    for number, name in enumerate(("xtreme", "sampling", "k", "beta"), start=1)
}
KIND_NAMES = {name: kind.label for name, kind in KINDS.items()} | {
    name: name.upper() for name, rule in RULES.items() if rule.needs_text
}
GB = 1e9
FIGURES = {"udpos": 2, "panx": 3}  # the paper's numbers
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross"]
GROUP_MEASURES = {"xnli": "acc", "panx": "f1"}  # of Figure 6
COST_TASKS = ("xnli", "mlqa")  # of Figure 5
# kinds of an allocation
ALLOCATED = (
    "vocap",
    *(name for name, rule in RULES.items() if rule.needs_text),
)
ITEMS = [
    *(f"Table {number}" for number in range(1, 5)),
    "Figure 2",
    "Figure 3",
    "Figure 5",
    "Figure 6",
]
# of this part; the last ones are the appendix's
ITEMS += [f"Table {number}" for number in range(5, 10)]


@dataclass(frozen=True)
class Run:
    """One pre-trained model. Unknown values are None or empty."""

    name: str
    tokenizer: str  # its name
    # of the tokenizer, or the name of a rule that reads text, which the paper does not
    # have
    kind: str
    total: int | None  # T
    beta: float | None  # of the tokenizer's allocation
    loss: str  # its kind
    k: int | None
    half: bool  # embeddings of half the width
    steps: int
    parameters: int | None
    tokens_per_s: float | None  # the median over the lines of metrics
    machine: tuple[Any, Any]  # device and processes: speeds compare only on the same
    tuned: Finetuned = field(default_factory=lambda: Finetuned(""))  # the scores of its last state

    @property
    def size(self) -> str:
        """T as the paper writes it, empty where it is not known."""
        if self.total is None:
            return ""
        return f"{self.thousands}K" if self.total >= 10_000 else f"{self.total:,}"

    @property
    def thousands(self) -> int | None:
        return None if self.total is None else round(self.total / 1000)

    @property
    def paper_beta(self) -> bool:
        """Whether its allocation has the paper's beta, or an unknown one."""
        return self.beta is None or abs(self.beta - PAPER_BETA) < 1e-9


def runs(results: Results) -> list[Run]:
    """Every pre-trained model of the results, with the XTREME scores of its last
    state.
    """
    tuned = {model: name for name, (model, step) in origins(results).items() if step is None}
    return [
        _run(results, model, results.finetuned[tuned[name]] if name in tuned else Finetuned(""))
        for name, model in results.models.items()
        if model.objective == "masked"
    ]


def origins(results: Results) -> dict[str, tuple[str, int | None]]:
    """The pre-trained model and its step (None: the last) of each fine-tuned model that
    comes from one here.

    The configuration's `finetuning: models` gives them; without these a model has the
    name of its origin. A later name of one origin is left out.
    """
    found: dict[str, tuple[str, int | None]] = {}
    for name in results.finetuned:
        entry = results.section("finetuning", "models", name)
        origin = (entry.get("model") or name, entry.get("step"))
        elsewhere = (
            entry.get("path") or entry.get("weights") == "random" or origin[0] not in results.models
        )
        if not elsewhere and origin not in found.values():
            found[name] = origin
    return found


def _run(results: Results, model: Model, tuned: Finetuned) -> Run:
    name = model.setting("tokenizer") or ""
    tokenizer = results.tokenizers.get(name)
    allocation = (
        results.allocation_of(tokenizer) if tokenizer and tokenizer.kind == "vocap" else None
    )
    by_text = allocation is not None and allocation.rule is not None and allocation.rule.needs_text
    embedding = model.setting("settings", "shape", "embedding_size")
    speeds = [row["tokens_per_s"] for row in model.rows if row.get("tokens_per_s")]
    return Run(
        name=model.name,
        tokenizer=name,
        kind=allocation.rule.name if by_text else tokenizer.kind if tokenizer else "",
        total=model.setting("vocabulary") or (tokenizer.total if tokenizer else None),
        beta=allocation.setting("beta") if allocation else None,
        loss=model.setting("settings", "loss", "kind") or "",
        k=model.setting("settings", "loss", "k"),
        half=embedding is not None and embedding != model.setting("settings", "shape", "hidden"),
        steps=model.rows[-1]["step"],
        parameters=model.setting("parameters"),
        tokens_per_s=statistics.median(speeds) if speeds else None,
        machine=(model.setting("device"), model.setting("processes")),
        tuned=tuned,
    )


@dataclass(frozen=True)
class Row:
    """One method: the paper's numbers, this run's model, or both."""

    method: str
    printed: dict[str, Any] | None
    run: Run | None


def table_rows(name: str, runs: Sequence[Run]) -> list[Row]:
    """The paper's rows of one table, each with the run of the same method, then the
    runs of other methods.

    A method is the values of the table's `match` columns. Of several runs of one the
    table takes that of the k nearest to the paper's, then of most nearly its steps;
    Table 1 has a line for each run of another T or kind.
    """
    spec = specification()[TABLES[name]]
    runs = _comparable(name, runs)
    runs.sort(
        key=lambda run: (
            abs((run.k or PAPER_K) - PAPER_K),
            abs(run.steps - spec["steps"]),
            run.name,
        )
    )
    found: dict[tuple, Run] = {}
    for run in runs:
        found.setdefault(tuple(getattr(run, column) for column in spec["match"]), run)
    rows = [
        Row(row["method"], row, found.pop(tuple(row[column] for column in spec["match"]), None))
        for row in printed(name)
    ]
    others = list(found.values())
    if name == "xtreme":
        known = [{row[column] for row in printed(name)} for column in ("kind", "thousands")]
        others = [run for run in runs if run.kind not in known[0] or run.thousands not in known[1]]
        others.sort(
            key=lambda run: (
                run.total or 0,
                list(KIND_NAMES).index(run.kind),
                run.half,
                run.loss,
                run.name,
            )
        )
    elif name == "sampling":
        others.sort(key=lambda run: run.loss)
    else:
        others.sort(key=lambda run: getattr(run, name) or 0)
    return rows + [Row(_method(name, run), None, run) for run in others]


def _comparable(name: str, runs: Sequence[Run]) -> list[Run]:
    """The runs that a table compares: in Tables 2 to 4 those that differ in its own
    variety alone.
    """
    if name == "xtreme":
        usual = [run for run in runs if run.loss in ("full", "knn") and run.paper_beta]
        return [run for run in usual if run.kind in KIND_NAMES and run.kind != "mono"]
    wide = [run for run in runs if run.kind == "vocap" and not run.half]
    if name == "beta":
        full = [run for run in wide if run.loss == "full" and run.beta is not None and run.total]
        return _most_varied(full, lambda run: run.total, lambda run: run.beta)
    plain = [run for run in wide if run.paper_beta]
    if name == "k":
        plain = [run for run in plain if run.loss in ("full", "knn")]
    return _most_varied(
        plain, lambda run: run.tokenizer, lambda run: run.k if name == "k" else run.loss
    )


def _most_varied(
    runs: list[Run], same: Callable[[Run], Any], variety: Callable[[Run], Any]
) -> list[Run]:
    """The runs of one value of `same` with most different values of `variety`; of
    equals the T nearest to 500K.
    """
    groups: dict[Any, list[Run]] = {}
    for run in runs:
        groups.setdefault(same(run), []).append(run)

    def order(group: list[Run]) -> tuple[int, int, str]:
        away = abs((group[0].total or 0) - PAPER_TOTAL)
        return -len({variety(run) for run in group}), away, group[0].tokenizer

    return min(groups.values(), key=order, default=[])


def _method(name: str, run: Run) -> str:
    """A method that the paper does not have, as a table names it."""
    if name == "xtreme":
        parts = [f"{KIND_NAMES[run.kind]} {run.size}".strip()]
        return ", ".join(parts + ["k-NN"] * (run.loss == "knn") + ["half embeddings"] * run.half)
    if name == "sampling":
        return LOSSES[run.loss].label if run.loss in LOSSES else run.loss
    return f"k = {run.k}" if name == "k" else f"β = {run.beta:g}"


def results_table(name: str, runs: Sequence[Run]) -> Table:
    """One of Tables 1 to 4: the paper's line, then that of this run, which may be `not
    run`.
    """
    rows = table_rows(name, runs)
    spec = specification()[TABLES[name]]
    tasks = [
        task for task in TASKS if any(column.startswith(f"{task}_") for column in spec["columns"])
    ]
    baseline = _baseline(rows)
    lines = []
    for row in rows:
        if row.printed is not None:
            thousands = row.printed.get("thousands", PAPER_TOTAL / 1000)
            fixed = {"total": int(1000 * thousands), "steps": spec["steps"], "seeds": "5"}
            fixed |= {"origin": "the paper", "parameters_mi": row.printed.get("params_m")}
            lines.append({**row.printed, **fixed})
        line = {"method": row.method, "origin": "this run", "model": NOT_RUN}
        lines.append(line if row.run is None else {**line, **_cells(row, baseline, tasks)})
    table = specified(TABLES[name], lines)
    if "speed" not in spec["columns"]:
        return table
    beside = f"to {baseline.name}" if baseline else "to a full softmax"
    speed = (
        " Speed: training tokens per second, in the paper relative to its rows of 1.00, in this "
        "run relative "
        f"{beside}, on the same device only."
    )
    return replace(table, caption=caption(TABLES[name]) + speed)


def _cells(row: Row, baseline: Run | None, tasks: Sequence[str]) -> dict[str, Any]:
    """The cells of this run's line, by column."""
    run = row.run
    comparable = baseline is not None and run.tokens_per_s and run.machine == baseline.machine
    paper_k = (row.printed or {}).get("k") or PAPER_K
    other_k = (
        f"k = {run.k}" if run.k not in (None, paper_k) and row.method != f"k = {run.k}" else ""
    )
    return {
        "model": run.name,
        "total": run.total,
        "steps": run.steps,
        "seeds": run.tuned.seed_range,
        "parameters_mi": run.parameters and run.parameters / 2**20,
        "speed": run.tokens_per_s / baseline.tokens_per_s if comparable else None,
        "average": None if run.tuned.missing else run.tuned.average,
        "remarks": "; ".join(filter(None, (other_k, _remarks(tasks, run)))),
        **{f"{task}_{metric}": score for (task, metric), score in run.tuned.scores.items()},
    }


def _remarks(tasks: Sequence[str], run: Run) -> str:
    """Tasks that the paper's measure has and this run lacks."""
    if not run.tuned.scores:
        return "not fine-tuned"
    absent = [TASK_NAMES[task] for task in tasks if task in run.tuned.missing]
    return f"without {', '.join(absent)}" if absent else ""


def _baseline(rows: Sequence[Row]) -> Run | None:
    """The run of speed 1: that of the paper's row of speed 1, else the smallest T with
    a full softmax.
    """
    timed = [row for row in rows if row.run and row.run.tokens_per_s]
    for row in timed:
        if row.printed is not None and row.printed.get("speed") == 1.0:
            return row.run
    full = [row.run for row in timed if row.run.loss == "full"]
    return min(full, key=lambda run: (run.total or 0, run.half, run.name), default=None)


def section(results: Results) -> Section:
    """The tables and figures that this run has numbers for, folded, and the names of
    the others.
    """
    found = runs(results)
    tables = [results_table(name, found) for name in TABLES]
    groups, costs = group_blocks(group_scores(results, found)), cost_blocks(cost_points(results))
    trained = [
        table for table in tables if any(row[2] not in (None, NOT_RUN) for row in table.rows)
    ]
    models, study, data = (
        [*trained, *groups, *costs],
        correlation_blocks(results),
        data_tables(results, found),
    )
    parts = {
        "Models and scores": models,
        "Correlation of ALP with scores": study,
        "Data and sizes": data,
    }
    made = [block for part in parts.values() for block in part]
    blocks: list[Block] = []
    if made:
        blocks.append(
            Text(f"Every number of “the paper” is as printed in {SOURCE}. {caption('paper')}")
        )
    titles = " ".join(block.title for block in made if not isinstance(block, Text))
    if absent := [item for item in ITEMS if not re.search(rf"{item}\b", titles)]:
        blocks.append(Note(f"Not in this run: {', '.join(absent)}. {caption('paper-absent')}"))
    blocks += [Fold(title, part) for title, part in parts.items() if part]
    return Section("paper", "The paper’s tables and figures, and this run’s", "The paper", blocks)


def correlation_blocks(results: Results) -> list[Block]:
    """The figures and the table, of a study that was run."""
    if not results.correlation:
        return []
    found = correlations(results.correlation, results.unreached)
    both = [one for one in found if one.rho_alp is not None and one.rho_size is not None]
    blocks: list[Block] = []
    if both:
        higher = sum(one.rho_alp > one.rho_size for one in both)
        blocks.append(
            Text(
                "In this run ALP correlates with F1 more strongly than the size of the "
                "vocabulary does in "
                f"{higher} of {counted(len(both), 'pair')} of a language and a task; in the paper "
                "in 6 of 8."
            )
        )
    for task in FIGURES:
        points = [point for point in results.correlation if point.task == task]
        if points:
            blocks.append(
                _figure(results, task, points, [one for one in found if one.task == task])
            )
    return [*blocks, _correlations(results, found)]


def _figure(
    results: Results, task: str, points: list[Measured], found: list[Coefficients]
) -> Figure:
    """Figure 2 or 3."""
    name, number = TASK_NAMES[task], FIGURES[task]
    said = "; ".join(
        f"{results.name(one.language)}: "
        + (f"ρ = {one.rho_alp:.3f}" if one.rho_alp is not None else "no ρ")
        for one in found
    ).replace("-", "−")
    holes = "; ".join(
        f"{results.name(code)}: {', '.join(f'{size:,}' for size in results.unreached[code])}"
        for code in dict.fromkeys(point.language for point in points)
        if code in results.unreached
    )
    holes = f" Sizes that the text does not reach have no point: {holes}." if holes else ""
    return Figure(
        f"paper-figure-{number}",
        f"Figure {number}: {name} F1 against ALP",
        caption("paper-figure-2-and-3", task=name, said=said, holes=holes),
        f"Scatter chart of {counted(len(points), 'vocabulary', 'vocabularies')}; {said}.",
        lambda: _points(results, points),
        table="paper-correlation",
    )


def _points(results: Results, points: Sequence[Measured]) -> alt.LayerChart:
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
    """Table 5: a row for each language and task of the paper, then of this run."""
    pairs = {
        (row["language"], row["task"]): {
            "paper_rho_alp": row["rho_alp"],
            "paper_rho_size": row["rho_size"],
        }
        for row in printed("correlation")
    }
    for one in found:
        numbers = {key: getattr(one, key) for key in ("rho_alp", "rho_size", "sizes", "holes")}
        pairs.setdefault((one.language, one.task), {}).update(numbers)
    rows = []
    for (language, task), numbers in pairs.items():
        points = [
            point
            for point in results.correlation
            if (point.language, point.task) == (language, task)
        ]
        row = {**numbers, **results.about(language), "task": TASK_NAMES.get(task, task)}
        row["remarks"] = "" if points else "not run"
        if any(point.split != "test" for point in points):
            row["remarks"] = "development file: the test labels are withheld"
        row["seeds"] = min((point.seeds for point in points), default=None)
        row["steps"] = max((point.steps for point in points), default=None)
        rows.append(row)
    return specified("paper-correlation", rows)


def data_tables(results: Results, runs: list[Run]) -> list[Table]:
    """Tables 6 to 9, where the run has numbers for them; the last three only on the
    paper's languages.
    """
    tables = [_datasets(runs)] if any(run.tuned.scores for run in runs) else []
    if not on_paper_languages(results.languages):
        return tables
    if results.corpora:
        read = {
            code: {
                "read_gb": stats["bytes"] / GB,
                "lines": results.lines(code),
                "source": text_of(stats.get("source")),
            }
            for code, stats in results.corpora.items()
            if stats.get("kept")
        }
        tables.append(_by_language(results, "paper-text-vocabularies", "paper_cc_gb", read))
    if results.training_bytes:
        trained = {code: {"trained_gb": size / GB} for code, size in results.training_bytes.items()}
        tables.append(
            _by_language(results, "paper-text-pretraining", "paper_wikipedia_gb", trained)
        )
    if results.allocations:
        sizes: dict[str, dict[str, float]] = {code: {} for code in results.languages}
        for name, entry in results.allocations.items():
            for code, size in entry.sizes.items():
                if size is not None:
                    sizes.setdefault(code, {})[f"thousands_{name}"] = size / 1000
        more = [Column(f"thousands_{name}", name, "number") for name in results.allocations]
        tables.append(
            _by_language(results, "paper-allocated-sizes", "paper_allocated_thousands", sizes, more)
        )
    return tables


def _datasets(runs: list[Run]) -> Table:
    """Table 6: the tasks, with the languages and models of this run."""
    rows = []
    for row in printed("datasets"):
        tuned = [
            run
            for run in runs
            if row["task"] in run.tuned.tasks and run.tuned.tasks[row["task"]].overall
        ]
        languages = max(
            (len(run.tuned.tasks[row["task"]].languages) for run in tuned), default=None
        )
        models = listed([run.name for run in tuned], most=4) or "not run"
        paper = {
            "paper_train_examples": int(row["train_examples"]),
            "paper_languages": int(row["languages"]),
        }
        about = {
            "task": TASK_NAMES[row["task"]],
            "kind": row["kind"],
            "languages": languages,
            "models": models,
        }
        rows.append({**paper, **about})
    return specified("paper-data-sets", rows)


def _by_language(
    results: Results,
    name: str,
    column: str,
    cells: dict[str, dict[str, Any]],
    more: Sequence[Column] = (),
) -> Table:
    """One of Tables 7 to 9: the paper's `column` of each language beside this run's
    cells.
    """
    key = column.replace("allocated_", "")
    rows = [
        {**results.about(code), key: paper_size(code, column), **cells.get(code, {})}
        for code in results.languages
    ]
    return specified(name, rows, more)


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

    def alike(run: Run) -> tuple:
        return run.total, run.loss, run.k, run.half, run.steps

    rows = []
    for task, measure in GROUP_MEASURES.items():
        for vocap in scored:
            baselines = [
                run for run in scored if run.kind == "joint" and alike(run) == alike(vocap)
            ]
            if vocap.kind not in ALLOCATED or not baselines:
                continue
            pair = (vocap, baselines[0])
            tables = [
                run.tuned.tasks[task].languages if task in run.tuned.tasks else {} for run in pair
            ]
            for group in RESOURCES:
                codes = [
                    code
                    for code in tables[0]
                    if code in tables[1] and results.resource(code) == group
                ]
                if codes:
                    means = [
                        statistics.fmean(table[code][measure]["mean"] for code in codes)
                        for table in tables
                    ]
                    row = {
                        "key": task,
                        "task": TASK_NAMES[task],
                        "total": vocap.size,
                        "resource": group,
                    }
                    row |= {
                        "languages": len(codes),
                        "codes": " ".join(codes),
                        "gain": means[0] - means[1],
                    }
                    for name, run, mean in zip(("vocap", "joint"), pair, means, strict=True):
                        row |= {name: run.name, f"{name}_score": mean}
                    rows.append(row)
    return rows


def group_blocks(rows: list[dict[str, Any]]) -> list[Block]:
    """Figure 6, one for each task, and its numbers."""
    tasks = dict.fromkeys(row["key"] for row in rows)
    figures = [_group_figure(task, [row for row in rows if row["key"] == task]) for task in tasks]
    return [*figures, *([specified("paper-groups", rows)] if rows else [])]


def _group_figure(task: str, rows: list[dict[str, Any]]) -> Figure:
    # a row of the chart is a group, with the models' names where T has several pairs
    pairs = Counter(
        total for total, _, _ in {(row["total"], row["vocap"], row["joint"]) for row in rows}
    )
    for row in rows:
        label = f"{row['resource']}, {row['total']}"
        row["row"] = (
            label if pairs[row["total"]] == 1 else f"{label}, {row['vocap']} and {row['joint']}"
        )
    gains = "; ".join(f"{row['row']}: {signed(row['gain'])}" for row in rows)
    name, measure = TASK_NAMES[task], METRIC_NAMES[GROUP_MEASURES[task]]
    return Figure(
        f"paper-figure-6-{task}",
        f"Figure 6: {name} by resource group",
        caption("paper-figure-6", task=name, measure=measure, key=task, gains=gains),
        f"Chart of the mean {measure} of {counted(len(rows), 'group')} under VOCAP and JOINT. "
        "Differences: "
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
    lines, marks = joined_pairs(
        rows, ends, fields, "score", title="mean over languages (percent)", **axis
    )
    shown = tooltips(
        row="|group", model="", score=".2f|mean", gain="+.2f|VOCAP − JOINT", languages="d"
    )
    return alt.layer(lines, marks.encode(tooltip=shown)).properties(
        width=WIDTH, height=30 * len(rows)
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


def cost_blocks(rows: list[dict[str, Any]]) -> list[Block]:
    """Figure 5, a panel a task with a line a model, and its numbers."""
    tasks = dict.fromkeys(row["key"] for row in rows)
    figures = [_cost_figure(task, [row for row in rows if row["key"] == task]) for task in tasks]
    return [*figures, *([specified("paper-costs", rows)] if rows else [])]


def _cost_figure(task: str, rows: list[dict[str, Any]]) -> Figure:
    name = TASK_NAMES[task]
    names = [METRIC_NAMES[metric] for metric in TASKS[task].metrics]
    measure = names[0] if len(names) == 1 else f"mean of {' and '.join(names)}"
    places = (
        ("hours", "hours of pre-training, all devices"),
        ("score", f"{name}, {measure} (percent)"),
    )
    shown = tooltips(model="", step=",d", hours=",.3f", score=".2f")
    return Figure(
        f"paper-figure-5-{task}",
        f"Figure 5: {name} against the cost of pre-training",
        caption("paper-figure-5", task=name, measure=measure),
        f"Line chart of {counted(len({row['model'] for row in rows}), 'model')} over hours of "
        "training.",
        lambda: line_chart(rows, *places, shown),
        table="paper-costs",
    )
