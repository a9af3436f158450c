"""The correlation study: Table 5 (of the appendix), and Figures 2 and 3."""

from collections.abc import Sequence

import altair as alt

from vocap.correlation.points import Correlation, Measured, correlations
from vocap.report.blocks import Block, Text, counted
from vocap.report.figures import WIDTH, Figure, token
from vocap.report.paper.published import TASK_NAMES, paper_languages, printed
from vocap.report.results import Results
from vocap.report.tables import Column, Table

FIGURES = {"udpos": 2, "panx": 3}  # the paper's numbers
COLOURS = [token(name) for name in ("accent", "low", "mid", "unknown")]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross"]


def correlation_blocks(results: Results) -> list[Block]:
    """The figures and the table, of a study that was run."""
    found = correlations(results.correlation, results.unreached)
    higher = sum((one.rho_alp or 0) > (one.rho_size or 0) for one in found if one.rho_alp and one.rho_size)
    compared = sum(one.rho_alp is not None and one.rho_size is not None for one in found)
    blocks: list[Block] = []
    if compared:
        blocks.append(
            Text(
                f"In this run ALP goes together with F1 more closely than the size of the vocabulary does in "
                f"{higher} of {counted(compared, 'pair')} of a language and a task; in the paper in 6 of 8."
            )
        )
    for task, number in FIGURES.items():
        points = [point for point in results.correlation if point.task == task]
        if points:
            blocks += _figures(results, number, task, points, [one for one in found if one.task == task])
    return [*blocks, _table(results, found)]


def _figures(
    results: Results, number: int, task: str, points: list[Measured], found: list[Correlation]
) -> list[Figure]:
    """Over ALP, as the paper has it, and over its gain, which puts languages with other lines on one axis."""
    name = TASK_NAMES[task]
    said = "; ".join(
        f"{results.name(one.language)}: " + (f"ρ = {one.rho_alp:.3f}" if one.rho_alp is not None else "no ρ")
        for one in found
    ).replace("-", "−")
    alternative = f"Scatter chart of {counted(len(points), 'vocabulary', 'vocabularies')}; {said}."
    return [
        Figure(
            f"paper-figure-{number}",
            f"Figure {number}: {name} F1 against ALP",
            "A point for each monolingual vocabulary: the ALP of its language’s training text under it, and the "
            f"{name} F1 of a model pre-trained with it and fine-tuned in that language. Pearson’s correlations: "
            f"{said}.{_holes(results, points)} From results/correlation/points.tsv.",
            alternative,
            lambda: scatter(results, points, "alp", "ALP (nats per line)"),
            table="paper-correlation",
        ),
        Figure(
            f"paper-figure-{number}-gain",
            f"Figure {number}, over the gain in ALP",
            "The same points; the ALP of a language’s smallest vocabulary is taken off, for languages with longer "
            "lines have a lower ALP throughout.",
            alternative,
            lambda: scatter(results, points, "gain", "ALP above the smallest vocabulary’s (nats per line)"),
            table="paper-correlation",
        ),
    ]


def _holes(results: Results, points: Sequence[Measured]) -> str:
    """A sentence on the sizes that have no point."""
    codes = [code for code in dict.fromkeys(point.language for point in points) if code in results.unreached]
    said = "; ".join(
        f"{results.name(code)}: " + ", ".join(f"{size:,}" for size in results.unreached[code]) for code in codes
    )
    return f" Sizes that the text does not reach have no point: {said}." if said else ""


def scatter(results: Results, points: Sequence[Measured], against: str, title: str) -> alt.Chart:
    """F1 against ALP ("alp") or its gain over the smallest size ("gain"), a colour and a shape a language."""
    codes = list(dict.fromkeys(point.language for point in points))
    smallest = {code: min(point.alp for point in points if point.language == code) for code in codes}
    names = [results.name(code) for code in codes]
    rows = [
        {
            "language": results.name(point.language),
            "size": point.size,
            "gain": round(point.alp - smallest[point.language], 4),
            "alp": round(point.alp, 3),
            "f1": round(point.f1, 3),
        }
        for point in points
    ]
    colours = alt.Scale(domain=names, range=[COLOURS[place % len(COLOURS)] for place in range(len(names))])
    shapes = alt.Scale(domain=names, range=[SHAPES[place % len(SHAPES)] for place in range(len(names))])
    legend = alt.Legend(title=None)
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=60, opacity=1)
        .encode(
            x=alt.X(f"{against}:Q", title=title, scale=alt.Scale(zero=False)),
            y=alt.Y("f1:Q", title="F1 (percent)", scale=alt.Scale(zero=False)),
            color=alt.Color("language:N", scale=colours, legend=legend),
            shape=alt.Shape("language:N", scale=shapes, legend=legend),
            tooltip=[
                "language:N",
                alt.Tooltip("size:Q", title="vocabulary", format=",d"),
                alt.Tooltip("alp:Q", title="ALP", format=",.2f"),
                alt.Tooltip("f1:Q", title="F1", format=".2f"),
            ],
        )
        .properties(width=WIDTH, height=320)
    )


def _remark(points: Sequence[Measured]) -> str:
    if any(point.split != "test" for point in points):
        return "development file: the test labels are kept back"
    return "" if points else "not run"


def _table(results: Results, found: list[Correlation]) -> Table:
    mine = {(one.language, one.task): one for one in found}
    paper = {(row["language"], row["task"]): row for row in printed("correlation")}
    order = [*paper, *(key for key in mine if key not in paper)]
    rows = []
    for language, task in order:
        row, one = paper.get((language, task), {}), mine.get((language, task))
        points = [point for point in results.correlation if (point.language, point.task) == (language, task)]
        rows.append(
            (
                language,
                results.name(language) if language in results.languages else paper_languages()[language].name,
                TASK_NAMES.get(task, task),
                row.get("rho_alp"),
                row.get("rho_size"),
                one.rho_alp if one else None,
                one.rho_size if one else None,
                one.sizes if one else None,
                one.holes if one else None,
                min((point.seeds for point in points), default=None),
                max((point.steps for point in points), default=None),
                _remark(points),
            )
        )
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("task", "Task"),
        Column("paper_rho_alp", "The paper: ρ of ALP and F1", "number", 3),
        Column("paper_rho_size", "ρ of |V| and F1", "number", 3),
        Column("rho_alp", "This run: ρ of ALP and F1", "number", 3),
        Column("rho_size", "ρ of |V| and F1", "number", 3),
        Column("sizes", "Sizes", "number"),
        Column("holes", "Not reached", "number"),
        Column("seeds", "Seeds", "number"),
        Column("steps", "Steps", "number"),
        Column("remarks", "Remarks"),
    ]
    caption = (
        "Pearson’s correlations over the vocabularies of one language: 30 in the paper, of 1K to 30K. A model is "
        "pre-trained with each and fine-tuned on the language’s own training file. Sizes that a language’s text "
        "does not reach are counted apart, and left out. From results/correlation/points.tsv and sizes.tsv."
    )
    return Table("paper-correlation", "Table 5: correlations with F1", caption, columns, rows)
