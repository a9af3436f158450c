"""The models that are fine-tuned: files, inputs and size."""

from pathlib import Path
from typing import NamedTuple

from vocap.config import Settings
from vocap.model_folder import CONFIG, longest_input, read_config, refuse_causal
from vocap.pretraining.settings import Shape, count_parameters
from vocap.tokenizer_files import XLMR_ROWS
from vocap.workflow.names import tokenizer_folder


class TunedModel(NamedTuple):
    """A model that is fine-tuned: its folder, the files that say it is made, and its size.

    `inputs`: the folder of its inputs under the results, which models with one
    tokenizer share; `tokenizer`: a folder; `longest`: the most ids of an input.
    """

    folder: str
    made: list[str]
    inputs: str
    tokenizer: str
    longest: int | None
    shape: Shape
    parameters: float


def tuned_model(settings: Settings, name: str) -> TunedModel:
    """An entry of finetuning.models. Raises VocapError for a folder that holds no
    model.
    """
    entry = settings.finetuning.tuned(settings.pretraining.masked)[name]
    if entry.path is not None:
        config = refuse_causal(Path(entry.path), read_config(Path(entry.path)))
        shape = Shape(
            layers=config.get("num_hidden_layers", 12),
            hidden=config.get("hidden_size", 768),
            heads=1,
            intermediate=config.get("intermediate_size", 3072),
        )
        weights = sorted(map(str, Path(entry.path).glob("*.safetensors")))
        return TunedModel(
            folder=entry.path,
            made=[str(Path(entry.path, CONFIG)), *weights],
            inputs=f"finetuning/inputs/models/{name}",
            tokenizer=entry.path,
            longest=longest_input(config),
            shape=shape,
            parameters=count_parameters(shape, config.get("vocab_size", XLMR_ROWS)),
        )
    source = entry.model or name
    model = settings.pretraining.models[source]
    folder = f"{settings.results}/pretraining/{source}"
    # the models of export_steps are not declared; metrics.jsonl comes after them
    final = entry.step is None
    return TunedModel(
        folder=f"{folder}/model" if final else f"{folder}/model-{entry.step}",
        made=[f"{folder}/model" if final else f"{folder}/metrics.jsonl"],
        inputs=f"finetuning/inputs/tokenizers/{model.tokenizer}",
        tokenizer=f"{tokenizer_folder(settings, model.tokenizer)}/huggingface",
        longest=model.shape.positions,
        shape=model.shape,
        parameters=count_parameters(model.shape, settings.rows(model.tokenizer)),
    )


def studied_model(settings: Settings, language: str, size: int) -> TunedModel:
    """The model of the correlation study with one of a language's vocabularies."""
    place = f"correlation/{language}/{size}"
    shape = settings.correlation.model.shape
    folder = f"{settings.results}/{place}/pretrained/model"
    return TunedModel(
        folder=folder,
        made=[folder],
        inputs=f"{place}/inputs",
        tokenizer=f"{settings.results}/{place}/tokenizer/huggingface",
        longest=shape.positions,
        shape=shape,
        parameters=count_parameters(shape, size + 2),  # <pad> and <mask> beside the vocabulary
    )
