"""Tables 1 to 4: each row as the paper prints it, and below it this run's model of the same method."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

from vocap.allocation.rules import RULES
from vocap.finetuning.tasks import TASKS
from vocap.pretraining.loss_kinds import LOSSES
from vocap.report.page.tables import Column, Table
from vocap.report.paper.published import METRIC_NAMES, TASK_NAMES, measures, printed
from vocap.report.paper.runs import PAPER_STEPS, PAPER_TOTAL, Run, nearest, of_paper_beta, one_tokenizer
from vocap.tokenizers.settings import KINDS

NOT_RUN = "not run"
PAPER_SEEDS = "5"
PAPER_K = 50  # where a table has one k
KIND_NAMES = {name: kind.label for name, kind in KINDS.items()} | {
    name: name.upper() for name, rule in RULES.items() if rule.needs_text
}


@dataclass(frozen=True)
class Row:
    """One method: the paper's numbers, this run's model, or both."""

    method: str
    printed: dict[str, Any] | None
    run: Run | None


def xtreme_rows(runs: Sequence[Run]) -> list[Row]:
    """Table 1, then the models of another T, which no row of the paper describes.

    A run matches a row of the same kind of tokenizer, T, loss and embedding width, with the paper's beta and
    k; of several the one with most nearly the paper's steps.
    """
    candidates = [run for run in runs if run.loss in ("full", "knn") and run.kind in KIND_NAMES]
    candidates = [run for run in candidates if of_paper_beta(run) and run.kind != "mono"]
    rows = []
    known = {(row["tokenizer"], row["thousands"]) for row in printed("xtreme")}
    kinds, paper_totals = ({pair[place] for pair in known} for place in (0, 1))
    for row in printed("xtreme"):
        same = [
            run
            for run in candidates
            if (run.kind, run.loss, "yes" if run.half else "no") == (row["tokenizer"], row["loss"], row["half"])
            and run.total is not None
            and round(run.total / 1000) == row["thousands"]
            and run.k in (None, PAPER_K)
        ]
        rows.append(Row(row["method"], row, _by_steps(same, "xtreme")))
    others = [
        run
        for run in candidates
        if run.kind not in kinds or run.total is None or round(run.total / 1000) not in paper_totals
    ]
    others.sort(key=lambda run: (run.total or 0, list(KIND_NAMES).index(run.kind), run.half, run.loss, run.name))
    return rows + [Row(_described(run), None, run) for run in others]


def _described(run: Run) -> str:
    parts = [f"{KIND_NAMES[run.kind]} {run.size}".strip()]
    parts += ["k-NN"] * (run.loss == "knn") + ["half embeddings"] * run.half
    return ", ".join(parts)


def sampling_rows(runs: Sequence[Run]) -> list[Row]:
    """Table 2, for one VOCAP tokenizer; losses that the paper does not have follow."""
    group = one_tokenizer(_plain(runs), lambda run: run.loss)
    rows = []
    for row in printed("sampling"):
        same = [run for run in group if run.loss == row["loss"]]
        if row["k"] is not None and same:
            k = nearest(same, lambda run: run.k, row["k"]).k
            same = [run for run in same if run.k == k]
        rows.append(Row(row["method"], row, _by_steps(same, "sampling")))
    known = {row["loss"] for row in printed("sampling")}
    others = sorted({run.loss for run in group} - known)
    own = [_by_steps([run for run in group if run.loss == loss], "sampling") for loss in others]
    return rows + [Row(LOSSES[run.loss].label if run.loss in LOSSES else run.loss, None, run) for run in own]


def k_rows(runs: Sequence[Run]) -> list[Row]:
    """Table 3, for one VOCAP tokenizer; other k follow."""
    group = one_tokenizer([run for run in _plain(runs) if run.loss in ("full", "knn")], lambda run: run.k)
    found = {k: _by_steps([run for run in group if run.k == k], "k") for k in {run.k for run in group}}
    rows = [Row(row["method"], row, found.pop(None if row["k"] is None else int(row["k"]), None))
            for row in printed("k")]  # fmt: skip
    return rows + [Row(f"k = {k}", None, found[k]) for k in sorted(found)]


def beta_rows(runs: Sequence[Run]) -> list[Row]:
    """Table 4: full softmax, all at the T that has most values of beta; other values follow."""
    full = [run for run in runs if run.kind == "vocap" and run.loss == "full" and not run.half]
    full = [run for run in full if run.beta is not None]
    totals = sorted({run.total for run in full if run.total}, reverse=True)
    best = max(totals, key=lambda total: len({run.beta for run in full if run.total == total}), default=None)
    group = [run for run in full if run.total == best]
    found = {
        beta: _by_steps([run for run in group if run.beta == beta], "beta") for beta in {r.beta for r in group}
    }
    rows = [Row(row["method"], row, found.pop(row["beta"], None)) for row in printed("beta")]
    return rows + [Row(f"β = {beta:g}", None, found[beta]) for beta in sorted(found)]


def _plain(runs: Iterable[Run]) -> list[Run]:
    return [run for run in runs if run.kind == "vocap" and not run.half and of_paper_beta(run)]


def _by_steps(candidates: Iterable[Run], table: str) -> Run | None:
    return nearest(candidates, lambda run: run.steps, PAPER_STEPS[table])


@dataclass(frozen=True)
class Part:
    """One column, and where its cell comes from in a printed row and in a run."""

    column: Column
    printed: Callable[[dict[str, Any]], Any]
    run: Callable[[Run], Any]


def results_table(name: str, number: int, title: str, about: str, rows: Sequence[Row]) -> Table:
    """The rows as one table: the paper's line, then that of this run, which may be `not run`."""
    head = printed(name)[0]
    baseline = _baseline(rows)
    parts = [
        Part(Column("model", "Model"), lambda row: "", lambda run: run.name),
        Part(
            Column("total", "T", "number"),
            lambda row: int(1000 * row.get("thousands", PAPER_TOTAL / 1000)),
            lambda run: run.total,
        ),
        Part(Column("steps", "Steps", "number"), lambda row: PAPER_STEPS[name], lambda run: run.steps),
        Part(Column("seeds", "Seeds"), lambda row: PAPER_SEEDS, lambda run: run.tuned.seed_range),
    ]
    if "params_m" in head:
        column = Column("parameters_mi", "Parameters, 2^20", "number", 0)
        parts.append(Part(column, itemgetter("params_m"), lambda run: run.parameters and run.parameters / 2**20))
    if "speed" in head:
        column = Column("speed", "Speed", "number", 2)
        parts.append(Part(column, itemgetter("speed"), lambda run: _speed(run, baseline)))
        beside = f"to {baseline.name}" if baseline else "to a full softmax"
        about += (
            " Speed: training tokens per second, in the paper relative to its rows of 1.00, in this run relative "
            f"{beside}, on the same device only."
        )
    for measure in measures(name):
        parts.append(_score(measure))
    if "average" in head:
        column = Column("average", "Average", "number", 1)
        parts.append(
            Part(column, itemgetter("average"), lambda run: None if run.tuned.missing else run.tuned.average)
        )
    tasks = list(dict.fromkeys(task for task, _ in measures(name)))
    parts.append(Part(Column("remarks", "Remarks"), lambda row: "", partial(_remarks, tasks)))
    cells = []
    for row in rows:
        if row.printed is not None:
            cells.append((row.method, "the paper", *(part.printed(row.printed) for part in parts)))
        if row.run is not None:
            *values, remarks = (part.run(row.run) for part in parts)
            remarks = "; ".join(filter(None, (_other_k(row), remarks)))
            cells.append((row.method, "this run", *values, remarks))
        else:
            cells.append((row.method, "this run", NOT_RUN, *(None for _ in parts[1:])))
    columns = [Column("method", "Method"), Column("origin", "Numbers of"), *(part.column for part in parts)]
    return Table(f"paper-table-{number}", f"Table {number}: {title}", about, columns, cells)


