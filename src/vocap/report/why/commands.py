"""`vocap why`: one language of a run, as text or JSON."""

import json
from pathlib import Path

import click

from vocap import options


@click.command()
@click.argument("results", type=options.FOLDER)
@click.argument("language")
@options.languages_table
@click.option("--json", "as_json", is_flag=True, help="Print all figures as one JSON object.")
def why(results: Path, language: str, languages_table: Path | None, as_json: bool) -> None:
    """Tell what one language of a run gets, what that costs, why, and what would help.

    RESULTS is the folder of a run, LANGUAGE a code or a name. The figures are those of the
    part "My language" of the report, which need not be there: text, ids and whom they are
    shared with, tokens of a sentence and the rank of the language, the gain of its next step,
    sizes by Algorithm 1 under larger weights. What vocap extend would save is an estimate.
    What is not known is named with its reason.
    """
    from vocap.report.page.rendering import rendered
    from vocap.report.why.answer import answer_for
    from vocap.report.why.run import find_language, open_run

    run = open_run(results, languages_table)
    answer = answer_for(run, find_language(run, language))
    text = rendered("why.txt", of=answer, name=run.results.name)
    if as_json:
        text = json.dumps(answer | {"text": text}, ensure_ascii=False, allow_nan=False)
    click.echo(text)
