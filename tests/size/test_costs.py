"""Parameters, operations and memory against models of transformers, and torch's own count
of operations.
"""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)

from vocap.size.forecast import SERVED_BYTES, TRAINED_BYTES, ModelCosts

TOTAL, HIDDEN, LAYERS, LENGTH = 5000, 64, 3, 8


def masked(untied: bool) -> XLMRobertaForMaskedLM:
    return XLMRobertaForMaskedLM(
        XLMRobertaConfig(
            vocab_size=TOTAL,
            hidden_size=HIDDEN,
            num_hidden_layers=LAYERS,
            num_attention_heads=2,
            intermediate_size=256,
            max_position_embeddings=LENGTH + 2,
            tie_word_embeddings=not untied,
        )
    )


def gpt2(untied: bool) -> GPT2LMHeadModel:
    sizes = {"n_layer": LAYERS, "n_embd": HIDDEN, "n_head": 2, "n_positions": LENGTH}
    return GPT2LMHeadModel(GPT2Config(vocab_size=TOTAL, **sizes, tie_word_embeddings=not untied))


def llama(untied: bool) -> LlamaForCausalLM:
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=TOTAL,
            hidden_size=HIDDEN,
            num_hidden_layers=LAYERS,
            num_attention_heads=4,
            num_key_value_heads=2,
            intermediate_size=172,
            tie_word_embeddings=not untied,
            attn_implementation="eager",
        )
    )


def costs_of(model: torch.nn.Module, untied: bool) -> ModelCosts:
    """By the parameters of everything but the tables of T rows and the output bias."""
    shapes = [parameter.shape for parameter in model.parameters()]
    others = sum(shape.numel() for shape in shapes if shape[0] != TOTAL)
    return ModelCosts(others, HIDDEN, not isinstance(model, XLMRobertaForMaskedLM), untied)


@pytest.mark.parametrize("untied", [False, True])
@pytest.mark.parametrize("build", [masked, gpt2, llama])
def test_parameters_are_those_of_the_model(build, untied):
    model = build(untied)
    # lm_head.bias, which transformers keeps beside decoder.bias
    unused = TOTAL if build is masked and untied else 0
    assert costs_of(model, untied).parameters(TOTAL) == model.num_parameters() - unused


@pytest.mark.parametrize("untied", [False, True])
@pytest.mark.parametrize("build", [gpt2, llama])
def test_operations_are_those_that_torch_counts(build, untied):
    """But for attention between tokens, of which there are eight here."""
    model, ids = build(untied), torch.randint(5, TOTAL, (4, LENGTH))
    costs = costs_of(model, untied)
    with FlopCounterMode(display=False) as counter:
        model(input_ids=ids).logits.sum().backward()
    per_token = counter.get_total_flops() / ids.numel()
    assert costs.training_operations(TOTAL) == pytest.approx(per_token, rel=0.02)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(input_ids=ids)
    per_token = counter.get_total_flops() / ids.numel()
    assert costs.inference_operations(TOTAL) == pytest.approx(per_token, rel=0.02)


def test_a_masked_model_predicts_a_share_and_serves_without_a_head():
    one, other = ModelCosts(1e6, 64, causal=True), ModelCosts(1e6, 64)
    assert one.training_operations(1000) == 6e6 + 6 * 64 * 1000
    assert other.training_operations(1000) == pytest.approx(6e6 + 0.15 * 6 * 64 * 1000)
    assert (one.inference_operations(1000), other.inference_operations(1000)) == (2.128e6, 2e6)


def test_memory_is_that_of_adam_and_of_16_bits():
    model = gpt2(False)
    optimizer = torch.optim.AdamW(model.parameters())
    model(input_ids=torch.randint(5, TOTAL, (1, 8))).logits.sum().backward()
    optimizer.step()
    moments = [
        value for state in optimizer.state.values() for value in state.values() if value.dim()
    ]
    held = [*model.parameters(), *(parameter.grad for parameter in model.parameters()), *moments]
    count = model.num_parameters()
    assert TRAINED_BYTES * count == sum(part.numel() * part.element_size() for part in held)
    half = model.to(torch.bfloat16)
    assert SERVED_BYTES * count == sum(
        part.numel() * part.element_size() for part in half.parameters()
    )