def _score(measure: tuple[str, str]) -> Part:
    task, metric = measure
    several = sum(one == task for one, _ in measures("xtreme")) > 1
    title = f"{TASK_NAMES[task]} {METRIC_NAMES[metric]}" if several else TASK_NAMES[task]
    key = f"{task}_{metric}"
    return Part(Column(key, title, "number", 1), itemgetter(key), lambda run: run.tuned.scores.get(measure))


def _remarks(tasks: Sequence[str], run: Run) -> str:
    """Differences from the paper's measure: missing tasks, files that stood in for others."""
    if not run.tuned.scores:
        return "not fine-tuned"
    absent = [TASK_NAMES[task] for task in tasks if task in run.tuned.missing]
    said = [f"without {', '.join(absent)}"] if absent else []
    files = {*tasks, *(TASKS[task].training for task in tasks)}
    others = run.tuned.stand_ins.items()
    said += [f"{taken} for {file}" for file, taken in others if file.partition("/")[0] in files]
    return "; ".join(said)


def _other_k(row: Row) -> str:
    """The k of a run where it is neither the paper's nor the name of the line."""
    remark = f"k = {row.run.k}"
    paper_k = (row.printed or {}).get("k") or PAPER_K
    return remark if row.run.k not in (None, paper_k) and row.method != remark else ""


