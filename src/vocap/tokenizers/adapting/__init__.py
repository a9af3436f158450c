"""A finished tokenizer made smaller (`trimming`) or given a language more (`extending`), and its model with it.

`source` reads the tokenizer, `proof` compares segmentations line by line, `model_rows` rebuilds the embedding
table of a Hugging Face model, `writing` the folder that comes out, `trim_command` and
`extend_command` have the verbs.
"""
