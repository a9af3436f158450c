"""Byte-pair encoding over word types: training, every size of it, and the
tokenizer.json that has its ids.

`cutting` cuts text into words, `words` counts them as symbols; `training`
chooses the merges for one text (`kernels`), `multilingual` for many languages;
`tokenizer_json` writes them. `model_file` reads any such file and changes it,
`continuing` trains on behind its merges: for `vocap trim` and `extend`.
"""
