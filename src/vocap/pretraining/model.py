"""The masked language model: transformer layers of Hugging Face, and h at the masked positions.

At full width it is `XLMRobertaForMaskedLM`. With an embedding table of another width (half embeddings, section
3.2) it is `ElectraForMaskedLM`: positions and LayerNorm at the table's width, then one projection into the layers
and one out of them. Both tie the table W [V, d] to the output layer, and are saved in the layout they train in.
"""

import shutil
from pathlib import Path

from torch import Tensor, nn
from transformers import ElectraConfig, ElectraForMaskedLM, XLMRobertaConfig, XLMRobertaForMaskedLM

from vocap.errors import VocapError
from vocap.files.io import replacing_directory
from vocap.pretraining.data import SpecialIds
from vocap.pretraining.settings import Shape
from vocap.tokenizer_files import EXPORTED
from vocap.tokenizer_files.encoders import load_encoder

TOKENIZER = "tokenizer.json"


class MaskedLanguageModel(nn.Module):
    """A Hugging Face masked language model (`transformer`), cut before its output layer."""

    def __init__(self, transformer: XLMRobertaForMaskedLM | ElectraForMaskedLM):
        super().__init__()
        self.transformer = transformer

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None, positions: Tensor) -> Tensor:
        """h [N, d] after the head's transform, at `positions` [N] of the flattened `input_ids` [B, T].

        `attention_mask` [B, T] is 1 where a token is; None where every position holds one (faster attention).
        """
        outputs = self.transformer.base_model(input_ids=input_ids, attention_mask=attention_mask)
        rows = outputs.last_hidden_state.flatten(0, 1).index_select(0, positions)
        if isinstance(self.transformer, ElectraForMaskedLM):
            return self.transformer.generator_predictions(rows)
        head = self.transformer.lm_head
        return head.layer_norm(nn.functional.gelu(head.dense(rows)))

    @property
    def decoder_weight(self) -> nn.Parameter:
        """W [V, d], the tied table."""
        return self.transformer.get_output_embeddings().weight

    @property
    def decoder_bias(self) -> nn.Parameter:
        """b [V]."""
        return self.transformer.get_output_embeddings().bias


def build_model(shape: Shape, vocabulary: int, special: SpecialIds | None = None) -> MaskedLanguageModel:
    """A new model of `vocabulary` rows: weights N(0, `shape.deviation`) by torch's seed, biases 0, pad row 0.

    `special`: XLM-R's layout unless given.
    """
    special = special or SpecialIds.of_xlm_r(vocabulary)
    common = {
        "vocab_size": vocabulary,
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.intermediate,
        "hidden_act": "gelu",
        "hidden_dropout_prob": shape.dropout,
        "attention_probs_dropout_prob": shape.dropout,
        "initializer_range": shape.deviation,
        "layer_norm_eps": 1e-5,
        "type_vocab_size": 1,
        "bos_token_id": special.bos,
        "pad_token_id": special.pad,
        "eos_token_id": special.eos,
        "tie_word_embeddings": True,
    }
    if shape.width == shape.hidden:
        positions = shape.positions + special.pad + 1  # XLM-R counts them from pad + 1
        return MaskedLanguageModel(
            XLMRobertaForMaskedLM(XLMRobertaConfig(max_position_embeddings=positions, **common))
        )
    config = ElectraConfig(embedding_size=shape.width, max_position_embeddings=shape.positions, **common)
    return MaskedLanguageModel(ElectraForMaskedLM(config))


def export_model(model: MaskedLanguageModel, tokenizer: Path, output: Path) -> None:
    """Write config.json, model.safetensors and the exported files of the folder `tokenizer` to `output`.

    `AutoModelForMaskedLM` gives the same logits as `model`. Whole or not at all; an older `output` is replaced.
    Raises VocapError where the tokenizer is missing or has another number of ids than the model has rows.
    """
    if not (tokenizer / TOKENIZER).is_file():
        raise VocapError(f"{tokenizer}: no {TOKENIZER} there; name the huggingface/ folder of the tokenizer")
    ids = len(load_encoder(tokenizer / TOKENIZER).ids)
    rows = model.decoder_weight.shape[0]
    if ids != rows:
        raise VocapError(f"{tokenizer}: a tokenizer of {ids} ids for a model of {rows} rows; export with its own")
    with replacing_directory(output) as directory:
        model.transformer.save_pretrained(directory)
        for name in EXPORTED:  # the card is the tokenizer's, and its rule may be writing it now
            if (tokenizer / name).is_file():
                shutil.copyfile(tokenizer / name, directory / name)
        for file in directory.iterdir():
            file.chmod(directory.stat().st_mode & 0o666)  # safetensors writes files that only their owner may read
