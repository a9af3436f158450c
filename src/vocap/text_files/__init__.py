"""Text as it comes: plain, JSON Lines, TSV and Parquet, compressed or not, read in bounded memory."""

MAX_LINE_BYTES = 4192  # max_sentence_length, SentencePiece's default; it skips longer lines
