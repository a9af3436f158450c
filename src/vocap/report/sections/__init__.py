"""The parts of the page, in their order: functions that make a section of the results."""

from vocap.report.data.results import Results
from vocap.report.page.blocks import Section
from vocap.report.sections import (
    allocation,
    comparison,
    corpora,
    curves,
    explorer,
    models,
    overview,
    paper,
    segmentation,
    size,
    tokenizers,
)

ORDER = (
    overview.section,
    comparison.section,
    curves.section,
    allocation.section,
    explorer.section,
    size.section,
    tokenizers.section,
    segmentation.section,
    corpora.section,
    models.pretraining,
    models.finetuning,
    paper.section,
    overview.settings,
)


def build(results: Results) -> list[Section]:
    """Every section of the page."""
    return [section(results) for section in ORDER]
