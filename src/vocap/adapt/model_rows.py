"""A Hugging Face model with another embedding table: rows taken from the old one, by
id.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from vocap.errors import VocapError, one_line
from vocap.model_folder import copy_modules, read_config, write_settings
from vocap.tokenizer_files import EXPORTED
from vocap.tokenizer_files.encoders import parse_encoder
from vocap.tokenizer_files.export import copy_export

if TYPE_CHECKING:
    from transformers import PreTrainedModel

AGAIN = "bring the files of one model again, or save it with save_pretrained of transformers 5"


def load_model(folder: Path, ids: Mapping[str, int]) -> "PreTrainedModel":
    """The model of a folder, in its own class and type of numbers; nothing in the
    folder is run.

    Raises VocapError where it holds no model in safetensors, or not all its weights;
    where its own tokenizer, if there is one, gives a token another id than `ids`; and
    where its table has fewer rows.
    """
    import transformers

    # the same tokenizer
    definition = folder / EXPORTED[0]
    own = (
        dict(parse_encoder(definition.read_bytes(), definition).ids)
        if definition.is_file()
        else ids
    )
    for piece, number in (*ids.items(), *own.items()):
        if not own.get(piece) == ids.get(piece) == number:
            raise VocapError(
                f"{definition}: {piece!r} has id {own.get(piece)} there and {ids.get(piece)} in "
                "the tokenizer; name the model that was trained with this tokenizer, or the "
                "folder of this one with its tokenizer.json"
            )
    # in the class that the configuration names
    architectures = read_config(folder).get("architectures")
    if not any(folder.glob("*.safetensors")):
        raise VocapError(
            f"{folder}: no .safetensors there; save the model with save_pretrained first"
        )
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    safe = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = transformers.AutoConfig.from_pretrained(folder, **safe)
        kind = getattr(transformers, (architectures or ["?"])[0], None)
        if not (isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel)):
            raise ValueError(
                f"its architecture {architectures} is none of transformers "
                f"{transformers.__version__}"
            )
        options = {
            "config": config,
            "dtype": "auto",
            "use_safetensors": True,
            "output_loading_info": True,
            **safe,
        }
        model, loading = _load(kind, folder, options)
        missing = loading["missing_keys"]
        if missing and all(key.startswith("pooler.") for key in missing):
            # as it was saved
            model, loading = _load(kind, folder, options | {"add_pooling_layer": False})
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # the library raises types of its own for weights and settings
        raise VocapError(
            f"{folder}: transformers cannot load it ({one_line(str(error))}); {AGAIN}"
        ) from None
    # whole, with a row for each id
    if loading["missing_keys"]:
        lacking = ", ".join(sorted(loading["missing_keys"])[:3])
        raise VocapError(f"{folder}: it lacks weights: {lacking}; {AGAIN}")
    rows, highest = model.get_input_embeddings().num_embeddings, max(ids.values())
    if highest >= rows:
        raise VocapError(
            f"the model has {rows} rows, and the tokenizer ids up to {highest}; give its own model"
        )
    return model


def _load(kind: Any, folder: Path, options: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    return kind.from_pretrained(folder, **options)


def replace_rows(model: "PreTrainedModel", origins: Sequence[Sequence[int]]) -> None:
    """Give the model a table of len(origins) rows: row i is the mean of the old rows
    origins[i], one or several.

    The input embeddings, the output layer's table and its bias, in place, tied where
    they were.
    """
    made: dict[int, nn.Parameter] = {}
    for module, name, parameter in list(_tables(model)):
        if id(parameter) not in made:  # tied ones are one parameter again
            table = parameter.data
            rows = table[torch.tensor([rows[0] for rows in origins])].clone()
            for place, several in enumerate(origins):
                if len(several) > 1:
                    rows[place] = table[torch.tensor(several)].float().mean(0).to(table.dtype)
            made[id(parameter)] = nn.Parameter(rows, requires_grad=parameter.requires_grad)
        module._parameters[name] = made[id(parameter)]
    for module in model.modules():
        for name in ("num_embeddings", "out_features"):
            weight = module._parameters.get("weight")
            if (
                hasattr(module, name)
                and weight is not None
                and any(weight is row for row in made.values())
            ):
                setattr(module, name, len(origins))
    model.config.vocab_size = len(origins)
    if hasattr(model, "vocab_size"):
        model.vocab_size = len(origins)


def _tables(model: "PreTrainedModel") -> Iterator[tuple[nn.Module, str, nn.Parameter]]:
    """The parameters with a row an id, tied ones once for each module: embeddings,
    output layer, its bias.
    """
    table: Any = model.get_input_embeddings()
    output = model.get_output_embeddings()
    wanted = {
        id(parameter) for parameter in (table.weight, *(output.parameters() if output else ()))
    }
    for module in model.modules():
        holds_output = output is not None and any(child is output for child in module.children())
        for name, parameter in module._parameters.items():
            if parameter is None or parameter.shape[:1] != table.weight.shape[:1]:
                continue
            if id(parameter) in wanted or (holds_output and name == "bias"):
                yield module, name, parameter


def save_model(
    model: "PreTrainedModel", number: Mapping[int, int], tokenizer: Path, folder: Path
) -> None:
    """Write the model, its settings and modules, and its tokenizer's files to the new
    folder `folder`.

    `number`: old to new ids.
    """
    folder.mkdir()
    model.save_pretrained(folder)
    source = Path(str(model.name_or_path))
    write_settings(source, folder, number, model.config.vocab_size)
    copy_modules(source, folder)
    copy_export(tokenizer, folder)
    for file in folder.iterdir():
        # safetensors writes files that only their owner may read
        if file.is_file():
            file.chmod(folder.stat().st_mode & 0o666)


def check_padding(model: "PreTrainedModel", number: Mapping[int, int]) -> None:
    """Raise VocapError where the padding gets another id on which the model's positions
    depend, as RoBERTa's do; `number`: old to new ids.
    """
    old = getattr(model.config, "pad_token_id", None)
    table = model.get_input_embeddings()
    tables = [
        module
        for module in model.modules()
        if isinstance(module, nn.Embedding) and module is not table
    ]
    if (
        old is not None
        and number.get(old) != old
        and any(each.padding_idx is not None for each in tables)
    ):
        raise VocapError(
            f"the model's pad_token_id is {old}, which becomes {number.get(old)}, and its "
            "positions depend on it; "
            "only models with the padding before all tokens that are left out are adapted"
        )
