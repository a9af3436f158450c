"""Factories of tiny models with tokenizers, and of encoded inputs of the smoke
configuration's XTREME folder.
"""

from functools import cache
from pathlib import Path

import torch
from transformers import BertConfig, BertForMaskedLM

from tests.pretraining.factories import TOTAL, make_tokenizer
from vocap.finetuning.encoding import encode_training
from vocap.finetuning.settings import Finetuning, TuningRecipe
from vocap.pretraining.model import build_language_model, export_model
from vocap.pretraining.settings import Shape

XTREME = Path(__file__).parents[2] / "config" / "smoke-xtreme"
LENGTH = 48


def make_model(folder: Path, width: int | None = None) -> Path:
    """One layer, with weights from a seed. `width`: of half embeddings."""
    tokenizer = make_tokenizer(folder / "tokenizer")
    torch.manual_seed(0)
    shape = Shape(layers=1, hidden=32, heads=2, intermediate=48, positions=64, embedding_size=width)
    export_model(build_language_model(shape, TOTAL), tokenizer / "huggingface", folder / "model")
    return folder / "model"


def make_bert(folder: Path) -> Path:
    """A model of another architecture, with segment embeddings."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=TOTAL, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=48, max_position_embeddings=64, pad_token_id=1,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder)
    return folder


@cache
def recipe(training: str, **changes) -> TuningRecipe:
    """The paper's, shorter."""
    values = {"max_length": LENGTH, "batch": 8, "learning_rates": (1e-3,), "epochs": (2,)} | changes
    return TuningRecipe.model_validate(Finetuning().recipes[training].model_dump() | _lists(values))


def _lists(values: dict) -> dict:
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in values.items()
    }


def make_inputs(folder: Path, model: Path, training: str, xtreme: Path = XTREME) -> Path:
    encode_training(xtreme, training, model, recipe(training), folder)
    return folder
