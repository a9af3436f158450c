"""The stages in the order of a run: folders of the results, and packages of this name."""

STAGES = (
    "corpora",
    "vocabularies",
    "allocation",
    "tokenizers",
    "pretraining",
    "finetuning",
    "correlation",
    "report",
)
