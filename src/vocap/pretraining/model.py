"""The masked language model: transformer layers of Hugging Face, and h at the masked positions.

At full width it is `XLMRobertaForMaskedLM`. With an embedding table of another width (half embeddings, section
3.2) it is `ElectraForMaskedLM`: positions and LayerNorm at the table's width, then one projection into the layers
and one out of them. Both tie the table W [V, d] to the output layer, and are saved in the layout they train in.
"""

from dataclasses import dataclass

from torch import Tensor, nn
from transformers import ElectraConfig, ElectraForMaskedLM, XLMRobertaConfig, XLMRobertaForMaskedLM

from vocap.pretraining.masking import special_ids
from vocap.pretraining.shapes import Shape


@dataclass(frozen=True)
class Specials:
    """The ids of the special tokens; `of` gives those of this project's tokenizers (XLM-R's layout)."""

    bos: int
    pad: int
    eos: int
    unk: int
    mask: int

    @classmethod
    def of(cls, vocabulary: int) -> "Specials":
        """
        >>> Specials.of(500_000)
        Specials(bos=0, pad=1, eos=2, unk=3, mask=499999)
        """
        return cls(*special_ids(vocabulary))


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

    @property
    def row_gradients(self) -> bool:
        """Whether the table's gradient holds only the rows of the batch (a sparse tensor) or all V.

        Row gradients need a loss that gathers rows (`build_loss(..., row_gradients=True)`): one dense use makes
        the sum dense.
        """
        return self.transformer.get_input_embeddings().sparse

    @row_gradients.setter
    def row_gradients(self, value: bool) -> None:
        self.transformer.get_input_embeddings().sparse = value


def build_model(shape: Shape, vocabulary: int, specials: Specials | None = None) -> MaskedLanguageModel:
    """A new model of `vocabulary` rows: weights N(0, `shape.deviation`) by torch's seed, biases 0, pad row 0."""
    specials = specials or Specials.of(vocabulary)
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
        "bos_token_id": specials.bos,
        "pad_token_id": specials.pad,
        "eos_token_id": specials.eos,
        "tie_word_embeddings": True,
    }
    if shape.width == shape.hidden:
        positions = shape.positions + specials.pad + 1  # XLM-R counts them from pad + 1
        return MaskedLanguageModel(
            XLMRobertaForMaskedLM(XLMRobertaConfig(max_position_embeddings=positions, **common))
        )
    config = ElectraConfig(embedding_size=shape.width, max_position_embeddings=shape.positions, **common)
    return MaskedLanguageModel(ElectraForMaskedLM(config))


def parameter_count(model: MaskedLanguageModel) -> int:
    """Parameters as the paper counts them, tied ones once; "265M" is 265 * 2**20.

    The one row of token types, which Hugging Face's layout adds to XLM-R, is left out.
    """
    types = model.transformer.base_model.embeddings.token_type_embeddings.weight.numel()
    return sum(parameter.numel() for parameter in model.parameters()) - types
