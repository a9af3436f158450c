"""The parts of the page, in their order: functions that make a section of the
results.
"""

from vocap.report.data.results import Results
from vocap.report.page.blocks import Note, Section
from vocap.report.paper import section as paper
from vocap.report.sections import allocation, comparison, corpora, models, overview, tokenizers

ORDER = (
    overview.section,
    comparison.section,
    corpora.curves,
    allocation.section,
    allocation.explorer,
    models.size,
    tokenizers.section,
    tokenizers.segmentation,
    corpora.section,
    models.pretraining,
    models.finetuning,
    paper.section,
    overview.settings,
)


def build(results: Results) -> list[Section]:
    """Every section that has something to show, then the notes of the others under one
    heading.
    """
    sections = [section(results) for section in ORDER]
    made = [one for one in sections if not all(isinstance(block, Note) for block in one.blocks)]
    notes = dict.fromkeys(note for one in sections if one not in made for note in one.blocks)
    return [*made, Section("absent", "Not in this run", "", list(notes))] if notes else made
