"""The files of a Hugging Face model's folder besides its weights: config.json, checked
without loading the model, and what is written with a model of other ids.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vocap.errors import VocapError
from vocap.files.io import read_object, write_json

CONFIG = "config.json"
GENERATION = "generation_config.json"
MODULES = "modules.json"  # of sentence-transformers
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

# lists of ids of a generation_config.json, besides keys in _token_id
TOKEN_LISTS = ("suppress_tokens", "begin_suppress_tokens", "bad_words_ids", "force_words_ids")

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


@contextmanager
def foreign_model(folder: Path, said: str, remedy: str) -> Iterator[None]:
    """Raise what transformers raises for the model of a folder, exceptions of any class,
    as a VocapError that begins with `said`; what a lack of memory raises stays.
    """
    import torch

    try:
        yield
    except (VocapError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise VocapError(f"{folder}: {said}: {reason:.300}; {remedy}") from None


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


def renumbered(settings: Mapping[str, Any], number: Mapping[int, int]) -> dict[str, Any]:
    """Settings of a model with the ids of tokens in them exchanged, by `number`; None
    for an id that is gone, in a list nothing.

    >>> renumbered({"eos_token_id": [7, 9], "pad_token_id": 1, "layers": 7}, {7: 3})
    {'eos_token_id': [3], 'pad_token_id': None, 'layers': 7}
    """

    def new(value: Any) -> Any:
        """Of an id, or of a sequence, which is gone with any of its ids."""
        if isinstance(value, list):
            return [number[one] for one in value] if number.keys() >= set(value) else None
        return number.get(value)

    def exchanged(key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return renumbered(value, number)
        if not key.endswith("_token_id") and key not in TOKEN_LISTS:
            return value
        if isinstance(value, list):
            return [found for one in value if (found := new(one)) is not None]
        return new(value)

    return {key: exchanged(key, value) for key, value in settings.items()}


def write_settings(source: Path, folder: Path, number: Mapping[int, int], total: int) -> None:
    """Write config.json of the model folder `source` to `folder`, and its
    generation_config.json if it has one, with `total` ids.

    `number`: old to new ids.
    """
    config = renumbered(read_config(source), number)
    write_json(folder / CONFIG, config | {"vocab_size": total})
    (folder / GENERATION).unlink(missing_ok=True)
    if (source / GENERATION).is_file():
        write_json(folder / GENERATION, renumbered(read_object(source / GENERATION), number))


def copy_modules(source: Path, folder: Path) -> None:
    """Copy what sentence-transformers needs beside the model: its settings, and the
    folders that modules.json names, none of which knows an id.

    Raises VocapError for a module outside the folder.
    """
    if not (source / MODULES).is_file():
        return
    try:
        modules = json.loads((source / MODULES).read_text("utf-8"))
        names = [str(module["path"]) for module in modules]
    except (ValueError, TypeError, KeyError):
        raise VocapError(
            f"{source / MODULES}: not a list of modules with a path each; bring it again"
        ) from None
    for name in names:
        place = source / name
        if not place.resolve().is_relative_to(source.resolve()):
            raise VocapError(
                f"{source / MODULES}: the module {name!r} is outside the folder; correct its path"
            )
        if name and place.is_dir():  # "" is the model; a module without settings has none
            shutil.copytree(place, folder / name)
    for pattern in (MODULES, "config_sentence_transformers.json", "sentence_*_config.json"):
        for file in source.glob(pattern):
            shutil.copyfile(file, folder / file.name)
