"""The multilingual tokenizers: VOCAP, JOINT, and other baselines."""

REVISION = (
    14  # raised by a commit that changes this stage's results, so that workflows run it again
)
