"""config.json of a Hugging Face model, checked without loading the model."""

import re
from pathlib import Path
from typing import Any

from vocap.errors import VocapError
from vocap.files.json_object import read_object

CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
FROM_PAD = ("roberta", "camembert", "longformer", "data2vec-text")  # their positions count from pad + 1
REMEDY = f"name the folder of a Hugging Face model: {CONFIG}, {WEIGHTS[0]} and the tokenizer's files"

_KINDS = {
    "model_type": str,
    "vocab_size": int,
    "max_position_embeddings": int,
    "pad_token_id": int,
}
_COUNT = re.compile(r"(^|_)(num|n)_.*(layer|head|label|expert|group|block)s?$")
MAX_BYTES = 1 << 24
MAX_COUNT = 10_000  # each is a module or more, built before the weights are read
MAX_NUMBER = 1 << 31


def read_config(folder: Path) -> dict[str, Any]:
    """The config.json of a Hugging Face model's folder.

    Raises VocapError where there is none, where a key that is used here is of another type, and for a number that
    would cost the library all memory.
    """
    path = folder / CONFIG
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        raise VocapError(f"{path}: {path.stat().st_size} bytes, more than {MAX_BYTES}; {REMEDY}")
    config = read_object(path, REMEDY)
    for key, kind in _KINDS.items():
        value = config.get(key)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise VocapError(f"{path}: {key} is {value!r:.100}, not of type {kind.__name__}; {REMEDY}")
    names = config.get("architectures")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise VocapError(f"{path}: architectures is {names!r:.100}, not a list of names; {REMEDY}")
    for key, value in config.items():
        most = MAX_COUNT if _COUNT.search(key) else MAX_NUMBER
        if isinstance(value, int) and abs(value) > most:
            raise VocapError(f"{path}: {key} is {value!r:.100}, beyond {most}; {REMEDY}")
    return config


def longest_input(config: dict[str, Any]) -> int | None:
    """The longest input of the model in ids; None where its configuration does not bound it.

    >>> longest_input({"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1})
    512
    """
    positions = config.get("max_position_embeddings")
    if positions is None or not (config.get("model_type") or "").endswith(FROM_PAD):
        return positions
    pad = config.get("pad_token_id")
    return positions - (1 if pad is None else pad) - 1
