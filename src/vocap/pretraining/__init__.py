"""Pre-training of language models, masked and causal."""

REVISION = 2  # raised by a commit that changes this stage's results, so that workflows run it again
