"""Masked language model pre-training."""

REVISION = 2  # raised by a commit that changes this stage's results, so that workflows run it again
