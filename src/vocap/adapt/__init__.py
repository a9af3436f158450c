"""A finished tokenizer made smaller (`trim_command`) or given a language more (`extend_command`), with its model.

`folder` reads and writes the folders and compares segmentations line by line, `extending` chooses and scores new
pieces of a unigram model, `model_rows` rebuilds the embedding table of a Hugging Face model. For any kind of
tokenizer: `sweep` measures numbers of new pieces, `contexts` and `pursuit` make new rows from old ones.
"""
