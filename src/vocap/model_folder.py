"""The files of a Hugging Face model's folder besides its weights: config.json, checked
without loading the model, and what is written with a model of other ids.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
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
WITHOUT = "adapt the tokenizer without the model"

# keys of ids of tokens of text; of other things with a number: units of sound, tags of
# HTML, layers, languages, prompts and voices
IDS = re.compile(r"(^|_)(ids?|token_index|suppress_tokens)$|^(bos|eos|pad|unk|mask)_index$")
NAMED_IDS = re.compile(r"_to_(code_)?id$|^vocabulary_map$")  # of the ids of names
OTHER_IDS = re.compile(
    r"^(t2u|vocoder|char|code|codec|codebook|tts_codec|audio_stream|tag|subs)_"
    r"|(^|_)(layer|hook|lang|prompt|speaker)_ids?$"
)
SIZES = re.compile(r"^((src|tgt|text|decoder)_)?vocab_size")  # keys of T
# lists of pairs with ids in one place
TOKEN_PAIRS = {"forced_decoder_ids": 1, "sequence_bias": 0}

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


def weight_files(folder: Path) -> list[Path]:
    """The files of a model's weights. Raises VocapError without safetensors."""
    if (folder / WEIGHTS[0]).is_file():
        return [folder / WEIGHTS[0]]
    if not (folder / WEIGHTS[1]).is_file():
        raise VocapError(
            f"{folder}: no {WEIGHTS[0]} there; save the model with save_pretrained first"
        )
    parts = read_object(folder / WEIGHTS[1], REMEDY).get("weight_map")
    names = sorted(set(parts.values())) if isinstance(parts, dict) else []
    return [folder / name for name in names]


def renumbered(
    settings: Mapping[Any, Any],
    number: Callable[[int], int | None],
    sizes: Mapping[int, int],
) -> dict[Any, Any]:
    """Settings of a model, nested ones too, with the ids of tokens in them exchanged by
    `number`, and T by `sizes`; None for an id that is gone, in a list nothing.

    Raises ValueError where a table of names needs an id that is gone.

    A part whose T is none of `sizes` has ids of its own, which stay.

    >>> renumbered({"eos_token_id": [7, 9], "pad_token_id": 1, "layers": 7}, {7: 3}.get, {})
    {'eos_token_id': [3], 'pad_token_id': None, 'layers': 7}
    >>> renumbered({"vocab_size": 7, "forced_decoder_ids": [[1, 6]]}, {6: 4}.get, {7: 5})
    {'vocab_size': 5, 'forced_decoder_ids': [[1, 4]]}
    """

    return {key: _exchanged(str(key), value, number, sizes) for key, value in settings.items()}


def _exchanged(
    key: str, value: Any, number: Callable[[int], int | None], sizes: Mapping[int, int]
) -> Any:
    """The value of one setting, as of `renumbered`."""
    if OTHER_IDS.search(key):
        return value
    if isinstance(value, dict):
        if NAMED_IDS.search(key):
            return {name: _kept_id(key, name, old, number) for name, old in value.items()}
        if key == "id_to_text":
            ids = {number(int(old)): text for old, text in value.items()}
            return {str(new): text for new, text in ids.items() if new is not None}
        own = value.get("vocab_size")
        return value if own and own not in sizes else renumbered(value, number, sizes)
    if SIZES.search(key):
        return sizes.get(value, value)
    if key in TOKEN_PAIRS and value:
        return _present([_in_pair(pair, TOKEN_PAIRS[key], number) for pair in value])
    if not IDS.search(key):
        return value
    if isinstance(value, list):
        return _present([_new_ids(one, number) for one in value])
    return _new_ids(value, number)


def _kept_id(key: str, name: str, old: int, number: Callable[[int], int | None]) -> int:
    if (new := number(old)) is None:
        raise ValueError(f"{key} names {name!r}, whose id {old} is gone")
    return new


def _new_ids(value: Any, number: Callable[[int], int | None]) -> Any:
    """Of an id, or of a sequence, which is gone with any of its ids, or of several. A
    negative number stands for no token, and text and truth values are no ids.
    """
    if not isinstance(value, list):
        return number(value) if type(value) is int and value >= 0 else value
    found = [_new_ids(one, number) for one in value]
    if any(isinstance(one, list) for one in value):
        return _present(found)
    return None if None in found else found


def _in_pair(pair: list[Any], place: int, number: Callable[[int], int | None]) -> Any:
    ids = _new_ids(pair[place], number)
    gone = ids is None and pair[place] is not None
    return None if gone else [*pair[:place], ids, *pair[place + 1 :]]


def _present(found: Sequence[Any]) -> Any:
    return [one for one in found if one is not None] or None


def write_settings(
    source: Path,
    folder: Path,
    loaded: Mapping[str, Any],
    number: Mapping[int, int],
    sizes: Mapping[int, int],
) -> None:
    """Write config.json of the model folder `source` to `folder`, and its
    generation_config.json and the settings of its processors of images and sound if it
    has any, with ids exchanged as by `renumbered`.

    `loaded`: the configuration as the library has it, whose defaults are written where
    they change. Raises VocapError for ids of another form, and as `renumbered`.
    """
    (folder / GENERATION).unlink(missing_ok=True)
    processors = (file.name for file in source.glob("*processor_config.json"))
    for name in (CONFIG, GENERATION, *processors):
        if (source / name).is_file():
            given = read_object(source / name, REMEDY)
            with foreign_model(source / name, "its ids cannot be exchanged", WITHOUT):
                written = renumbered(given, number.get, sizes)
                if name == CONFIG:
                    _add_changed(written, loaded, renumbered(loaded, number.get, sizes))
            write_json(folder / name, written)


def _add_changed(written: dict[str, Any], old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Add those settings that `written` lacks and that are not the same in both others."""
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(old[key], dict):
            part = written.get(key) or {}
            if isinstance(part, dict):
                _add_changed(part, old[key], value)
            if part:
                written[key] = part
        elif key not in written and value != old[key]:
            written[key] = value


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
