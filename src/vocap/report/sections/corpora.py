"""The text of each language, and the packages of the starter corpus."""

import json
from typing import Any

from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Section, Text, not_run, text_of
from vocap.report.page.tables import specified


def section(results: Results) -> Section:
    """One row a language, as the corpora stage counted it."""
    blocks: list[Block] = [not_run("corpora", "No text has been sampled yet.")]
    if results.corpora:
        blocks = [
            Text(
                "Lines are sampled in one pass; none is in both the training and the held-out part. Where reading "
                "stopped at the scan limit the number of lines n is extrapolated by bytes, and the row is marked."
            ),
            specified("corpora", _lines(results)),
            *([specified("packages", results.packages)] if results.packages else []),
        ]
    return Section("corpora", "Text of each language", "Corpora", blocks)


def _lines(results: Results) -> list[dict[str, Any]]:
    """The counts of each language, as stats.json and weights.tsv have them."""
    rows = []
    for code in (code for code in results.languages if code in results.corpora):
        stats, weight = results.corpora[code], results.weights.get(code, {})
        n = weight.get("n", stats.get("n"))
        whole = "yes" if stats.get("complete", True) else "no: scan limit"
        about = {**results.about(code), "source": text_of(stats.get("source")), "n_source": weight.get("source")}
        measured = {"n": n and json.loads(str(n)), "complete": "" if stats.get("missing") else whole}
        rows.append({**stats, **about, **measured})
    return rows
