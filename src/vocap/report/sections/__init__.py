"""The parts of the page, in their order: each module gives one `section(results)`."""

from vocap.report.data.results import Results
from vocap.report.page.blocks import Section
from vocap.report.sections import (
    allocation,
    comparison,
    corpora,
    curves,
    explorer,
    finetuning,
    overview,
    paper,
    pretraining,
    provenance,
    segmentation,
    size,
    tokenizers,
)

ORDER = (
    overview,
    comparison,
    curves,
    allocation,
    explorer,
    size,
    tokenizers,
    segmentation,
    corpora,
    pretraining,
    finetuning,
    paper,
    provenance,
)


def build(results: Results) -> list[Section]:
    """Every section of the page."""
    return [part.section(results) for part in ORDER]
