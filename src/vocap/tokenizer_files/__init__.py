"""Tokenizers as files: SentencePiece models, their normaliser and layout, the Hugging
Face form, encoders.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

MASK = "<mask>"
SPECIALS = 5  # rows of T that the special tokens of XLM-R take

XLMR_ROWS = 250_002  # the estimate for a tokenizer whose size only its file knows

# Files of a tokenizer's huggingface/ folder, in the order in which they are written.
EXPORTED = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
CARD = "README.md"  # the model card beside them
CHAT_TEMPLATE = "chat_template.jinja"  # beside them, if there is one
TEMPLATES = "additional_chat_templates"  # the folder of further ones

# of byte-pair encoding: where text is cut before any merge
Split = Literal["words", "spaces", "gpt2", "o200k", "llama-3", "qwen", "cl100k"]
SPLITS: tuple[Split, ...] = get_args(Split)
# where files of tiktoken's ranks are cut: one name for all, NAME=CUT, or by tokenizer
Cuts = str | Sequence[str] | Mapping[str, str]
DIGITS = ("1", "3", "3-right", "none")
REGEX = "regex"  # the name, in place of one of SPLITS, of an expression that the user gives
