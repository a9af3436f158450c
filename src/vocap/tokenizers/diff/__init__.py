"""Two tokenizers on one text: what differs in pieces, tokens, words and sentences.

`splits` writes the pieces of any tokenizer alike, `changes` counts over a text, `vocabularies` compares the ids,
`writing` gives the forms for people and for machines, `commands` the verb.
"""
