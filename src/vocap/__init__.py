"""Allocating large vocabulary capacity for cross-lingual language model pre-training
(VoCap).

One package a stage, in the order of a run: corpora, vocabularies, allocation,
tokenizers, pretraining, finetuning, report. Below them, shared by stages: files,
tables, text_files, unigram, bpe, tokenizer_files, training. Beside them: starter,
adapt, diff, correlation, forecast, init, size, and `pieces_tokenizer`, which goes
through several stages.

The functions of the stages are names of this module too: `vocap.train_ladder`. They
raise `vocap.errors.VocapError` (for a wrong call its subclass `UsageError`) and print
nothing; progress goes to the logger `vocap`. Their types stand in `__init__.pyi`.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# the functions of the library and their modules; `vocap.bpe`, `vocap.diff` and
# `vocap.size` are packages
FUNCTIONS = {
    "TextSettings": "vocap.unigram.text_settings",
    "allocate": "vocap.allocation.stage",
    "alp": "vocap.vocabularies.measurement",
    "card": "vocap.tokenizers.exporting",
    "compare": "vocap.diff.analysis",
    "compare_sizes": "vocap.size.forecast",
    "evaluate": "vocap.tokenizers.evaluate",
    "export": "vocap.tokenizers.exporting",
    "extend": "vocap.adapt.extend",
    "finetune_model": "vocap.finetuning.run",
    "fit": "vocap.tokenizers.fitting",
    "forecast_run": "vocap.forecast.run",
    "layout": "vocap.tokenizer_files.id_layout",
    "load_tokenizer": "vocap.tokenizer_files.loading",
    "pretrain_model": "vocap.pretraining.training",
    "read_curves": "vocap.tables.frames",
    "read_table": "vocap.tables.frames",
    "sample_corpus": "vocap.corpora.stage",
    "score_task": "vocap.finetuning.scores",
    "text_settings": "vocap.unigram.text_settings",
    "train_bpe": "vocap.tokenizers.byte_pairs",
    "train_joint": "vocap.tokenizers.joint",
    "train_ladder": "vocap.vocabularies.ladder",
    "train_pieces": "vocap.pieces_tokenizer",
    "trim": "vocap.adapt.trim",
}
__all__ = list(FUNCTIONS)


def __getattr__(name: str) -> Any:
    """The functions of the library, imported at the first use: commands start without
    pandas.
    """
    if name not in FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = getattr(import_module(FUNCTIONS[name]), name)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return [*globals(), *__all__]
