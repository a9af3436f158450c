"""The language models: transformer layers of Hugging Face, and h at the positions to
predict from.

A masked model of full width is `XLMRobertaForMaskedLM`. With an embedding table of
another width (half embeddings, section 3.2) it is `ElectraForMaskedLM`: positions and
LayerNorm at the table's width, then one projection into the layers and one out of them.
A causal model is `LlamaForCausalLM`: rotary positions, SwiGLU, RMS norms, no biases.
All tie the table W [V, d] to the output layer.
"""

from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from vocap.errors import VocapError
from vocap.files.io import replacing_directory
from vocap.pretraining.data import SpecialIds
from vocap.pretraining.settings import Shape
from vocap.tokenizer_files.export import copy_export

TOKENIZER = "tokenizer.json"


class MaskedLanguageModel(nn.Module):
    """A Hugging Face masked language model (`transformer`), cut before its output
    layer.
    """

    def __init__(
        self, transformer: transformers.XLMRobertaForMaskedLM | transformers.ElectraForMaskedLM
    ):
        super().__init__()
        self.transformer = transformer

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None, positions: Tensor
    ) -> Tensor:
        """h [N, d] after the head's transform, at `positions` [N] of the flattened
        `input_ids` [B, T].

        `attention_mask` [B, T] is 1 where a token is; None where every position holds
        one (faster attention).
        """
        outputs = self.transformer.base_model(input_ids=input_ids, attention_mask=attention_mask)
        rows = outputs.last_hidden_state.flatten(0, 1).index_select(0, positions)
        if isinstance(self.transformer, transformers.ElectraForMaskedLM):
            return self.transformer.generator_predictions(rows)
        head = self.transformer.lm_head
        return head.layer_norm(nn.functional.gelu(head.dense(rows)))

    @property
    def decoder_weight(self) -> Tensor:
        """W [V, d], the tied table."""
        return self.transformer.get_output_embeddings().weight

    @property
    def decoder_bias(self) -> Tensor:
        """b [V]."""
        return self.transformer.get_output_embeddings().bias

    def exported(self) -> transformers.XLMRobertaForMaskedLM | transformers.ElectraForMaskedLM:
        """The model to save."""
        return self.transformer


class CausalLanguageModel(nn.Module):
    """Llama's layers below a table of `shape.width`, and its projections into and out
    of the layers, if any.

    Scores are h W^T + b, where b is one constant that no training changes: NCE depends
    on it, probabilities do not. The exported model is without it.
    """

    decoder_bias: Tensor

    def __init__(self, shape: Shape, vocabulary: int, special: SpecialIds):
        super().__init__()
        self.shape, self.vocabulary, self.special = shape, vocabulary, special
        config = self._config()
        config.vocab_size, config.pad_token_id = 1, None  # a table of one row, which is replaced
        self.layers = transformers.LlamaModel(config)
        self.layers.embed_tokens = nn.Embedding(vocabulary, shape.width)
        self.inwards: nn.Module = nn.Identity()
        self.outwards: nn.Module = nn.Identity()
        if shape.width != shape.hidden:
            self.inwards = nn.Linear(shape.width, shape.hidden, bias=False)
            self.outwards = nn.Linear(shape.hidden, shape.width, bias=False)
        for module in (self.layers.embed_tokens, self.inwards, self.outwards):
            for weight in module.parameters():
                nn.init.normal_(weight, std=shape.deviation)
        self.register_buffer("decoder_bias", torch.zeros(vocabulary), persistent=False)

    def _config(self, tied: bool = True) -> transformers.LlamaConfig:
        shape, special = self.shape, self.special
        return transformers.LlamaConfig(
            vocab_size=self.vocabulary,
            hidden_size=shape.hidden,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.key_heads,
            intermediate_size=shape.intermediate,
            max_position_embeddings=shape.positions,
            attention_dropout=shape.dropout,
            initializer_range=shape.deviation,
            bos_token_id=special.start,
            pad_token_id=special.pad,
            eos_token_id=special.eos,
            tie_word_embeddings=tied,
        )

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None, positions: Tensor
    ) -> Tensor:
        """h [N, d] at `positions` [N] of the flattened `input_ids` [B, T].

        `attention_mask` is not needed: what is behind a position, padding too, is not
        seen from it.
        """
        embedded = self.inwards(self.layers.embed_tokens(input_ids))
        outputs = self.layers(inputs_embeds=embedded, use_cache=False)
        return self.outwards(outputs.last_hidden_state.flatten(0, 1).index_select(0, positions))

    @property
    def decoder_weight(self) -> Tensor:
        """W [V, d], the tied table."""
        return self.layers.embed_tokens.weight

    @torch.no_grad()
    def exported(self) -> transformers.LlamaForCausalLM:
        """The model to save.

        A table of another width than the layers' becomes two of theirs, its products
        with both projections, which Llama's form lacks. Scores are the same but for
        rounding.
        """
        state = {f"model.{name}": weight for name, weight in self.layers.state_dict().items()}
        table = self.decoder_weight
        half = self.shape.width != self.shape.hidden
        state["model.embed_tokens.weight"] = (
            table @ self.inwards.get_parameter("weight").T if half else table
        )
        state["lm_head.weight"] = table @ self.outwards.get_parameter("weight") if half else table
        with torch.device("meta"):
            model = transformers.LlamaForCausalLM(self._config(tied=not half))
        model.load_state_dict(state, assign=True)
        model.tie_weights()
        return model


LanguageModel = MaskedLanguageModel | CausalLanguageModel


def build_language_model(
    shape: Shape, vocabulary: int, special: SpecialIds | None = None, causal: bool = False
) -> LanguageModel:
    """A new model of `vocabulary` rows: weights N(0, `shape.deviation`) by torch's
    seed, biases 0, pad row 0.

    `special`: XLM-R's layout unless given. A causal model has no biases, and a row for
    `<pad>` as for any id.
    """
    special = special or SpecialIds.of_xlm_r(vocabulary)
    if causal:
        return CausalLanguageModel(shape, vocabulary, special)
    # a masked one: XLM-R's layout, or ELECTRA's with a table of its own width
    common: dict[str, Any] = {
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
        positions = shape.positions + special.padding + 1  # XLM-R counts them from pad + 1
        return MaskedLanguageModel(
            transformers.XLMRobertaForMaskedLM(
                transformers.XLMRobertaConfig(max_position_embeddings=positions, **common)
            )
        )
    config = transformers.ElectraConfig(
        embedding_size=shape.width, max_position_embeddings=shape.positions, **common
    )
    return MaskedLanguageModel(transformers.ElectraForMaskedLM(config))


def export_model(model: LanguageModel, tokenizer: Path, output: Path) -> None:
    """Write config.json, model.safetensors and the exported files of the folder
    `tokenizer` to `output`.

    `AutoModelForMaskedLM`, of a causal model `AutoModelForCausalLM`, gives the same
    logits as `model`. Whole or not at all; an older `output` is replaced. Raises
    VocapError where the tokenizer is missing.
    """
    definition = tokenizer / TOKENIZER
    if not definition.is_file():
        raise VocapError(
            f"{tokenizer}: no {TOKENIZER} there; name the huggingface/ folder of the tokenizer"
        )
    with replacing_directory(output) as directory:
        model.exported().save_pretrained(directory)
        copy_export(tokenizer, directory)
        for file in filter(Path.is_file, directory.iterdir()):
            # safetensors writes files that only their owner may read
            file.chmod(directory.stat().st_mode & 0o666)
