"""The rule `pieces`: one descent over the pieces of all languages, instead of a choice among the languages' lists.

It maximises Equation 2, sum_i q_i^beta ALP_i(V), over one set V of T - 5 pieces that all languages share. Every
language keeps its own word types, lattices and unigram probabilities, the engine of the ladder; only the pruning
is common: the value of a piece is the sum over languages of the weighted loss of likelihood without it.
"""

REVISION = 3  # of this rule alone, so that other rules' allocations, and models on them, are not made again
