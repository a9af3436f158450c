"""Tables 1 to 4 of the paper: its rows, each with this run's model that does the same."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any

from vocap.allocation.rules import RULES
from vocap.finetuning.tasks import TASKS
from vocap.pretraining.loss_kinds import LOSSES
from vocap.report.data.results import Finetuned, ModelResults, Results
from vocap.report.page.rendering import sentence
from vocap.report.page.tables import Table, specification, specified
from vocap.report.paper import TASK_NAMES, printed
from vocap.tokenizers.settings import KINDS, Kind

NOT_RUN = "not run"
PAPER_BETA = 0.7
PAPER_TOTAL = 500_000  # of Tables 2 to 4
PAPER_K = 50  # where a table has one k
TABLES = {
    name: f"paper-table-{number}"
    for number, name in enumerate(("xtreme", "sampling", "k", "beta"), start=1)
}
# of the rows of Table 1: tokenizers of several languages, and those from elsewhere
KIND_NAMES = {name: kind.label for name, kind in KINDS.items() if kind.merged or not kind.made} | {
    name: name.upper() for name, rule in RULES.items() if rule.needs_text
}


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
    def kind_class(self) -> type[Kind]:
        """The class that answers for its kind; none of an allocation by a rule that reads text."""
        return KINDS.get(self.kind, Kind)

    @property
    def allocated(self) -> bool:
        """Whether its tokenizer is VOCAP's."""
        return self.kind_class.allocated

    @property
    def allotted(self) -> bool:
        """Whether beta and T are known."""
        return self.beta is not None and bool(self.total)

    @property
    def known(self) -> bool:
        """Whether Table 1 has lines of its kind."""
        return self.kind in KIND_NAMES

    @property
    def loss_label(self) -> str:
        return LOSSES[self.loss].label if self.loss in LOSSES else self.loss

    @property
    def method(self) -> str:
        """As Table 1 names it."""
        parts = [f"{KIND_NAMES[self.kind]} {self.size}".strip()]
        if self.loss == "knn":
            parts.append("k-NN")
        if self.half:
            parts.append("half embeddings")
        return ", ".join(parts)

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


def _run(results: Results, model: ModelResults, tuned: Finetuned) -> Run:
    name = model.setting("tokenizer") or ""
    tokenizer = results.tokenizers.get(name)
    allocation = results.allocation_of(tokenizer) if tokenizer else None
    kind = tokenizer.kind if tokenizer else ""
    if tokenizer and (rule := results.text_rule(tokenizer)):
        kind = rule.name
    embedding = model.setting("settings", "shape", "embedding_size")
    speeds = [row["tokens_per_s"] for row in model.rows if row.get("tokens_per_s")]
    return Run(
        name=model.name,
        tokenizer=name,
        kind=kind,
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
class MethodRow:
    """One method: the paper's numbers, this run's model, or both."""

    method: str
    printed: dict[str, Any] | None
    run: Run | None


def table_rows(name: str, runs: Sequence[Run]) -> list[MethodRow]:
    """The paper's rows of one table, each with the run of the same method, then the
    runs of other methods.

    A method is the values of the table's `match` columns. Of several runs of one the
    table takes that of the k nearest to the paper's, then of most nearly its steps.
    """
    spec = specification()[TABLES[name]]
    runs = _comparable(spec, runs)
    runs.sort(
        key=lambda run: (
            abs((run.k or PAPER_K) - PAPER_K),
            abs(run.steps - spec["steps"]),
            run.name,
        )
    )
    method_of = attrgetter(*spec["match"])
    found: dict[Any, Run] = {}
    for run in runs:
        found.setdefault(method_of(run), run)
    rows = []
    for row in printed(name):
        method = itemgetter(*spec["match"])(row)
        rows.append(MethodRow(row["method"], row, found.pop(method, None)))
    others = sorted(
        found.values(),
        key=lambda run: (
            run.total or 0,
            run.kind,
            run.half,
            run.loss,
            run.k or 0,
            run.beta or 0,
        ),
    )
    return rows + [MethodRow(spec["label"].format(run=run), None, run) for run in others]


def _comparable(spec: Mapping[str, Any], runs: Sequence[Run]) -> list[Run]:
    """The runs that a table compares: those of its values `only`, and of one value of
    `same`: that with the most different methods, of equals the T nearest to 500K.
    """
    runs = list(runs)
    for key, values in spec["only"].items():
        runs = [run for run in runs if getattr(run, key) in values]
    if "same" not in spec:
        return runs
    groups: dict[Any, list[Run]] = {}
    method_of = attrgetter(*spec["match"])
    for run in runs:
        groups.setdefault(getattr(run, spec["same"]), []).append(run)

    def order(group: list[Run]) -> tuple[int, int, str]:
        away = abs((group[0].total or 0) - PAPER_TOTAL)
        return -len(set(map(method_of, group))), away, group[0].tokenizer

    return min(groups.values(), key=order, default=[])


def results_table(name: str, runs: Sequence[Run]) -> Table:
    """One of Tables 1 to 4: the paper's line, then that of this run, which may be `not
    run`.
    """
    rows = table_rows(name, runs)
    spec = specification()[TABLES[name]]
    begins = {column.partition("_")[0] for column in spec["columns"]}
    tasks = [task for task in TASKS if task in begins]
    baseline = _baseline(rows)
    lines = []
    for row in rows:
        if row.printed is not None:
            thousands = row.printed.get("thousands", PAPER_TOTAL / 1000)
            fixed = {"total": int(1000 * thousands), "steps": spec["steps"], "seeds": "5"}
            fixed |= {"origin": "the paper", "parameters_mi": row.printed.get("params_m")}
            lines.append({**row.printed, **fixed})
        line = {"method": row.method, "origin": "this run", "model": NOT_RUN}
        lines.append({**line, **_cells(row, row.run, baseline, tasks)} if row.run else line)
    beside = f"to {baseline.name}" if baseline else "to a full softmax"
    return specified(TABLES[name], lines, beside=beside)


def _cells(row: MethodRow, run: Run, baseline: Run | None, tasks: Sequence[str]) -> dict[str, Any]:
    """The cells of this run's line, by column."""
    speed = None
    if baseline and baseline.tokens_per_s and run.tokens_per_s and run.machine == baseline.machine:
        speed = run.tokens_per_s / baseline.tokens_per_s
    paper_k = (row.printed or {}).get("k") or PAPER_K
    absent = [TASK_NAMES[task] for task in tasks if task in run.tuned.missing]
    remarks = sentence("remarks", run=run, method=row.method, paper_k=paper_k, absent=absent)
    return {
        "model": run.name,
        "total": run.total,
        "steps": run.steps,
        "seeds": run.tuned.seed_range,
        "parameters_mi": run.parameters and run.parameters / 2**20,
        "speed": speed,
        "average": None if run.tuned.missing else run.tuned.average,
        "remarks": remarks.unescape(),
        **{f"{task}_{metric}": score for (task, metric), score in run.tuned.scores.items()},
    }


def _baseline(rows: Sequence[MethodRow]) -> Run | None:
    """The run of speed 1: that of the paper's row of speed 1, else the smallest T with
    a full softmax.
    """
    timed = [(row.run, row.printed) for row in rows if row.run and row.run.tokens_per_s]
    for run, paper in timed:
        if paper is not None and paper.get("speed") == 1.0:
            return run
    full = [run for run, _ in timed if run.loss == "full"]
    return min(full, key=lambda run: (run.total or 0, run.half, run.name), default=None)
