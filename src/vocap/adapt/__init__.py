"""A finished tokenizer made smaller or given a language more, with its model (`adapting`).

`adaptable` is what both kinds of tokenizer do for that: unigram models in `pieces`, byte-pair encoding in `pairs`.
`model_rows` rebuilds the embedding table of a Hugging Face model.
"""

SHARE = 0.01  # of the tokens, which the scores of new pieces assume; docs/adapting.md compares others
