"""Allocation of a merged vocabulary of T among languages: Algorithm 1 and other
rules.
"""

REVISION = 2  # raised by a commit that changes this stage's results, so that workflows run it again
PIECES_REVISION = 7
