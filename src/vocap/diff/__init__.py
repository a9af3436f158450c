"""Two tokenizers on one text: differences in pieces, tokens, words and sentences."""
