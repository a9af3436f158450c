"""Settings and versions of the run."""

from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Code, Facts, Note, Section, Text


def section(results: Results) -> Section:
    """The merged configuration, the versions, and the time of each stage where it is known."""
    blocks: list[Block] = [Facts(list(results.versions.items()))]
    if results.folder != "results" and not results.folder.startswith("/"):
        blocks.append(Text(f"On this page results/ stands for {results.folder}/, the folder of this run."))
    if results.seconds:
        blocks.append(Facts([(f"Time of {stage}", f"{spent:,.0f} s") for stage, spent in results.seconds.items()]))
    if results.settings:
        blocks.append(Code.of_file(results.settings, "the configuration of this run"))
    else:
        blocks.append(Note("The configuration was not given: --settings FILE shows it here."))
    return Section("settings", "Settings and versions", "Settings", blocks)
