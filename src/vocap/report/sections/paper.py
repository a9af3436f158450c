"""The paper's tables and figures with numbers of this run, and one line on the others."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vocap.report.data.comparisons import pairs
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Facts, Fold, Note, Section, Text, code
from vocap.report.page.tables import Column, Table
from vocap.report.paper.appendix import FIGURES, correlation_blocks, data_tables
from vocap.report.paper.model_figures import (
    cost_figures,
    cost_points,
    cost_table,
    group_figures,
    group_scores,
    group_table,
)
from vocap.report.paper.published import SOURCE, TASK_NAMES, on_paper_languages
from vocap.report.paper.results_tables import results_tables
from vocap.report.paper.runs import Run, runs

YES, NOT_RUN = "yes", "not run"
HERE = "this part"


@dataclass(frozen=True)
class Item:
    """A table or figure of the paper: the coverage of this run, and the part of the page that has it."""

    name: str
    about: str
    run: str
    where: str


def section(results: Results) -> Section:
    """An index of the paper's tables and figures in this run, then these, folded."""
    found = runs(results)
    tables = [table for table in results_tables(found) if _coverage(table) != NOT_RUN]
    scores, points = group_scores(results, found), cost_points(results)
    models: list[Block] = [*tables]
    models += [*group_figures(scores), group_table(scores)] if scores else []
    models += [*cost_figures(points), cost_table(points)] if points else []
    parts = {
        "Models and scores": models,
        "Correlation of ALP with scores": correlation_blocks(results) if results.correlation else [],
        "Data and sizes": data_tables(results, found),
    }
    items = _items(results, found, bool(scores), bool(points))
    there = [item for item in items if item.run != NOT_RUN]
    blocks: list[Block] = []
    if there:
        blocks = [
            Text(
                Markup(
                    "Every number of “the paper” is as printed in {}. Below it is this run’s number for the "
                    "same. Models differ from the paper’s in text, steps and size unless their lines say "
                    "otherwise, so compare the order of rows, not their heights."
                ).format(SOURCE)
            ),
            *_data(results),
            _index(there),
        ]
    if len(there) < len(items):
        blocks.append(_absent([item.name for item in items if item.run == NOT_RUN]))
    blocks += [Fold(title, part) for title, part in parts.items() if part]
    return Section("paper", "The paper’s tables and figures, and this run’s", "The paper", blocks)


def _absent(names: Sequence[str]) -> Note:
    """One line on the tables and figures that the run does not have, and on the configuration that makes them."""
    return Note(
        Markup(
            "Not in this run: {}. {} computes them all; {} forecasts the cost, and docs/comparison.md has the "
            "source of each number of the paper."
        ).format(", ".join(names), code("config/paper.yaml"), code("vocap plan --configfile config/paper.yaml"))
    )


def _data(results: Results) -> list[Block]:
    """The text and files of the run's own numbers, as the configuration names them."""
    source = results.section("corpora").get("source")
    if not source:
        return []
    facts = [
        ("Text of the vocabularies, this run", source),
        ("the paper", "CommonCrawl"),
        ("Text of the models, this run", results.section("pretraining").get("corpus") or source),
        ("the paper", "Wikipedia"),
        ("XTREME’s files, this run", results.section("finetuning").get("xtreme") or "none"),
    ]
    return [Facts(facts)]


def _items(results: Results, found: list[Run], groups: bool, costs: bool) -> list[Item]:
    """Every table and figure of the paper, by number, then its appendix."""
    tables = {table.name: _coverage(table) for table in results_tables(found)}
    on_paper = on_paper_languages(results.languages)
    trained = any(results.trained(code) for code in results.curves)

    def has(it: object) -> str:
        return YES if it else NOT_RUN

    return [
        *(
            Item(f"Table {number}", about, tables[f"paper-table-{number}"], HERE)
            for number, about in (
                (1, "results on XTREME"),
                (2, "sampled softmax losses"),
                (3, "neighbours k of k-NN target sampling"),
                (4, "β"),
            )
        ),
        Item("Figure 1", "ALP against vocabulary size", has(trained), "ALP curves"),
        *(
            Item(f"Figure {number}", f"{TASK_NAMES[task]} F1 against ALP", _studied(results, task), HERE)
            for task, number in FIGURES.items()
        ),
        Item(
            "Figure 4",
            "ALP of VOCAP and JOINT",
            has(any(pair.by_sizes for pair in pairs(results))),
            "VOCAP and JOINT",
        ),
        Item("Figure 5", "performance against cost of pre-training", has(costs), HERE),
        Item("Figure 6", "XNLI and NER of VOCAP and JOINT by resource group", has(groups), HERE),
        Item("Table 5", "correlations with F1", _studied(results, *FIGURES), HERE),
        Item("Table 6", "data sets of XTREME", has(any(run.tuned.scores for run in found)), HERE),
        Item("Table 7", "CommonCrawl sizes", has(results.corpora and on_paper), f"{HERE}; Corpora"),
        Item("Table 8", "Wikipedia sizes", has(results.training_bytes and on_paper), HERE),
        Item("Table 9", "allocated sizes", has(results.allocations and on_paper), f"{HERE}; Allocation"),
    ]


def _index(items: Sequence[Item]) -> Table:
    columns = [
        Column("item", "In the paper", value=lambda item: item.name),
        Column("about", "Shows"),
        Column("run", "In this run"),
        Column("where", "On this page"),
    ]
    caption = "Tables and figures of the paper with numbers of this run. Tables 5 to 9 are those of the appendix."
    title = "Tables and figures of the paper in this run"
    return Table.of("paper-index", title, caption, columns, items, folded=True)


def _studied(results: Results, *tasks: str) -> str:
    return YES if any(point.task in tasks for point in results.correlation) else NOT_RUN


def _coverage(table: Table) -> str:
    """The numbers of a table's lines of this run with a model, and with scores."""
    keys = [column.key for column in table.columns]
    lines = [dict(zip(keys, row, strict=True)) for row in table.rows]
    mine = [line for line in lines if line["origin"] == "this run"]
    models = [line for line in mine if line["model"] != NOT_RUN]
    scored = [line for line in models if "not fine-tuned" not in line["remarks"]]
    if not models:
        return NOT_RUN
    return f"{len(models)} of {len(mine)} rows pre-trained, {len(scored)} fine-tuned"
