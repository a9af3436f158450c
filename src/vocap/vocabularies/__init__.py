"""One unigram model per language and size, and its average log probability (ALP)."""

COVERAGE = 0.9995  # share of a text's characters that must be pieces: the reference code's character_coverage

REVISION = 1  # raised by a commit that changes this stage's results, so that workflows run it again
