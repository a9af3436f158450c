"""config.json of a Hugging Face model, checked without loading the model."""

from pathlib import Path
from typing import Any

from vocap.errors import VocapError
from vocap.files.io import read_object

CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
# their positions count from pad + 1
FROM_PAD = (
    "roberta",
    "camembert",
    "longformer",
    "data2vec-text",
)
REMEDY = (
    f"name the folder of a Hugging Face model: {CONFIG}, {WEIGHTS[0]} and the tokenizer's files"
)

KINDS = {  # of the keys that are used here
    "model_type": str,
    "vocab_size": int,
    "max_position_embeddings": int,
    "pad_token_id": int,
    "architectures": list,
}


def read_config(folder: Path) -> dict[str, Any]:
    """The config.json of a Hugging Face model's folder.

    Raises VocapError where there is none, and where a key that is used here is of
    another type.
    """
    path = folder / CONFIG
    config = read_object(path, REMEDY)
    for key, kind in KINDS.items():
        if not isinstance(config.get(key), kind | None):
            raise VocapError(
                f"{path}: {key} is {config[key]!r:.100}, not of type {kind.__name__}; {REMEDY}"
            )
    return config


def is_causal(config: dict[str, Any]) -> bool:
    """Whether a config.json names a model that writes: one that ends in ForCausalLM, or
    GPT-2's LMHeadModel.
    """
    return any(
        str(name).endswith(("ForCausalLM", "LMHeadModel"))
        for name in config.get("architectures") or ()
    )


def refuse_causal(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """The `config` of a model to fine-tune. Raises VocapError for a causal one: it sees
    nothing behind a word.
    """
    if is_causal(config):
        raise VocapError(
            f"{folder}: a causal model, and XTREME's tasks take masked ones; name another folder"
        )
    return config


def longest_input(config: dict[str, Any]) -> int | None:
    """The longest input of the model in ids; None where its configuration does not bound it.

    >>> xlm_roberta = {"model_type": "xlm-roberta", "pad_token_id": 1}
    >>> longest_input({**xlm_roberta, "max_position_embeddings": 514})
    512
    """
    positions = config.get("max_position_embeddings")
    if positions is None or not (config.get("model_type") or "").endswith(FROM_PAD):
        return positions
    pad = config.get("pad_token_id")
    return positions - (1 if pad is None else pad) - 1
