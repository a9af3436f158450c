"""The page about the results of a run, as a function."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vocap.errors import UsageError
from vocap.report.data.loading import load_results
from vocap.report.data.results import look_up
from vocap.report.data.sentences import find_sentences
from vocap.report.page.rendering import sentence, vega, write_report
from vocap.report.sections import build_sections
from vocap.stages import STAGES

REPORTED = STAGES[:-1]  # all but the report itself


def report_results(
    results: Path,
    output: Path,
    *,
    languages_table: Path | None = None,
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    parallel_text: str = "",
) -> int:
    """Write `index.html`, `figures/` and `tables/` about the results of a run.

    Parameters
    ----------
    results : Path
        The folder that the stages wrote to; no stage has to be there but one.
    output : Path
        The folder to write, each part whole or not at all.
    languages_table : Path, optional
        The table of languages; without it the one that ships with vocap.
    title : str, optional
        The heading; without it that of `settings`, or one made of languages and T.
    settings : mapping, optional
        The merged configuration, to be shown; results that it does not name are left
        out.
    parallel_text : str
        The name of the parallel text that was evaluated on.

    Returns
    -------
    int
        Bytes of the page.

    Raises
    ------
    UsageError
        For a folder without results, or an output that holds something else.
    VocapError
        For a malformed file of the results, a page over the limit, two parts of one
        name.
    """
    if not any((results / stage).is_dir() for stage in REPORTED):
        raise UsageError(
            f"{results}: no results of a stage; name the folder that the stages wrote to"
        )
    vega()  # a second of work, while the results are read
    loaded = load_results(results, languages_table, dict(settings or {}), parallel_text)
    # of the same object: comparisons are kept with it
    loaded.sentences.extend(find_sentences(results, loaded))
    totals = {
        one.total for one in loaded.tokenizers.values() if one.total and one.kind_class.merged
    }
    made = sentence("title", count=len(loaded.languages), totals=sorted(totals))
    heading = title or look_up(loaded.settings, "report", "title") or made.unescape()
    # an absolute folder, as of a call by hand, is no name for readers elsewhere
    folder = "results" if results.is_absolute() else results.as_posix()
    return write_report(output, heading, build_sections(loaded), folder)
