"""All vocabulary sizes of a corpus from one descent, bit for bit as SentencePiece 0.2.1 trains them one by one.

Read in this order: `word_types` (corpus to weighted word types, counted in a `word_table`), `suffixes` and `seeds`
(suffix array to seed pieces), `lattice`, `expectation` (E step), `maximisation` (M step), `pruning`,
`finalisation`, `segmentation` (Viterbi), `descent` (the ladder itself), `model_writer`, `sizes` (models and ALPs,
one size after the other). `trie` and `fixed`: the same engine on pieces that are given.
"""
