"""Tokenizers as files: SentencePiece models, their normaliser and layout, the Hugging Face form, encoders."""

META = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")  # XLM-R's special tokens, in the order of their ids
SPECIALS = len(META)  # rows of T that are not pieces

XLMR_ROWS = 250_002  # the estimate for a tokenizer whose size only its file knows

# Files of a tokenizer's huggingface/ folder, in the order in which they are written.
EXPORTED = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "golden.json")
CARD = "README.md"  # the model card beside them
