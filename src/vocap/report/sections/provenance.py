"""Settings and versions of the run."""

from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Facts, Listing, Note, Section, Text


def section(results: Results) -> Section:
    """The merged configuration, the versions, and the time of each stage where it is known."""
    blocks: list[Block] = [Facts(list(results.versions.items()), "Versions")]
    if results.folder != "results" and not results.folder.startswith("/"):
        blocks.append(Text(f"On this page results/ stands for {results.folder}/, the folder of this run."))
    if results.seconds:
        seconds = [(stage, f"{seconds:,.0f} s") for stage, seconds in results.seconds.items()]
        blocks.append(Facts(seconds, "Time of all jobs, by stage"))
    if results.settings:
        import yaml

        text = yaml.safe_dump(results.settings, sort_keys=False, allow_unicode=True, width=100)
        blocks.append(Listing("The configuration of this run, all files merged", text))
    else:
        blocks.append(Note("The configuration was not given: --settings FILE shows it here."))
    return Section("settings", "Settings and versions", "Settings", blocks)
