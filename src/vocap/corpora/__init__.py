"""Text: sources, downloads, and a bounded sample of each language."""

REVISION = 1  # raised by a commit that changes this stage's results, so that workflows run it again
