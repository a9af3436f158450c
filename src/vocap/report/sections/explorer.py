"""Other settings, tried on the page: what each language would get."""

from markupsafe import Markup

from vocap.report.blocks import Block, Note, Section, Text, code, not_run
from vocap.report.explorer import make_explorer, present_choices
from vocap.report.results import Results


def section(results: Results) -> Section:
    """The explorer, or why there is none."""
    title, short = "What if: other settings, tried here", "What if"
    if not results.allocations:
        return Section("explorer", title, short, [not_run("allocation", "There is no choice to start from.")])
    explorer = make_explorer(results)
    if explorer is None:
        why = results.no_inputs or "No allocation says its settings and sizes."
        remedy = Markup("<strong>No explorer here.</strong> {} {} makes what is missing.").format(
            why, code("snakemake --cores all allocation")
        )
        return Section("explorer", title, short, [Note(remedy)])
    blocks: list[Block] = [
        Text(
            Markup(
                "The page computes Algorithm 1 itself, from the curves and from which pieces the languages share: "
                "move a slider and see what each language gets, and who gains and who loses against the present "
                "choice. ALP and tokens are of a language’s own vocabulary of that size, before all are merged. "
                "The sizes are those that {} gives for the same settings; the lines to copy ask for them."
            ).format(code("vocap allocate"))
        )
    ]
    if by_text := [one.name for one in present_choices(results) if one.settings.needs_text]:
        blocks.append(
            Text(
                f"Of {', '.join(by_text)} the page has what was computed, to compare with: a rule that reads the "
                "languages’ text is not computed here. Size is then how many pieces a language uses, and ALP and "
                "tokens are on these pieces."
            )
        )
    if explorer.thinned > 1:
        blocks.append(
            Note(
                f"To fit the page, 1 in {explorer.thinned:,} of the pieces that languages share was taken, and "
                f"counts for all. Sizes of unions are off by up to {100 * explorer.error:.2f} % (the most of nine "
                "measured), and a language may come out a step off; vocap allocate counts every piece.",
                "warning",
            )
        )
    return Section("explorer", title, short, [*blocks, explorer])
