"""All vocabulary sizes of a corpus from one descent, bit for bit as SentencePiece 0.2.1 trains them one by one.

The algorithm is that of SentencePiece's unigram_model_trainer.cc (Copyright 2016 Google Inc., Apache License 2.0).

Read in this order: `sentences` (corpus to normalised lines), `word_types` (to weighted word types, counted in a
`word_table`), `suffixes` and `seeds` (suffix array to seed pieces), `lattice`, `expectation` (E step; its
arithmetic is in `log_domain` or, the fast one, in `scaled`), `maximisation` (M step), `segmentation` (Viterbi),
`pruning`, `finalisation`, `descent` (the ladder itself), `model_writer`, `sizes` (models and ALPs, one size after
the other). Beside them: `crew` (threads), `kernels` (compiling), `word_seeds` and `text_end` (seeds of 0.2.2),
`trie` and `fixed` (the engine on pieces that are given).
"""
