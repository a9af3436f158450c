"""The paper's appendix beside this run: Table 5 with Figures 2 and 3 (correlations), Tables 6 to 9 (data)."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import altair as alt

from vocap.correlation.points import Correlation, Measured, correlations
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Text, counted, text_of
from vocap.report.page.figures import WIDTH, Figure, chart, token
from vocap.report.page.tables import Column, Table, language_columns
from vocap.report.paper.published import TASK_NAMES, on_paper_languages, paper_languages, printed
from vocap.report.paper.runs import Run

GB = 1e9
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
                f"In this run ALP correlates with F1 more strongly than the size of the vocabulary does in "
                f"{higher} of {counted(compared, 'pair')} of a language and a task; in the paper in 6 of 8."
            )
        )
    for task, number in FIGURES.items():
        points = [point for point in results.correlation if point.task == task]
        if points:
            blocks += _figures(results, number, task, points, [one for one in found if one.task == task])
    return [*blocks, _correlations(results, found)]


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
    """A sentence on the sizes without a point."""
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
        chart(rows)
        .mark_point(filled=True, size=60, opacity=1)
        .encode(
            x=alt.X(f"{against}:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=8)),
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


def _correlations(results: Results, found: list[Correlation]) -> Table:
    mine = {(one.language, one.task): one for one in found}
    paper = {(row["language"], row["task"]): row for row in printed("correlation")}
    points: dict[tuple[str, str], list[Measured]] = {}
    for point in results.correlation:
        points.setdefault((point.language, point.task), []).append(point)

    def name(pair: tuple[str, str]) -> str:
        language = pair[0]
        return results.name(language) if language in results.languages else paper_languages()[language].name

    def remark(pair: tuple[str, str]) -> str:
        if any(point.split != "test" for point in points.get(pair, ())):
            return "development file: the test labels are withheld"
        return "" if pair in points else "not run"

    def printed_here(key: str, title: str) -> Column:
        return Column(f"paper_{key}", title, "number", 3, value=lambda pair: paper.get(pair, {}).get(key))

    def computed(key: str, title: str, digits: int | None = None) -> Column:
        return Column(key, title, "number", digits, value=lambda pair: getattr(mine.get(pair), key, None))

    def seeds(pair: tuple[str, str]) -> int | None:
        return min((point.seeds for point in points.get(pair, ())), default=None)

    def steps(pair: tuple[str, str]) -> int | None:
        return max((point.steps for point in points.get(pair, ())), default=None)

    columns = [
        Column("language", "Code", value=itemgetter(0)),
        Column("name", "Language", value=name),
        Column("task", "Task", value=lambda pair: TASK_NAMES.get(pair[1], pair[1])),
        printed_here("rho_alp", "The paper: ρ of ALP and F1"),
        printed_here("rho_size", "ρ of |V| and F1"),
        computed("rho_alp", "This run: ρ of ALP and F1", 3),
        computed("rho_size", "ρ of |V| and F1", 3),
        computed("sizes", "Sizes"),
        computed("holes", "Not reached"),
        Column("seeds", "Seeds", "number", value=seeds),
        Column("steps", "Steps", "number", value=steps),
        Column("remarks", "Remarks", value=remark),
    ]
    caption = (
        "Pearson’s correlations over the vocabularies of one language: 30 in the paper, of 1K to 30K. A model is "
        "pre-trained with each and fine-tuned on the language’s own training file. Sizes that a language’s text "
        "does not reach are counted apart, and left out. From results/correlation/points.tsv and sizes.tsv."
    )
    pairs = dict.fromkeys([*paper, *mine])
    return Table.of("paper-correlation", "Table 5: correlations with F1", caption, columns, pairs)


def data_tables(results: Results, runs: list[Run]) -> list[Table]:
    """Those of Tables 6 to 9 that the run has numbers for; the last three only on the paper's languages."""
    tables = [_datasets(runs)] if any(run.tuned.scores for run in runs) else []
    if on_paper_languages(results.languages):
        tables += [_vocabulary_text(results)] if results.corpora else []
        tables += [_training_text(results)] if results.training_bytes else []
        tables += [_allocated(results)] if results.allocations else []
    return tables


def _printed(key: str, title: str, fact: str) -> Column:
    """A number of the paper by language."""
    return Column(key, title, "number", value=lambda code: getattr(paper_languages().get(code), fact, None))


