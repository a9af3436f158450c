"""The parts of the page, in their order: each module gives one `section(results)`.

Two modules give blocks of the tokenizers' section instead: `agreement` on parity, `fairness` on parallel text.
"""

from vocap.report.blocks import Section
from vocap.report.results import Results
from vocap.report.sections import (
    allocation,
    comparison,
    corpora,
    curves,
    explorer,
    finetuning,
    frontier,
    gaps,
    overview,
    paper,
    pretraining,
    provenance,
    same_size,
    segmentation,
    tokenizers,
)

ORDER = (
    overview,
    same_size,
    curves,
    comparison,
    allocation,
    frontier,
    explorer,
    tokenizers,
    segmentation,
    gaps,
    corpora,
    pretraining,
    finetuning,
    paper,
    provenance,
)


def build(results: Results) -> list[Section]:
    """Every section of the page."""
    return [part.section(results) for part in ORDER]