def _baseline(rows: Sequence[Row]) -> Run | None:
    """The run of speed 1: that of the paper's row of speed 1, else the smallest T with a full softmax."""
    for row in rows:
        if row.printed is not None and row.printed.get("speed") == 1.0 and row.run and row.run.tokens_per_s:
            return row.run
    full = [row.run for row in rows if row.run and row.run.loss == "full" and row.run.tokens_per_s]
    return min(full, key=lambda run: (run.total or 0, run.half, run.name), default=None)


def _speed(run: Run, baseline: Run | None) -> float | None:
    if baseline is None or not run.tokens_per_s or run.machine != baseline.machine:
        return None
    return run.tokens_per_s / baseline.tokens_per_s


RowsOf = Callable[[Sequence[Run]], list[Row]]
TABLES: dict[str, tuple[int, str, str, RowsOf]] = {
    "xtreme": (
        1,
        "results on XTREME",
        "Mean over each task’s languages, in percent; the average counts every task once, a question-answering "
        "task as the mean of F1 and EM. The paper’s models had 1M steps of batches of 256, and scores are "
        "means of five seeds of fine-tuning. It counts parameters in 2^20. Models of another T follow its rows.",
        xtreme_rows,
    ),
    "sampling": (
        2,
        "sampled softmax losses",
        "One VOCAP tokenizer (the paper’s has T = 500K), 0.5M steps in the paper, 50,000 negatives for target "
        "sampling, NCE and NEG. The paper prints 72.9 for POS under full softmax here, 71.8 in Tables 3 and 4.",
        sampling_rows,
    ),
    "k": (
        3,
        "neighbours of each target",
        "k-NN target sampling by k, with the full softmax above; one VOCAP tokenizer (the paper’s has T = 500K), "
        "0.5M steps in the paper.",
        k_rows,
    ),
    "beta": (
        4,
        "the exponent β of a language’s weight",
        "VOCAP allocated with different β (Equation 2), full softmax; T = 500K and 0.5M steps in the paper. β is "
        "read from the allocation of the model’s tokenizer.",
        beta_rows,
    ),
}


def results_tables(found: Sequence[Run]) -> list[Table]:
    """Tables 1 to 4."""
    return [
        results_table(name, number, title, about, rows_of(found))
        for name, (number, title, about, rows_of) in TABLES.items()
    ]
