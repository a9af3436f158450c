"""The multilingual tokenizers: VOCAP, JOINT, and their rivals."""

REVISION = 6  # raised by a commit that changes this stage's results, so that workflows run it again
