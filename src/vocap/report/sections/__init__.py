"""The parts of the page, in their order: each module gives one `section(results)`.

`tokenizer_checks` gives blocks of the tokenizers' section instead: parity of the exports, parallel text.
"""

from vocap.report.data.results import Results
from vocap.report.page.blocks import Section
from vocap.report.sections import (
    allocation,
    comparison,
    corpora,
    curves,
    every_tokenizer,
    explorer,
    finetuning,
    frontier,
    overview,
    paper,
    pretraining,
    provenance,
    same_size,
    segmentation,
    size,
    tokenizers,
)

ORDER = (
    overview,
    every_tokenizer,
    same_size,
    curves,
    comparison,
    allocation,
    frontier,
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