def _sum(column: str) -> str:
    """
    >>> _sum("cc_gb")
    '2,077.5'
    """
    return f"{sum(getattr(language, column) for language in paper_languages().values()):,.5g}"


def _datasets(runs: list[Run]) -> Table:
    def examples(row: dict[str, Any]) -> int:
        return int(row["train_examples"])

    def languages(row: dict[str, Any]) -> int | None:
        return max((run.tuned.languages.get(row["task"], 0) for run in runs), default=0) or None

    def models(row: dict[str, Any]) -> str:
        names = [run.name for run in runs if any(task == row["task"] for task, _ in run.tuned.scores)]
        return (", ".join(names[:4]) + (f" and {len(names) - 4} more" if names[4:] else "")) or "not run"

    columns = [
        Column("task", "Task", value=lambda row: TASK_NAMES[row["task"]]),
        Column("kind", "Kind"),
        Column("paper_train_examples", "English training examples, the paper", "number", value=examples),
        Column("paper_languages", "Languages, the paper", "number", value=lambda row: int(row["languages"])),
        Column("languages", "Languages scored in this run", "number", value=languages),
        Column("models", "Models of this run", value=models),
    ]
    caption = (
        "The seven tasks, as the paper’s appendix counts them (in thousands), and the number of languages with "
        "test scores in this run."
    )
    return Table.of("paper-data-sets", "Table 6: data sets of XTREME", caption, columns, printed("datasets"))


def _vocabulary_text(results: Results) -> Table:
    read = {code: stats["bytes"] / GB for code, stats in results.corpora.items() if stats.get("kept")}
    lines = {code: results.lines(code) for code in read}
    sources = {code: text_of(stats.get("source")) for code, stats in results.corpora.items()}
    columns = [
        *language_columns(results),
        _printed("paper_cc_gb", "CommonCrawl in the paper, GB", "cc_gb"),
        Column("read_gb", "Read in this run, GB", "number", value=read.get),
        Column("lines", "Lines sampled of it", "number", value=lines.get),
        Column("source", "Source", value=sources.get),
    ]
    caption = (
        f"Text that vocabularies are learnt on: in the paper CommonCrawl of this size ({_sum('cc_gb')} GB in all "
        "86), of which its authors’ scripts sample a million lines a language; in this run the text read. From "
        "results/corpora/{language}/stats.json."
    )
    title = "Table 7: CommonCrawl sizes, beside the text of the vocabularies"
    return Table.of("paper-text-vocabularies", title, caption, columns, results.languages, folded=True)


def _training_text(results: Results) -> Table:
    read = {code: size / GB for code, size in results.training_bytes.items()}
    columns = [
        *language_columns(results),
        _printed("paper_wikipedia_gb", "Wikipedia in the paper, GB", "wikipedia_gb"),
        Column("trained_gb", "Pre-training text of this run, GB", "number", value=read.get),
    ]
    caption = (
        f"Text that models are pre-trained on: Wikipedia in the paper ({_sum('wikipedia_gb')} GB in all 86); in "
        "this run all usable lines of pretraining.corpus, held-out lines left out. From "
        f"results/pretraining/tokens/{{tokenizer}}/{{language}}/description.json."
    )
    title = "Table 8: Wikipedia sizes, beside the text of pre-training"
    return Table.of("paper-text-pretraining", title, caption, columns, results.languages, folded=True)


def _allocated(results: Results) -> Table:
    thousands = {
        name: {share.language: share.size / 1000 for share in entry.shares if share.size is not None}
        for name, entry in results.allocations.items()
    }
    columns = [
        *language_columns(results),
        _printed("paper_thousands", "The paper, T = 500K", "allocated_thousands"),
        *(Column(f"thousands_{name}", name, "number", value=sizes.get) for name, sizes in thousands.items()),
    ]
    caption = (
        "Thousand pieces of each language’s vocabulary, before merging: the paper’s at T = 500K "
        f"({_sum('allocated_thousands')} in all 86), and those of each allocation of this run. From "
        "results/allocation/{name}/allocation.tsv."
    )
    title = "Table 9: allocated sizes"
    return Table.of("paper-allocated-sizes", title, caption, columns, results.languages, folded=True)
