"""The explorer: sizes of the languages under other settings, computed on the page."""

from markupsafe import Markup

from vocap.report.data.explorer import make_explorer, present_choices
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Note, Section, Text, code, not_run


def section(results: Results) -> Section:
    """The explorer, or the reason that there is none."""
    title, short = "Allocation explorer", "Explorer"
    if not results.allocations:
        return Section("explorer", title, short, [not_run("allocation", "There is no allocation to start from.")])
    explorer = make_explorer(results)
    if explorer is None:
        reason = results.no_inputs or "No allocation has its settings and sizes on file."
        remedy = Markup("<strong>No explorer here.</strong> {} {} makes the missing files.").format(
            reason, code("snakemake --cores all allocation")
        )
        return Section("explorer", title, short, [Note(remedy)])
    blocks: list[Block] = [
        Text(
            Markup(
                "The page computes Algorithm 1 itself, from the curves and from the pieces that languages share: "
                "move a slider to see the size of each language, and its gain or loss against an allocation of "
                "this run. ALP and tokens are of a language’s own vocabulary of that size, before all are merged. "
                "The sizes are those that {} gives for the same settings; the lines to copy ask for them."
            ).format(code("vocap allocate"))
        )
    ]
    if others := [one.name for one in present_choices(results) if one.settings.rule != "paper"]:
        blocks.append(
            Text(
                f"The allocations of other rules ({', '.join(others)}) are shown as computed, to compare "
                "with. For a rule that reads the languages’ text, the size is the number of pieces that a "
                "language uses, and ALP and tokens are on these pieces."
            )
        )
    if explorer.thinned > 1:
        blocks.append(
            Note(
                f"To fit the page, 1 in {explorer.thinned:,} of the pieces that languages share was taken, and "
                f"counts for all. Sizes of unions are off by up to {100 * explorer.error:.2f} % (the most of nine "
                "measured), and the size of a language may differ by a step; vocap allocate counts every piece.",
                "warning",
            )
        )
    return Section("explorer", title, short, [*blocks, explorer])
