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
    text_of,
)
from vocap.report.page.rendering import sentence
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


# id, heading and name in the navigation of each part of the page, and its function
PARTS = (
    ("start", "What each language gets", "Start", front.section),
    ("language", "My language: what it gets, and why", "My language", language.section),
    ("explorer", "Other sizes: the explorer", "Explorer", allocation.explorer),
    ("comparison", "The tokenizers compared", "Comparison", comparison.section),
    ("curves", "ALP of every language at every size", "ALP curves", corpora.curves),
    ("allocation", "Vocabulary size of each language", "Allocation", allocation.section),
    ("size", "Size of the vocabulary", "Size", models.vocabulary_size),
    ("tokenizers", "The tokenizers", "Tokenizers", tokenizers.section),
    ("corpora", "Text of each language, and what is missing", "Corpora", corpora.section),
    ("models", "Pre-training", "Models", models.pretraining),
    ("finetuning", "Fine-tuning", "Fine-tuning", models.finetuning),
    ("paper", "The paper’s tables and figures, and this run’s", "The paper", paper.section),
    ("settings", "Settings and versions", "Settings", settings),
)


def build_sections(results: Results) -> list[Section]:
    """Every section that has something to show, then the notes of the others under one
    heading.
    """
    made: list[Section] = []
    notes: dict[PageBlock, None] = {}  # in their order, each once
    for name, title, short, make_blocks in PARTS:
        blocks = make_blocks(results)
        if all(isinstance(block, Note) for block in blocks):
            notes |= dict.fromkeys(blocks)
        else:
            made.append(Section(name, title, short, blocks))
    if notes:
        made.append(Section("absent", "Not in this run", "", list(notes)))
    return made
