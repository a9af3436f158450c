"""What a Hugging Face model's config.json says, read without loading the model."""

from pathlib import Path
from typing import Any

from vocap.json_object import read_object

CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
FROM_PAD = ("roberta", "camembert", "longformer", "data2vec-text")  # their positions count from pad + 1


def read_config(folder: Path) -> dict[str, Any]:
    """The config.json of a Hugging Face model's folder; raises VocapError where there is none."""
    return read_object(
        folder / CONFIG,
        f"name the folder of a Hugging Face model: {CONFIG}, {WEIGHTS[0]} and the tokenizer's files",
    )


def longest_input(config: dict[str, Any]) -> int | None:
    """How many ids the model reads at most; None where its configuration does not bound them.

    >>> longest_input({"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1})
    512
    """
    positions = config.get("max_position_embeddings")
    if positions is None or not config.get("model_type", "").endswith(FROM_PAD):
        return positions
    return positions - config.get("pad_token_id", 1) - 1
