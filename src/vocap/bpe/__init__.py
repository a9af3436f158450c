"""Byte-pair encoding over word types: training, every size of it, and the tokenizer.json that has its ids.

`pretokenizer` cuts text into words, `words` counts them as symbols, `kernels` merges pairs; `training` chooses the
merges for one text, `multilingual` for many languages, `replay` counts tokens at every size, `folder` writes the
tokenizer.json of `tokenizer_json`. `model_file` reads any such file; `derivation`, `continuing` and `renumbering`
are for `vocap trim` and `extend`.
"""

UNITS = ("bytes", "characters")
SPLITS = ("words", "spaces")
