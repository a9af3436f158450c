"""Fairness as a choice with a price: the frontier over beta and the fairness weight, and its rivals."""

from vocap.allocation.rules import RULES
from vocap.report import frontier_charts
from vocap.report.blocks import Block, Fold, Note, Section, Text, counted, not_run
from vocap.report.figures import Figure
from vocap.report.frontier import Frontier, frontiers
from vocap.report.results import Results
from vocap.report.tables import Column, Table

NAMES = {
    "beta": "Algorithm 1, by beta",
    "fairness": "Algorithm 1, by fairness weight",
    "uniform": "the same size for all",
    "proportional": "sizes in proportion to n",
    "vocap": "VOCAP tokenizer",
    "joint": "JOINT tokenizer",
    "file": "tokenizer from elsewhere",
    **{name: f"tokenizer by rule {name}" for name, rule in RULES.items() if rule.needs_text},
}


def section(results: Results) -> Section:
    """One figure pair and one table for each T."""
    title, short = "What fairness costs", "Frontier"
    if not results.allocations:
        return Section("frontier", title, short, [not_run("allocation", "There is no choice to compare.")])
    found = frontiers(results)
    if not found:
        why = results.no_inputs or "No allocation’s smallest sizes fit its T, or no curve has held-out ALP."
        return Section("frontier", title, short, [Note(f"No frontier: {why}")])
    blocks: list[Block] = [
        Text(
            "Beta weighs languages by their data, the fairness weight by how badly they are served: what either "
            "buys, and for how much ALP, the lines show. Upwards, the mean held-out ALP of a line of the "
            "multilingual sample (each language weighted by q). To the right, inequality: x is a language’s "
            "held-out ALP over the best held-out ALP of its own curve, so many times the nats of its best "
            "vocabulary, whatever the length of its lines. Best is up and to the left."
        ),
        Text(
            "The naive rivals give every language the same size, or one in proportion to its text. On the lines, "
            "and for these two, each language is read off its own curve at the size that "
            "the last union within T gives it. Tokenizers are measured as they are, with the pieces of all "
            "languages in one vocabulary: the distance from VOCAP’s mark to its line is what merging changes. "
            "Languages whose curves end early are soon near their best, so compare within a run, not between runs."
        ),
    ]
    blocks += _one(results, found[0])
    blocks += [Fold(f"T = {one.total:,}: {_said(one)}", _one(results, one)) for one in found[1:]]
    return Section("frontier", title, short, blocks)


def _one(results: Results, one: Frontier) -> list[Block]:
    blocks: list[Block] = []
    if one.apart:
        named = ", ".join(f"{results.name(code)} ({reason})" for code, reason in sorted(one.apart.items()))
        blocks.append(Note(f"Not counted at T = {one.total:,}, in any mark: {named}.", "warning"))
    said = _said(one)
    start = f"All other settings are those of {one.reference}; {counted(len(one.languages), 'language')} counted."
    figures = [
        Figure(
            name,
            f"T = {one.total:,}: {title}",
            f"Held-out ALP in nats per line. {start} The fairness weight varies at beta {one.beta:g}.",
            f"Chart of {len(one.points)} allocations and tokenizers. {said} The numbers are in the table.",
            lambda unequal=unequal: frontier_charts.trade_off(one, unequal),
            table=f"frontier-{one.total}",
        )
        for unequal, name, title in (
            ("gini", f"frontier-{one.total}", "mean ALP against the Gini coefficient"),
            ("worst_ratio", f"frontier-worst-{one.total}", "mean ALP against the worst served language"),
        )
    ]
    worst = Fold("The same against the worst served language", figures[1:])
    return [*blocks, Text(said), figures[0], worst, _table(results, one)]


def _said(one: Frontier) -> str:
    """What the way from beta 1 to beta 0 costs and buys."""
    ends = {point.beta: point for point in one.points if point.series == "beta"}
    fair, rich = ends[0.0], ends[1.0]
    change = f"{fair.alp - rich.alp:+.2f}".replace("-", "−")
    return (
        f"From beta 1 to beta 0 the mean ALP changes by {change} nats per line, the Gini coefficient of x from "
        f"{rich.gini:.4f} to {fair.gini:.4f}, and x of the worst served language from {rich.worst_ratio:.3f} "
        f"({rich.worst}) to {fair.worst_ratio:.3f} ({fair.worst})."
    )


def _table(results: Results, one: Frontier) -> Table:
    columns = [
        Column("what", "What"),
        Column("name", "Name"),
        Column("beta", "β", "number"),
        Column("fairness", "Fairness", "number"),
        Column("pieces", "Pieces", "number"),
        Column("languages", "Languages", "number"),
        Column("alp", "Mean ALP, held out", "number", 3),
        Column("gini", "Gini of x", "number", 4),
        Column("worst_ratio", "Largest x", "number", 3),
        Column("worst", "Language"),
        Column("worst_name", "which is"),
    ]
    rows = [
        (
            NAMES[point.series],
            point.label,
            point.beta,
            point.fairness,
            point.pieces,
            len(one.languages),
            point.alp,
            point.gini,
            point.worst_ratio,
            point.worst,
            results.name(point.worst),
        )
        for point in one.points
    ]
    caption = (
        "Mean held-out ALP in nats per line, each language weighted by q; x is held-out ALP over the best of the "
        "language’s own curve. Allocations at the last union that fits, read off the curves; tokenizers as "
        "measured, their pieces being T. From results/vocabularies/{language}/curve.tsv and pieces.npz, "
        "results/tokenizers/{name}/evaluation.tsv."
    )
    return Table(f"frontier-{one.total}", f"T = {one.total:,}: the frontier", caption, columns, rows, folded=True)
