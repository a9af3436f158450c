"""The parts of the page, in their order: functions that make the blocks of a
section of the results.
"""

from vocap.report.data.results import Results
from vocap.report.page.blocks import (
    CodeBlock,
    Note,
    PageBlock,
    Paragraph,
    Section,
    not_run,
    text_of,
)
from vocap.report.page.rendering import sentence
from vocap.report.page.tables import specification
from vocap.report.paper import section as paper
from vocap.report.sections import (
    allocation,
    comparison,
    corpora,
    front,
    language,
    models,
    tokenizers,
)


def settings(results: Results) -> list[PageBlock]:
    """The merged configuration, the versions, and results of other configurations."""
    blocks: list[PageBlock] = [Paragraph(f"Made with {text_of(results.versions)}.")]
    if results.left:
        blocks.append(Note(sentence("left", left=results.left)))
    if results.settings:
        blocks.append(CodeBlock.of_file(results.settings, "the configuration of this run"))
    else:
        blocks.append(Note("The configuration was not given: --settings FILE shows it here."))
    return blocks


# the functions of the parts of the page, whose headings and order are in specification.yaml
PARTS = {
    "start": front.section,
    "language": language.section,
    "explorer": allocation.explorer,
    "comparison": comparison.section,
    "curves": corpora.curves,
    "allocation": allocation.section,
    "size": models.vocabulary_size,
    "tokenizers": tokenizers.section,
    "corpora": corpora.section,
    "models": models.pretraining,
    "finetuning": models.finetuning,
    "paper": paper.section,
    "settings": settings,
}


def build_sections(results: Results) -> list[Section]:
    """Every section that has something to show, then the notes of the others under one
    heading.
    """
    made: list[Section] = []
    notes: dict[PageBlock, None] = {}  # in their order, each once
    for name, told in specification()["parts"].items():
        if "needs" in told and not getattr(results, told["needs"]):
            blocks: list[PageBlock] = [not_run(told["stage"], told["absent"])]
        else:
            blocks = PARTS[name](results)
        if all(isinstance(block, Note) for block in blocks):
            notes |= dict.fromkeys(blocks)
        else:
            made.append(Section(name, told["title"], told["short"], blocks))
    if notes:
        made.append(Section("absent", "Not in this run", "", list(notes)))
    return made
