"""`vocap report`: the page, its tables and its figures, of an extra that
`vocap report --help` does without.
"""

from pathlib import Path

import click

from vocap import options
from vocap.errors import log
from vocap.options import PATH


@click.command()
@click.option("--results", required=True, type=PATH, help="Folder that the stages wrote to.")
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
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder to write.")
def report(
    results: Path,
    languages_table: Path | None,
    title: str | None,
    settings_file: Path | None,
    settings_json: str | None,
    parallel_text: str | None,
    out: Path,
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
        out,
        languages_table=languages_table,
        title=title,
        settings=settings,
        parallel_text=parallel_text or "",
    )
    log.info("%s: %.1f MB", out / "index.html", size / 1e6)
