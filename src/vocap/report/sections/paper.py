"""The paper's tables and figures with numbers of this run, and one line on the others."""

from typing import Any

from markupsafe import Markup

from vocap.report.data.comparison import by_sizes, sizes
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Facts, Fold, Note, Section, Text, code
from vocap.report.page.tables import Table, specification, specified
from vocap.report.paper.figures import (
    FIGURES,
    correlation_blocks,
    cost_blocks,
    cost_points,
    data_tables,
    group_blocks,
    group_scores,
)
from vocap.report.paper.published import SOURCE, TASK_NAMES
from vocap.report.paper.results_tables import NOT_RUN, TABLES, results_table, runs

HERE = "this part"


def section(results: Results) -> Section:
    """An index of the paper's tables and figures in this run, then these, folded."""
    found = runs(results)
    tables = {name: results_table(name, found) for name in TABLES}
    covered = {name: _coverage(table) for name, table in tables.items()}
    groups, costs = group_blocks(group_scores(results, found)), cost_blocks(cost_points(results))
    study, data = correlation_blocks(results), data_tables(results, found)
    items = _items(results, covered, {table.name for table in data}, bool(groups), bool(costs))
    there = [item for item in items if item["run"] != NOT_RUN]
    absent = [item["item"] for item in items if item["run"] == NOT_RUN]
    blocks: list[Block] = []
    if there:
        said = Markup(
            "Every number of “the paper” is as printed in {}. Below it is this run’s number for the same. "
            "Models differ from the paper’s in text, steps and size unless their lines say otherwise, so "
            "compare the order of rows, not their heights."
        )
        blocks += [Text(said.format(SOURCE)), *_data(results), specified("paper-index", there)]
    if absent:
        note = Markup(
            "Not in this run: {}. {} computes them all; {} forecasts the cost, and docs/comparison.md has the "
            "source of each number of the paper."
        )
        names = code("config/paper.yaml"), code("vocap plan --configfile config/paper.yaml")
        blocks.append(Note(note.format(", ".join(absent), *names)))
    models = [*(tables[name] for name in TABLES if covered[name] != NOT_RUN), *groups, *costs]
    parts = {"Models and scores": models, "Correlation of ALP with scores": study, "Data and sizes": data}
    blocks += [Fold(title, part) for title, part in parts.items() if part]
    return Section("paper", "The paper’s tables and figures, and this run’s", "The paper", blocks)


def _data(results: Results) -> list[Block]:
    """The text and files of the run's own numbers, as the configuration names them."""
    source = results.section("corpora").get("source")
    facts = [
        ("Text of the vocabularies, this run", source),
        ("the paper", "CommonCrawl"),
        ("Text of the models, this run", results.section("pretraining").get("corpus") or source),
        ("the paper", "Wikipedia"),
        ("XTREME’s files, this run", results.section("finetuning").get("xtreme") or "none"),
    ]
    return [Facts(facts)] if source else []


def _items(
    results: Results, covered: dict[str, str], data: set[str], groups: bool, costs: bool
) -> list[dict[str, Any]]:
    """Every table and figure of the paper, by number, then its appendix."""
    studied = {point.task for point in results.correlation}
    trained = any(results.trained(code) for code in results.curves)
    compared = bool(by_sizes(results, sizes(results)))
    tables = [(specification()[table]["about"], covered[name]) for name, table in TABLES.items()]
    rows = [
        *((f"Table {number}", *table) for number, table in enumerate(tables, start=1)),
        ("Figure 1", "ALP against vocabulary size", trained, "ALP curves"),
        *(
            (f"Figure {number}", f"{TASK_NAMES[task]} F1 against ALP", task in studied)
            for task, number in FIGURES.items()
        ),
        ("Figure 4", "ALP of VOCAP and JOINT", compared, "Comparison"),
        ("Figure 5", "performance against cost of pre-training", costs),
        ("Figure 6", "XNLI and NER of VOCAP and JOINT by resource group", groups),
        ("Table 5", "correlations with F1", bool(studied)),
        ("Table 6", "data sets of XTREME", "paper-data-sets" in data),
        ("Table 7", "CommonCrawl sizes", "paper-text-vocabularies" in data, f"{HERE}; Corpora"),
        ("Table 8", "Wikipedia sizes", "paper-text-pretraining" in data),
        ("Table 9", "allocated sizes", "paper-allocated-sizes" in data, f"{HERE}; Allocation"),
    ]
    words = {True: "yes", False: NOT_RUN}
    return [
        {"item": item, "about": about, "run": words.get(run, run), "where": where[0] if where else HERE}
        for item, about, run, *where in rows
    ]


def _coverage(table: Table) -> str:
    """The numbers of a table's lines of this run with a model, and with scores."""
    keys = [column.key for column in table.columns]
    lines = [dict(zip(keys, row, strict=True)) for row in table.rows]
    mine = [line for line in lines if line["origin"] == "this run"]
    models = [line for line in mine if line["model"] != NOT_RUN]
    scored = [line for line in models if "not fine-tuned" not in line["remarks"]]
    return f"{len(models)} of {len(mine)} rows pre-trained, {len(scored)} fine-tuned" if models else NOT_RUN
