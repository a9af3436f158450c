"""Tables 1 to 4 of the paper: its rows, each with this run's model that does the same."""

import statistics
from collections.abc import Mapping, Sequence
from operator import itemgetter
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
TABLES = [f"paper-table-{number}" for number in range(1, 5)]
# of the rows of Table 1: tokenizers of several languages, and those from elsewhere
KIND_NAMES = {name: kind.label for name, kind in KINDS.items() if kind.merged or not kind.made} | {
    name: name.upper() for name, rule in RULES.items() if rule.needs_text
}
# One pre-trained model: cells of Tables 1 to 4 by column, and what they are found by.
# `kind`: of its tokenizer, or the name of a rule that reads text, which the paper does not
# have; `beta`: of the tokenizer's allocation; `half`: embeddings of half the width; `speed`:
# tokens a second, the median over the lines of metrics; `machine`: speeds compare only on
# the same; `tuned`: the scores of its last state. Unknown values are None or empty.
Run = dict[str, Any]


def runs(results: Results) -> list[Run]:
    """Every masked model of the results, with the XTREME scores of its last state."""
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
    rule = results.text_rule(tokenizer) if tokenizer else None
    loss = model.setting("settings", "loss") or {}
    shape = model.setting("settings", "shape") or {}
    parameters = model.setting("parameters")
    speeds = [row["tokens_per_s"] for row in model.rows if row.get("tokens_per_s")]
    kind, total = "", model.setting("vocabulary")
    if tokenizer:
        kind = rule.name if rule else tokenizer.kind
        total = total or tokenizer.total
    return described(
        {
            "model": model.name,
            "tokenizer": name,
            "kind": kind,
            "total": total,
            "beta": allocation.setting("beta") if allocation else None,
            "loss": loss.get("kind") or "",
            "k": loss.get("k"),
            "half": shape.get("embedding_size") not in (None, shape.get("hidden")),
            "steps": model.rows[-1]["step"],
            "parameters_mi": parameters and parameters / 2**20,
            "speed": statistics.median(speeds) if speeds else None,
            "machine": (model.setting("device"), model.setting("processes")),
            "tuned": tuned,
        }
    )


def described(run: Run) -> Run:
    """The run, with what follows from its columns: those of `only` in the specification, and
    its names in the tables.
    """
    kind, total, beta = KINDS.get(run["kind"], Kind), run["total"], run["beta"]
    thousands, size = None, ""
    if total is not None:
        thousands = round(total / 1000)
        size = f"{thousands}K" if total >= 10_000 else f"{total:,}"
    names = [KIND_NAMES.get(run["kind"], ""), size]
    label = LOSSES[run["loss"]].label if run["loss"] in LOSSES else run["loss"]
    parts = []
    if run["loss"] == "knn":
        parts.append(label)
    if run["half"]:
        parts.append("half embeddings")
    return run | {
        "thousands": thousands,
        "size": size,
        "reference": kind.is_reference,
        "allocated": kind.allocated,
        "known": run["kind"] in KIND_NAMES,
        "paper_beta": beta is None or abs(beta - PAPER_BETA) < 1e-9,
        "allotted": beta is not None and bool(total),
        "loss_label": label,
        "name": ", ".join(filter(None, [" ".join(filter(None, names)), *parts])),
    }


def table_rows(name: str, runs: Sequence[Run]) -> list[tuple[str, dict[str, Any], Run | None]]:
    """The method, the paper's numbers and the run of each row of the paper, then the runs of
    other methods, without numbers.

    A method is the values of the table's `match` columns. Of several runs of one the
    table takes that of the k nearest to the paper's, then of most nearly its steps.
    """
    spec = specification()[name]
    method = itemgetter(*spec["match"])

    def distance(run: Run) -> tuple[int, int, str]:
        steps = abs(run["steps"] - spec["steps"])
        return abs((run["k"] or PAPER_K) - PAPER_K), steps, run["model"]

    found: dict[Any, Run] = {}
    for run in sorted(_comparable(spec, runs), key=distance):
        found.setdefault(method(run), run)
    rows = [(row["method"], row, found.pop(method(row), None)) for row in printed(spec["printed"])]
    others = sorted(
        found.values(),
        key=lambda run: (run["total"] or 0, run["kind"], run["loss"], run["k"] or 0, run["name"]),
    )
    return rows + [(spec["label"].format_map(run), {}, run) for run in others]


def _comparable(spec: Mapping[str, Any], runs: Sequence[Run]) -> list[Run]:
    """The runs that a table compares: those of its values `only`, and of one value of
    `same`: that with the most different methods, of equals the T nearest to 500K.
    """
    runs = [run for run in runs if all(run[key] in spec["only"][key] for key in spec["only"])]
    if "same" not in spec:
        return runs
    groups: dict[Any, list[Run]] = {}
    for run in sorted(
        runs, key=lambda run: (abs((run["total"] or 0) - PAPER_TOTAL), run["tokenizer"])
    ):
        groups.setdefault(run[spec["same"]], []).append(run)
    method = itemgetter(*spec["match"])
    return max(groups.values(), key=lambda group: len(set(map(method, group))), default=[])


def results_table(name: str, runs: Sequence[Run]) -> Table:
    """One of Tables 1 to 4: the paper's line, then that of this run, which may be `not
    run`. Speeds are those over the first run with a full softmax, on its machine.
    """
    spec, rows = specification()[name], table_rows(name, runs)
    begins = {column.partition("_")[0] for column in spec["columns"]}
    tasks = [task for task in TASKS if task in begins]
    timed = (run for _, _, run in rows if run and run["loss"] == "full" and run["speed"])
    baseline = next(timed, None)
    lines = []
    for method, row, run in rows:
        if row:
            total = int(1000 * row.get("thousands", PAPER_TOTAL / 1000))
            fixed = {"total": total, "steps": spec["steps"], "seeds": "5", "origin": "the paper"}
            lines.append({**row, **fixed, "parameters_mi": row.get("params_m")})
        line: Run = {"method": method, "origin": "this run", "model": NOT_RUN}
        if run:
            tuned, speed = run["tuned"], None
            if baseline and run["speed"] and run["machine"] == baseline["machine"]:
                speed = run["speed"] / baseline["speed"]
            absent = [TASK_NAMES[task] for task in tasks if task in tuned.missing]
            k = row.get("k") or PAPER_K
            remarks = sentence("remarks", run=run, method=method, paper_k=k, absent=absent)
            scores = {f"{task}_{metric}": mean for (task, metric), mean in tuned.scores.items()}
            average = None if tuned.missing else tuned.average
            found = {"seeds": tuned.seed_range, "average": average, "remarks": remarks.unescape()}
            line = {**line, **run, **scores, **found, "speed": speed}
        lines.append(line)
    beside = f"to {baseline['model']}" if baseline else "to a full softmax"
    return specified(name, lines, beside=beside)
