"""Byte-pair encoding over word types: training, every size of it, and the tokenizer.json that has its ids.

`pretokenizer` cuts text into words, `words` counts them as symbols, `kernels` merges pairs; `training` chooses the
merges for one text or for many languages, `replay` counts tokens at every size, `model` and `tokenizer_json` write
the result.
"""

MODELS = ("unigram", "bpe")
UNITS = ("bytes", "characters")
SPLITS = ("words", "spaces")
