"""All vocabulary sizes of a corpus from one descent, bit for bit as SentencePiece 0.2.1
trains them one by one.

The algorithm is that of SentencePiece's unigram_model_trainer.cc (Copyright 2016 Google
Inc., Apache License 2.0).

In the order of `Trainer::Train`: `training_text` (lines as the trainer reads them),
`word_table` (distinct words), `counts` (those of a language in files), `word_types`
(weighted word types), `seeds` (suffix array to seed pieces), `lattice`, `em` (E and M
step), `segmentation` (Viterbi, pruning), `descent` (the rungs of all sizes), `ladder`
(models and ALPs of all sizes). Beside them: `text_settings`, `alp` (Equation 1),
`sentencepiece_trainer` (the reference), and `kernels` (compilation and threads).
"""
