"""The parts of the page, in their order: functions that make a section of the
results.
"""

from vocap.report.data.results import Results
from vocap.report.page.blocks import Note, PageBlock, Section
from vocap.report.paper import section as paper
from vocap.report.sections import allocation, comparison, corpora, models, overview, tokenizers

ORDER = (
    overview.section,
    comparison.section,
    corpora.curves,
    allocation.section,
    allocation.explorer,
    models.vocabulary_size,
    tokenizers.section,
    tokenizers.segmentation,
    corpora.section,
    models.pretraining,
    models.finetuning,
    paper.section,
    overview.settings,
)


def build_sections(results: Results) -> list[Section]:
    """Every section that has something to show, then the notes of the others under one
    heading.
    """
    made: list[Section] = []
    notes: dict[PageBlock, None] = {}  # in their order, each once
    for section in ORDER:
        one = section(results)
        if all(isinstance(block, Note) for block in one.blocks):
            notes |= dict.fromkeys(one.blocks)
        else:
            made.append(one)
    if notes:
        made.append(Section("absent", "Not in this run", "", list(notes)))
    return made
