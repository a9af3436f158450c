"""Text: sources, downloads, and a bounded sample of each language."""

MAX_LINE_BYTES = 4192  # max_sentence_length, SentencePiece's default; it skips longer lines
MIN_CHARACTERS = 100_000  # the lowest limit of a sample: some thousand lines; a line always fits

REVISION = 2  # raised by a commit that changes this stage's results, so that workflows run it again
