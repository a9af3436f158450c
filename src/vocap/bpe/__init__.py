"""Byte-pair encoding over word types: training, every size of it, and the
tokenizer.json that has its ids.

`cutting` says where text is cut into words, `words` counts them as symbols; `training`
chooses the merges for one text (`kernels`), `multilingual` for many languages;
`tokenizer_json` writes them. `model_file` reads any such file and changes it,
`continuing` trains on behind its merges: for `vocap trim` and `extend`.
"""

from typing import Literal, get_args

Unit = Literal["bytes", "characters"]  # the symbols before any merge
UNITS: tuple[Unit, ...] = get_args(Unit)
Split = Literal["words", "spaces", "gpt2", "o200k", "llama-3", "qwen", "cl100k"]
SPLITS: tuple[Split, ...] = get_args(Split)
DIGITS = ("1", "3", "3-right", "none")
REGEX = "regex"  # the name, in place of one of SPLITS, of an expression that the user gives
