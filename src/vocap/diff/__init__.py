"""Two tokenizers on one text: differences in pieces, tokens, words and sentences.

`splits` gives the pieces of any tokenizer in one notation, `changes` counts over a text, `writing` compares the
ids and writes text, JSON and tables, `commands` holds the command.
"""
