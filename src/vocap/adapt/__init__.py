"""A finished tokenizer made smaller or given a language more, with its model."""
