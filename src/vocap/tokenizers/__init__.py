"""The multilingual tokenizers: VOCAP, JOINT, and their rivals."""

REVISION = 7  # raised by a commit that changes this stage's results, so that workflows run it again
