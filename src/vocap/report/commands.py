"""`vocap report`: the page, its tables and its figures, of an extra that
`vocap report --help` does without; `vocap decide`: the tokenizers of runs in one table.
"""

import json
from pathlib import Path
from typing import Any

import click

from vocap import options
from vocap.errors import log
from vocap.options import PATH, Number
from vocap.size.forecast import SizeSettings


@click.command()
@options.path("--results", PATH, "Folder that the stages wrote to.", required=True)
@options.languages_table
@click.option(
    "--title",
    help="Heading of the page.  [default: the configuration's, or one made from languages and T]",
)
@click.option(
    "--settings",
    "settings_file",
    type=PATH,
    help="File of the merged configuration, JSON or YAML, which the page shows.",
)
@click.option(
    "--settings-json",
    metavar="TEXT",
    envvar="VOCAP_REPORT_SETTINGS",
    show_envvar=True,
    help="The content of --settings as JSON text.",
)
@click.option(
    "--parallel-text",
    metavar="TEXT",
    help="Name of the parallel text of the evaluation, which the page shows.",
)
@options.output(PATH, "Folder to write.")
def report(
    results: Path,
    languages_table: Path | None,
    title: str | None,
    settings_file: Path | None,
    settings_json: str | None,
    parallel_text: str | None,
    output: Path,
) -> None:
    """Write one self-contained page about the results of the stages.

    The command writes index.html, figures/ (SVG, PDF) and tables/ (TSV, LaTeX,
    Markdown). The page ends with the stages that have no results, and the command that
    runs each. The same results always give the same bytes.
    """
    settings = options.read_settings(settings_file, settings_json)
    from vocap.report.stage import report_results

    size = report_results(
        results,
        output,
        languages_table=languages_table,
        title=title,
        settings=settings,
        parallel_text=parallel_text or "",
    )
    log.info("%s: %.1f MB", output / "index.html", size / 1e6)


@click.command()
@click.argument("results", nargs=-1, required=True, type=options.FOLDER)
@click.option(
    "--parameters",
    "others",
    default=86e6,
    type=Number(1, 1e15),
    help="N, the parameters beside the embeddings.",
)
@click.option("--hidden", default=768, type=click.IntRange(1), help="H, the width of embeddings.")
@options.of(SizeSettings, "causal", "untied")
@options.languages_table
@click.option("--json", "as_json", is_flag=True, help="Print all figures as one JSON object.")
def decide(
    results: tuple[Path, ...], languages_table: Path | None, as_json: bool, **model: Any
) -> None:
    """Print one table of the tokenizers of runs, by which to choose.

    RESULTS is the folder of a run. A row has the tokens of a sentence of parallel text, the worst
    language and its ratio to English, Gini, and bits per byte, with intervals over sentences; the
    parameters of the embeddings and their share of a model; and the programs that load the
    tokenizer. Two T of one kind are compared in a sentence. Runs whose configuration differs in
    seed alone are joined, with the spread of their numbers.
    """
    from vocap.files.io import aligned
    from vocap.report.data.decision import decide, read_configuration
    from vocap.report.sections.comparison import compared_totals, decision_table, loading_programs
    from vocap.report.why.run import open_run
    from vocap.size.forecast import ModelCosts
    from vocap.tables.frames import records

    runs = {
        str(folder): open_run(folder, languages_table, read_configuration(folder)).results
        for folder in results
    }
    rows = decide(runs, ModelCosts(**model))
    said = [text.striptags() for text in compared_totals(rows)]
    if as_json:
        found = {"rows": records(rows), "sentences": said}
        click.echo(json.dumps(found, ensure_ascii=False, allow_nan=False))
        return
    table = decision_table(rows, next(iter(runs.values())).name, len(runs) > 1).on("page")
    cells = [[column.title for column in table.columns], *map(table.texts, table.rows)]
    left = [place for place, column in enumerate(table.columns) if column.kind == "text"]
    loaded = [text.unescape() for text in loading_programs(rows)]
    click.echo("\n".join([*aligned(cells, left), *loaded, *said]))
