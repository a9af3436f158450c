"""The paper's appendix beside this run: Table 5 with Figures 2 and 3 (correlations), Tables 6 to 9 (data)."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from vocap.correlation.study import Coefficients, Measured, correlations
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Text, counted, text_of
from vocap.report.page.figures import COLOURS, Figure, tooltips
from vocap.report.page.scatter import scatter
from vocap.report.page.tables import Column, Table, caption, specified
from vocap.report.paper.published import TASK_NAMES, on_paper_languages, paper_languages, paper_size, printed
from vocap.report.paper.runs import Run
from vocap.wording import listed

GB = 1e9
FIGURES = {"udpos": 2, "panx": 3}  # the paper's numbers
AXIS = "ALP (nats per line)"
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross"]


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
                f"In this run ALP correlates with F1 more strongly than the size of the vocabulary does in "
                f"{higher} of {counted(len(both), 'pair')} of a language and a task; in the paper in 6 of 8."
            )
        )
    for task in FIGURES:
        points = [point for point in results.correlation if point.task == task]
        if points:
            blocks += _figures(results, task, points, [one for one in found if one.task == task])
    return [*blocks, _correlations(results, found)]


def _figures(results: Results, task: str, points: list[Measured], found: list[Coefficients]) -> list[Figure]:
    """Over ALP, as the paper has it, and over its gain, which puts languages with other lines on one axis."""
    name, number = TASK_NAMES[task], FIGURES[task]
    said = "; ".join(
        f"{results.name(one.language)}: " + (f"ρ = {one.rho_alp:.3f}" if one.rho_alp is not None else "no ρ")
        for one in found
    ).replace("-", "−")
    holes = "; ".join(
        f"{results.name(code)}: {', '.join(f'{size:,}' for size in results.unreached[code])}"
        for code in dict.fromkeys(point.language for point in points)
        if code in results.unreached
    )
    holes = f" Sizes that the text does not reach have no point: {holes}." if holes else ""
    alternative = f"Scatter chart of {counted(len(points), 'vocabulary', 'vocabularies')}; {said}."
    return [
        Figure(
            f"paper-figure-{number}",
            f"Figure {number}: {name} F1 against ALP",
            caption("paper-figure-2-and-3", task=name, said=said, holes=holes),
            alternative,
            lambda: _points(results, points),
            table="paper-correlation",
        ),
        Figure(
            f"paper-figure-{number}-gain",
            f"Figure {number}, over the gain in ALP",
            caption("paper-figure-2-and-3-gain"),
            alternative,
            lambda: _points(results, points, True, "ALP above the smallest vocabulary’s (nats per line)"),
            table="paper-correlation",
        ),
    ]


def _points(results: Results, points: Sequence[Measured], gain: bool = False, title: str = AXIS) -> alt.LayerChart:
    """F1 against ALP, or its gain over the smallest size, a colour and a shape a language."""
    codes = list(dict.fromkeys(point.language for point in points))
    smallest = {code: min(point.alp for point in points if point.language == code) for code in codes}
    rows = [
        {
            "name": "",
            "kind": results.name(point.language),
            "size": point.size,
            "alp": round(point.alp, 3),
            "x": round(point.alp - smallest[point.language] if gain else point.alp, 4),
            "y": round(point.f1, 3),
        }
        for point in points
    ]
    looks = {results.name(code): (COLOURS[k % 4], SHAPES[k % 5]) for k, code in enumerate(codes)}
    shown = tooltips(kind="|language", size=",d|vocabulary", alp=",.2f|ALP", y=".2f|F1")
    return scatter(rows, (title, "F1 (percent)"), looks, shown, height=320)


def _correlations(results: Results, found: list[Coefficients]) -> Table:
    """Table 5: a row for each language and task of the paper, then of this run."""
    pairs = {
        (row["language"], row["task"]): {"paper_rho_alp": row["rho_alp"], "paper_rho_size": row["rho_size"]}
        for row in printed("correlation")
    }
    for one in found:
        pairs.setdefault((one.language, one.task), {}).update(one._asdict())
    rows = []
    for (language, task), numbers in pairs.items():
        points = [point for point in results.correlation if (point.language, point.task) == (language, task)]
        row = {**numbers, **results.about(language), "task": TASK_NAMES.get(task, task)}
        row["remarks"] = "" if points else "not run"
        if any(point.split != "test" for point in points):
            row["remarks"] = "development file: the test labels are withheld"
        row["seeds"] = min((point.seeds for point in points), default=None)
        row["steps"] = max((point.steps for point in points), default=None)
        rows.append(row)
    return specified("paper-correlation", rows)


def data_tables(results: Results, runs: list[Run]) -> list[Table]:
    """Tables 6 to 9, where the run has numbers for them; the last three only on the paper's languages."""
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
        tables.append(_by_language(results, "paper-text-pretraining", "paper_wikipedia_gb", trained))
    if results.allocations:
        sizes: dict[str, dict[str, float]] = {code: {} for code in results.languages}
        for name, entry in results.allocations.items():
            for share in entry.shares:
                if share.size is not None:
                    sizes.setdefault(share.language, {})[f"thousands_{name}"] = share.size / 1000
        more = [Column(f"thousands_{name}", name, "number") for name in results.allocations]
        tables.append(_by_language(results, "paper-allocated-sizes", "paper_allocated_thousands", sizes, more))
    return tables


def _datasets(runs: list[Run]) -> Table:
    """Table 6: the tasks, with the languages and models of this run."""
    rows = []
    for row in printed("datasets"):
        tuned = [run for run in runs if row["task"] in run.tuned.tasks and run.tuned.tasks[row["task"]].overall]
        languages = max((len(run.tuned.tasks[row["task"]].languages) for run in tuned), default=None)
        models = listed([run.name for run in tuned], most=4) or "not run"
        paper = {"paper_train_examples": int(row["train_examples"]), "paper_languages": int(row["languages"])}
        about = {"task": TASK_NAMES[row["task"]], "kind": row["kind"], "languages": languages, "models": models}
        rows.append({**paper, **about})
    return specified("paper-data-sets", rows)


def _by_language(
    results: Results, name: str, column: str, cells: dict[str, dict[str, Any]], more: Sequence[Column] = ()
) -> Table:
    """One of Tables 7 to 9: the paper's `column` of each language beside this run's cells."""
    key = column.replace("allocated_", "")
    rows = [
        {**results.about(code), key: paper_size(code, column), **cells.get(code, {})} for code in results.languages
    ]
    total = sum(paper_size(code, column) for code in paper_languages())
    return specified(name, rows, more, sum=f"{total:,.5g}")
