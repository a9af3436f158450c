"""Two tokenizers on one text: differences in pieces, tokens, words and sentences.

`changes` counts over a text, compares the ids and writes text, JSON and tables; `commands` holds the command.
`tokenizer_files.splitter` gives the pieces of any tokenizer in one notation.
"""
