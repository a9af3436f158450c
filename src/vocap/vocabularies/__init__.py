"""One unigram model per language and size, and its average log probability (ALP)."""

COVERAGE = 0.9995  # share of a text's characters that must be pieces: the reference code's character_coverage

SEEDS = ("classic", "words")  # where the ladder begins: as SentencePiece 0.1.99 to 0.2.1, or as 0.2.2

REVISION = 3  # raised by a commit that changes this stage's results, so that workflows run it again
MAX_SIZE = 100_000_000  # far above any text; from 1,952,257,863 SentencePiece overflows and never returns
