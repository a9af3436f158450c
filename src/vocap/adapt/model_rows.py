"""A Hugging Face model with other ids: the tensors that follow T, and the same with rows
taken from the old ones, by id.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import safe_open
from torch import nn

from vocap.errors import VocapError, listed, log
from vocap.model_folder import (
    WITHOUT,
    copy_modules,
    foreign_model,
    read_config,
    renumbered,
    weight_files,
    write_settings,
)
from vocap.tokenizer_files import EXPORTED
from vocap.tokenizer_files.encoders import parse_encoder
from vocap.tokenizer_files.export import copy_export

AGAIN = "bring the files of one model again, or save it with save_pretrained of transformers 5"
SAFE: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
# number types of safetensors; of a file with several, that which holds all of them
NUMBERS = {"F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64}


@dataclass(frozen=True)
class ModelSize:
    """The parameters of a model, those of its tables of ids among them, and the MB of
    the files of its weights.
    """

    parameters: int
    embeddings: int
    megabytes: float

    @classmethod
    def of(cls, model: transformers.PreTrainedModel, folder: Path) -> "ModelSize":
        """The size of a model whose files are in a folder; tied tables count once."""
        layers = filter(None, (model.get_input_embeddings(), model.get_output_embeddings()))
        tables = {id(layer.weight): layer.weight.numel() for layer in layers}
        return cls(
            parameters=sum(parameter.numel() for parameter in model.parameters()),
            embeddings=sum(tables.values()),
            megabytes=sum(file.stat().st_size for file in weight_files(folder)) / 1e6,
        )


@dataclass(frozen=True)
class ModelFiles:
    """A model in a folder, of the class `kind` of transformers.

    `options`: arguments of the class; `config`: its configuration, defaults among it;
    `total`: the rows of its table of ids, T or more; `followers`: each tensor with a
    dimension that follows T, to the place of that dimension.
    """

    folder: Path
    kind: type[transformers.PreTrainedModel]
    options: Mapping[str, Any]
    config: Mapping[str, Any]
    total: int
    followers: Mapping[str, int]
    size: ModelSize

    def load(self, written: Path | None = None, dtype: torch.dtype | None = None) -> Any:
        """The model, or the one `written` from it, as `_load` gives it."""
        return _load(self.folder, self.kind, self.options, written, dtype)[0]


def open_files(folder: Path, ids: Mapping[str, int]) -> ModelFiles:
    """The model of a folder, checked; nothing in the folder is run.

    Raises VocapError where it holds no model in safetensors, not all its weights,
    quantised ones, or an adapter; where its own tokenizer, if there is one, gives a token
    another id than `ids`; where its table has fewer rows; and as `find_followers`.
    """
    _check_tokenizer(folder / EXPORTED[0], ids)
    content = read_config(folder)
    if any(folder.glob("adapter_*")):
        raise VocapError(
            f"{folder}: an adapter (LoRA) is beside the model; merge it first (merge_and_unload "
            "of peft), or move its files away"
        )
    if "quantization_config" in content:
        raise VocapError(
            f"{folder}: its weights are quantised; name the model that they were made from"
        )
    name = str((content.get("architectures") or ["?"])[0])
    kind = getattr(transformers, name, None)
    if not (isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel)):
        raise VocapError(
            f"{folder}: its architecture {name} is none of transformers "
            f"{transformers.__version__}; {AGAIN}"
        )
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    model, options, unknown = _load_whole(folder, kind)
    with foreign_model(folder, f"{name} has no one table of ids", WITHOUT):
        total = len(model.get_input_embeddings().weight)
    if (highest := max(ids.values())) >= total:
        raise VocapError(
            f"the model has {total} rows, and the tokenizer ids up to {highest}; give its own model"
        )
    _name_left_out(folder, model, total, unknown)
    with foreign_model(folder, f"{name} cannot be built for other ids", WITHOUT):
        followers = find_followers(kind, model.config, total, options)
    config, size = model.config.to_dict(), ModelSize.of(model, folder)
    return ModelFiles(folder, kind, options, config, total, followers, size)


def _name_left_out(
    folder: Path, model: transformers.PreTrainedModel, total: int, unknown: Sequence[str]
) -> None:
    """Warn of what the files of a model hold and its class does not, which is left out:
    tensors, those `unknown` to transformers and those that it passes over for this class
    without a word, and files of weights.

    Raises VocapError for an unknown tensor with a dimension of `total`.
    """
    name, files = type(model).__name__, weight_files(folder)
    stored = stored_tensors(files)
    for tensor, (shape, _) in stored.items():
        if total in shape and any(key.endswith(tensor) or tensor.endswith(key) for key in unknown):
            raise VocapError(
                f"{folder}: the tensor {tensor} {shape} may follow the {total} ids, and {name} "
                "has no such tensor; write the class that has it under architectures in "
                "config.json, or take it out of the file"
            )
    passed = re.compile("|".join(model._keys_to_ignore_on_load_unexpected or ["(?!)"]))
    tensors = [*unknown, *filter(passed.search, stored.keys() - model.state_dict().keys())]
    others = [file.name for file in folder.glob("*.safetensors") if file not in files]
    for kind, names in (("tensors", tensors), ("files of weights", others)):
        if names:
            log.warning(
                "%s: %d %s without a place in %s are left out: %s",
                *(folder, len(names), kind, name, listed(sorted(names), most=3)),
            )


def _check_tokenizer(definition: Path, ids: Mapping[str, int]) -> None:
    """Raise VocapError where a tokenizer.json, if it is there, has other ids."""
    if not definition.is_file():
        return
    own = parse_encoder(definition.read_bytes(), definition).ids
    for piece in {**ids, **own}:
        if own.get(piece) != ids.get(piece):
            raise VocapError(
                f"{definition}: {piece!r} has id {own.get(piece)} there and {ids.get(piece)} in "
                "the tokenizer; name the model that was trained with this tokenizer, or the "
                "folder of this one with its tokenizer.json"
            )


def _load_whole(
    folder: Path, kind: type[transformers.PreTrainedModel]
) -> tuple[Any, dict[str, Any], list[str]]:
    """The model of a folder, the arguments of its class with which it has all its
    weights, and the names of tensors that it lacks. Raises VocapError for other weights.
    """
    for options in ({}, {"add_pooling_layer": False}):
        model, loading = _load(folder, kind, options)
        missing = sorted(loading["missing_keys"])
        if not missing:
            return model, options, sorted(loading["unexpected_keys"])
        if not all(key.startswith("pooler.") for key in missing):
            break
    raise VocapError(f"{folder}: it lacks weights: {listed(missing, most=3)}; {AGAIN}")


def _load(
    folder: Path,
    kind: Any,
    options: Mapping[str, Any],
    written: Path | None = None,
    dtype: torch.dtype | None = None,
) -> tuple[Any, Mapping[str, Any]]:
    """The model of a folder, or the one `written` from it, and what transformers says of
    its weights: in `dtype`, or in the type of numbers that holds all its weights.

    Raises VocapError, naming `folder` and the class, where transformers refuses it.
    """
    place = written or folder
    said = f"transformers cannot load it {'with other ids ' if written else ''}as {kind.__name__}"
    with foreign_model(folder, said, WITHOUT if written else AGAIN):
        if dtype is None:
            found = {numbers for _, numbers in stored_tensors(weight_files(folder)).values()}
            dtype = reduce(torch.promote_types, (NUMBERS[one] for one in found & NUMBERS.keys()))
        config = transformers.AutoConfig.from_pretrained(place, **SAFE)
        return kind.from_pretrained(
            place,
            config=config,
            dtype=dtype,
            use_safetensors=True,
            output_loading_info=True,
            **options,
            **SAFE,
        )


def stored_tensors(files: Iterable[Path]) -> dict[str, tuple[list[int], str]]:
    """The shape and the type of numbers of each tensor in the files of a model."""
    found = {}
    for file in files:
        with safe_open(file, "pt") as content:
            for name in content.keys():  # noqa: SIM118  # no mapping
                tensor = content.get_slice(name)
                found[name] = list(tensor.get_shape()), tensor.get_dtype()
    return found


def find_followers(
    kind: type[transformers.PreTrainedModel],
    config: transformers.PreTrainedConfig,
    total: int,
    options: Mapping[str, Any],
) -> dict[str, int]:
    """The parameters and buffers of a class that follow T, each to the place of the
    dimension that grows by one with T + 1 ids; found without weights.

    Raises VocapError for a tensor that follows T in another manner, and for a class that
    none follows in.
    """

    def built(sizes: Mapping[int, int]) -> dict[str, list[int]]:
        """The shapes of the tensors, tied ones under each of their names."""
        settings = renumbered(config.to_dict(), lambda number: number, sizes)
        with torch.device("meta"):
            model = kind(type(config).from_dict(settings), **options)
        tensors = chain(
            model.named_parameters(remove_duplicate=False),
            model.named_buffers(remove_duplicate=False),
        )
        return {name: list(tensor.shape) for name, tensor in tensors}

    followers, shapes = {}, built({})
    # other sizes of vocabularies grow too: a table of fewer ids, of another tokenizer
    longer = built({size: size + 1 for shape in shapes.values() for size in shape})
    for name, shape in shapes.items():
        new = longer.get(name, [])
        if new != shape:
            sides = enumerate(zip(shape, new, strict=False))
            place = next((n for n, both in sides if both == (total, total + 1)), -1)
            if new != [*shape[:place], total + 1, *shape[place + 1 :]]:
                raise VocapError(
                    f"{kind.__name__}: its tensor {name} {shape} follows another number of ids "
                    f"than the {total} of its table; {WITHOUT}"
                )
            followers[name] = place
    if not followers:
        raise VocapError(
            f"{kind.__name__}: no tensor follows the {total} ids of its configuration; {WITHOUT}"
        )
    return followers


def write_with_ids(
    old: ModelFiles,
    number: Mapping[int, int],
    origins: Sequence[Sequence[int]],
    tokenizer: Path,
    folder: Path,
) -> None:
    """Write the model with len(origins) ids, its settings and modules, and its
    tokenizer's files to the new folder `folder`.

    In each tensor that follows T, row i is the mean of the old rows origins[i], one or
    several; tied ones stay tied. `number`: old to new ids.
    """
    folder.mkdir()
    model = old.load()
    made: dict[int, torch.Tensor] = {}
    for name, place in old.followers.items():
        path, _, leaf = name.rpartition(".")
        module = model.get_submodule(path)
        tensor = getattr(module, leaf)
        if id(tensor) not in made:
            rows = _rows(tensor.data.movedim(place, 0), origins).movedim(0, place).contiguous()
            made[id(tensor)] = nn.Parameter(rows) if isinstance(tensor, nn.Parameter) else rows
        setattr(module, leaf, made[id(tensor)])
    model.generation_config = transformers.GenerationConfig()  # that of the folder is written
    model.save_pretrained(folder)
    write_settings(old.folder, folder, old.config, number, {old.total: len(origins)})
    copy_modules(old.folder, folder)
    for name, (shape, _) in stored_tensors(folder.glob("*/**/*.safetensors")).items():
        if old.total in shape:
            raise VocapError(
                f"{old.folder}: the tensor {name} {shape} of a module may follow the {old.total} "
                f"ids; {WITHOUT}"
            )
    copy_export(tokenizer, folder)
    for file in folder.iterdir():
        # safetensors writes files that only their owner may read
        if file.is_file():
            file.chmod(folder.stat().st_mode & 0o666)


def _rows(table: torch.Tensor, origins: Sequence[Sequence[int]]) -> torch.Tensor:
    """The means of the rows `origins` of a table [T, ...]."""
    rows = table[torch.tensor([several[0] for several in origins])].clone()
    for place, several in enumerate(origins):
        if len(several) > 1:
            rows[place] = table[torch.tensor(several)].float().mean(0).to(table.dtype)
    return rows
