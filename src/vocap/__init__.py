"""Allocating large vocabulary capacity for cross-lingual language model pre-training
(VoCap).

One package a stage, in the order of a run: corpora, vocabularies, allocation,
tokenizers, pretraining, finetuning, report. Below them, shared by stages: files,
tables, text_files, unigram, bpe, tokenizer_files, training. Beside them: starter,
adapt, diff, correlation, plan, init, size. For notebooks: the functions of `vocap.api`.
"""

__version__ = "0.1.0"

# functions to their commands; `vocap.bpe`, `vocap.diff` and `vocap.size` are packages
COMMANDS = {
    name: name
    for name in ("alp", "allocate", "fit", "export", "evaluate", "trim", "extend", "card")
}
COMMANDS |= {"train_ladder": "ladder", "train_joint": "joint", "train_bpe": "bpe"}
COMMANDS |= {"compare": "diff", "compare_sizes": "size"}
__all__ = [*COMMANDS, "load_tokenizer", "read_curves", "read_table"]


def __getattr__(name: str):
    """The functions of the library, imported at the first use: commands start without
    pandas.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from vocap import api

    function = (
        api.command_function(name, COMMANDS[name]) if name in COMMANDS else getattr(api, name)
    )
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return [*globals(), *__all__]
