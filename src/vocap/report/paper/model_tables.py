"""Tables 1 to 4 of the paper: its rows, each with this run's model that does the same."""

import statistics
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from vocap.allocation.rules import RULES
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
        _run(results, model, results.finetuned.get(tuned.get(name, ""), Finetuned("")))
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
        elsewhere = entry.get("path") or entry.get("weights") == "random"
        if origin[0] in results.models and not elsewhere and origin not in found.values():
            found[name] = origin
    return found


def _run(results: Results, model: ModelResults, tuned: Finetuned) -> Run:
    loss = model.setting("settings", "loss") or {}
    shape = model.setting("settings", "shape") or {}
    speeds = [row["tokens_per_s"] for row in model.rows if row.get("tokens_per_s")]
    run: Run = {
        "model": model.name,
        "tokenizer": model.setting("tokenizer") or "",
        "kind": "",
        "total": model.setting("vocabulary"),
        "beta": None,
        "loss": loss.get("kind") or "",
        "k": loss.get("k"),
        "half": shape.get("embedding_size") not in (None, shape.get("hidden")),
        "steps": model.rows[-1]["step"],
        "parameters_mi": model.parameters_mi,
        "speed": statistics.median(speeds) if speeds else None,
        "machine": (model.setting("device"), model.setting("processes")),
        "tuned": tuned,
    }
    if tokenizer := results.tokenizers.get(run["tokenizer"]):
        rule, allocation = tokenizer.text_rule, tokenizer.allocation
        run["kind"] = rule.name if rule else tokenizer.kind
        run["total"] = run["total"] or tokenizer.total
        run["beta"] = allocation and allocation.setting("beta")
    return described(run)


def described(run: Run) -> Run:
    """The run, with what follows from its columns: those of `only` in the specification, and
    its names in the tables.
    """
    kind, total, beta = KINDS.get(run["kind"], Kind), run["total"], run["beta"]
    run = run | {
        "thousands": None if total is None else round(total / 1000),
        "reference": kind.is_reference,
        "allocated": kind.allocated,
        "known": run["kind"] in KIND_NAMES,
        "paper_beta": beta in (None, PAPER_BETA),
        "allotted": beta is not None and bool(total),
        "loss_label": LOSSES[run["loss"]].label if run["loss"] in LOSSES else run["loss"],
    }
    run["size"] = sentence("size", run=run).unescape()
    name = sentence("model", run=run, kind=KIND_NAMES.get(run["kind"]))
    return run | {"name": name.unescape()}


def join_printed(name: str, own: Mapping[Any, Run]) -> dict[Any, tuple[Run, Run]]:
    """The paper's numbers for a table, each row with that of `own` which does the same, then
    the rows of `own` alone, beside no numbers. Keys are the values of the table's `match`.
    """
    spec = specification()[name]
    paper = {itemgetter(*spec["match"])(row): row for row in printed(spec["printed"])}
    return {key: (paper.get(key, {}), own.get(key, {})) for key in [*paper, *own]}


def table_rows(name: str, runs: Sequence[Run]) -> list[tuple[str, Run, Run | None]]:
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

    def order(run: Run) -> tuple[Any, ...]:
        return run["total"] or 0, run["kind"], run["loss"], run["k"] or 0, run["name"]

    found = sorted(_comparable(spec, runs), key=distance, reverse=True)
    nearest = {method(run): run for run in found}
    own = {method(run): run for run in sorted(nearest.values(), key=order)}
    return [
        (row.get("method") or spec["label"].format_map(run), row, run or None)
        for row, run in join_printed(name, own).values()
    ]


def _comparable(spec: Mapping[str, Any], runs: Sequence[Run]) -> Sequence[Run]:
    """The runs that a table compares: those of its values `only`, and of one value of
    `same`: that with the most different methods, of equals the T nearest to 500K.
    """
    for key, values in spec["only"].items():
        runs = [run for run in runs if run[key] in values]
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
    timed = (run for _, _, run in rows if run and run["loss"] == "full" and run["speed"])
    baseline = next(timed, None)
    begins = {column.partition("_")[0] for column in spec["columns"]}
    lines: list[Run] = []
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
            absent = [
                label for task, label in TASK_NAMES.items() if task in begins & {*tuned.missing}
            ]
            k = row.get("k") or PAPER_K
            remarks = sentence("remarks", run=run, method=method, paper_k=k, absent=absent)
            average = None if tuned.missing else tuned.average
            found = {"seeds": tuned.seed_range, "average": average, "remarks": remarks.unescape()}
            line = {**line, **run, **tuned.cells, **found, "speed": speed}
        lines.append(line)
    beside = f"to {baseline['model']}" if baseline else "to a full softmax"
    return specified(name, lines, beside=beside)
