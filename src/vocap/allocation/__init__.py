"""How many pieces each language gets of a merged vocabulary of T: Algorithm 1 and its cost-aware variant."""

REVISION = 1  # raised by a commit that changes this stage's results, so that workflows run it again
