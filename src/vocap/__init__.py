"""Allocating large vocabulary capacity for cross-lingual language model pre-training (VoCap).

One package a stage, in the order of a run: corpora, vocabularies, allocation, tokenizers, pretraining, finetuning,
report. Below them, shared by stages: files, tables, text_files, unigram, tokenizer_files, training. Beside them:
starter, adapt, diff, correlation, plan, init. For notebooks: the functions of `vocap.api`.
"""

__version__ = "0.1.0"

_API = (
    "allocate",
    "alp",
    "build_tokenizer",
    "compare",
    "load_tokenizer",
    "read_curve",
    "read_curves",
    "read_table",
    "train_ladder",
)


def __getattr__(name: str):
    """The functions of `vocap.api`, imported at the first use: commands start without pandas."""
    if name not in _API:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from vocap import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return [*globals(), *_API]
