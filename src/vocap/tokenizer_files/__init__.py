"""Tokenizers as files: SentencePiece models, their normaliser and layout, the Hugging
Face form, encoders.
"""

MASK = "<mask>"
SPECIALS = 5  # rows of T that the special tokens of XLM-R take

XLMR_ROWS = 250_002  # the estimate for a tokenizer whose size only its file knows

# Files of a tokenizer's huggingface/ folder, in the order in which they are written.
EXPORTED = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
CARD = "README.md"  # the model card beside them
CHAT_TEMPLATE = "chat_template.jinja"  # beside them, if there is one
