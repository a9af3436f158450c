"""Two tokenizers on one text: differences in tokens, words and pieces."""
