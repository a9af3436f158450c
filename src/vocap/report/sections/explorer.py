"""The explorer: sizes of the languages under other settings, computed on the page."""

from markupsafe import Markup

from vocap.report.data.explorer import make_explorer, present_choices
from vocap.report.data.results import Results
from vocap.report.page.blocks import Block, Note, Section, Text, Widget, code, not_run


def section(results: Results) -> Section:
    """The explorer, or the reason that there is none."""
    return Section("explorer", "Allocation explorer", "Explorer", _blocks(results))


def _blocks(results: Results) -> list[Block]:
    # reasons for none
    if not results.allocations:
        return [not_run("allocation", "There is no allocation to start from.")]
    data = make_explorer(results)
    if data is None:
        reason = results.no_inputs or "No allocation has its settings and sizes on file."
        said = Markup("<strong>No explorer here.</strong> {} {} makes the missing files.")
        return [Note(said.format(reason, code("snakemake --cores all allocation")))]
    # what it computes, what it shows as computed, and where it counts a sample
    intro = Markup(
        "The page computes Algorithm 1 itself, from the curves and from the pieces that languages share: move a "
        "slider to see each language’s size, and its gain or loss against an allocation of this run. ALP and "
        "tokens are of a language’s own vocabulary, before all are merged. {} gives the same sizes for the "
        "lines to copy."
    )
    blocks: list[Block] = [Text(intro.format(code("vocap allocate")))]
    if others := [one.name for one in present_choices(results) if one.settings.rule != "paper"]:
        blocks.append(
            Text(
                f"The allocations of other rules ({', '.join(others)}) are shown as computed. For a rule that "
                "reads the languages’ text, the size is the number of pieces that a language uses."
            )
        )
    if data["thinned"] > 1:
        blocks.append(
            Note(
                f"To fit the page, 1 in {data['thinned']:,} of the pieces that languages share was taken, and "
                "counts for all: the size of a language may differ by a step. vocap allocate counts every piece.",
                "warning",
            )
        )
    otherwise = "The explorer needs scripts; vocap allocate computes the same on the command line."
    return [*blocks, Widget("explore", "explorer", data, otherwise)]
