"""The paper's nine tables and its figures, each beside this run's own numbers."""

from markupsafe import Markup

from vocap.report.blocks import Block, Facts, Heading, Section, Text, not_run
from vocap.report.comparing import pairs
from vocap.report.paper.correlation import FIGURES, correlation_blocks
from vocap.report.paper.costs import cost_figure, cost_points, cost_table
from vocap.report.paper.data_tables import data_tables
from vocap.report.paper.published import SOURCE, TASK_NAMES
from vocap.report.paper.results_tables import results_tables
from vocap.report.paper.runs import Run, runs
from vocap.report.results import Results
from vocap.report.tables import Column, Table

YES, NOT_RUN = "yes", "not run"


def section(results: Results) -> Section:
    """An index of what the paper shows and where this run has it, then the tables."""
    found = runs(results)
    blocks: list[Block] = [
        Text(
            Markup(
                "Every number of “the paper” is as printed in {}. Below it stands what this run has for the same, "
                "or that it was not run. Models differ from the paper’s in text, steps and size unless their "
                "lines say otherwise, so compare the order of rows, not their heights."
            ).format(SOURCE)
        ),
        *_data(results),
        _index(results, found),
        Heading("Models and scores"),
        *results_tables(found),
        *_costs(results),
        Heading("Whether ALP tells what a model reaches"),
        *correlation_blocks(results),
        Heading("Data and sizes"),
        *data_tables(results, found),
    ]
    return Section("paper", "The paper’s tables and figures, and this run’s", "The paper", blocks)


def _data(results: Results) -> list[Block]:
    """Which text and files the run's own numbers come from, as the configuration names them."""
    sections = {name: results.settings.get(name) for name in ("corpora", "pretraining", "finetuning")}
    corpora, pretraining, finetuning = (one if isinstance(one, dict) else {} for one in sections.values())
    source = corpora.get("source")
    if not source:
        return []
    facts = [
        ("Text of the vocabularies, this run", source),
        ("the paper", "CommonCrawl"),
        ("Text of the models, this run", pretraining.get("corpus") or source),
        ("the paper", "Wikipedia"),
        ("XTREME’s files, this run", finetuning.get("xtreme") or "none"),
    ]
    return [Facts(facts)]


def _costs(results: Results) -> list[Block]:
    """Figure 5: lines need two states of a model at least."""
    points, tasks = cost_points(results)
    if len(points) > len({point.model for point in points}):
        return [cost_figure(points, tasks), cost_table(points, tasks)]
    what = (
        "Figure 5, performance against the cost of pre-training, needs models fine-tuned from several of their "
        "export_steps: entries of finetuning.models with a model and a step."
    )
    return [not_run("finetuning", what)]


def _index(results: Results, found: list[Run]) -> Table:
    """What the paper has, whether this run has it too, and where it stands on the page."""
    results_shown = {table.name: table for table in results_tables(found)}
    rows = [
        (f"Table {number}", about, _coverage(results_shown[f"paper-table-{number}"]), "this part")
        for number, about in (
            (1, "results on XTREME"),
            (2, "ways to sample the softmax"),
            (3, "neighbours k of k-NN target sampling"),
            (4, "β"),
        )
    ]
    trained = any(results.trained(code) for code in results.curves)
    rows += [
        ("Appendix", "data sets of XTREME", YES if any(run.scores for run in found) else NOT_RUN, "this part"),
        ("Appendix", "correlations with F1", _studied(results, *FIGURES), "this part"),
        ("Appendix", "CommonCrawl sizes", YES if results.corpora else NOT_RUN, "this part; Corpora"),
        ("Appendix", "Wikipedia sizes", YES if results.training_bytes else NOT_RUN, "this part"),
        ("Appendix", "allocated sizes", YES if results.allocations else NOT_RUN, "this part; Allocation"),
        ("Figure 1", "ALP against vocabulary size", YES if trained else NOT_RUN, "ALP curves"),
        *(
            (f"Figure {number}", f"{TASK_NAMES[task]} F1 against ALP", _studied(results, task), "this part")
            for task, number in FIGURES.items()
        ),
        (
            "Figure 4",
            "ALP of VOCAP and JOINT",
            YES if any(pair.by_sizes for pair in pairs(results)) else NOT_RUN,
            "VOCAP and JOINT",
        ),
        ("Figure 5", "performance against cost", YES if len(_costs(results)) > 1 else NOT_RUN, "this part"),
        ("Figure 6", "what, is not known: the paper’s full text was not at hand", "not made", "nowhere"),
    ]
    columns = [
        Column("item", "In the paper"),
        Column("about", "Shows"),
        Column("run", "In this run"),
        Column("where", "On this page"),
    ]
    caption = "What the paper shows, and whether this run has its own numbers for it."
    return Table("paper-index", "What this run has of the paper", caption, columns, rows)


def _studied(results: Results, *tasks: str) -> str:
    return YES if any(point.task in tasks for point in results.correlation) else NOT_RUN


def _coverage(table: Table) -> str:
    """How many of a table's lines for this run have a model, and a score."""
    keys = [column.key for column in table.columns]
    lines = [dict(zip(keys, row, strict=True)) for row in table.rows]
    mine = [line for line in lines if line["origin"] == "this run"]
    models = [line for line in mine if line["model"] != NOT_RUN]
    scored = [line for line in models if "not fine-tuned" not in line["remarks"]]
    if not models:
        return NOT_RUN
    return f"{len(models)} of {len(mine)} rows pre-trained, {len(scored)} fine-tuned"
