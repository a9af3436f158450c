"""Parameters and operations against models of transformers, and torch's own count of
operations.
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

from vocap.pretraining.data import SHARE
from vocap.pretraining.model import build_language_model
from vocap.pretraining.settings import Shape
from vocap.size.forecast import ModelCosts, reference

SHAPES = [Shape(), Shape(layers=2, hidden=64, heads=2, intermediate=100, positions=33)]


def masked(shape: Shape, total: int, untied: bool) -> XLMRobertaForMaskedLM:
    layers = {"num_hidden_layers": shape.layers, "num_attention_heads": shape.heads}
    widths = {"hidden_size": shape.hidden, "intermediate_size": shape.intermediate}
    rows = {
        "vocab_size": total,
        "max_position_embeddings": shape.positions + 2,
        "type_vocab_size": 1,
    }
    return XLMRobertaForMaskedLM(
        XLMRobertaConfig(**layers, **widths, **rows, tie_word_embeddings=not untied)
    )


def causal(shape: Shape, total: int, untied: bool) -> GPT2LMHeadModel:
    layers = {
        "n_layer": shape.layers,
        "n_head": shape.heads,
        "n_embd": shape.hidden,
        "n_inner": shape.intermediate,
    }
    rows = {"vocab_size": total, "n_positions": shape.positions}
    return GPT2LMHeadModel(GPT2Config(**layers, **rows, tie_word_embeddings=not untied))


@pytest.mark.parametrize("total", [1000, 250_002])
@pytest.mark.parametrize("shape", SHAPES, ids=repr)
@pytest.mark.parametrize("untied", [False, True])
@pytest.mark.parametrize("build", [masked, causal])
def test_parameters_are_those_of_the_model(build, untied, shape, total):
    with torch.device("meta"):
        model = build(shape, total, untied)
    costs = ModelCosts(shape, causal=build is causal, untied=untied)
    # lm_head.bias, which transformers keeps beside decoder.bias
    unused = total if build is masked and untied else 0
    assert costs.parameters(total) == model.num_parameters() - unused
    tables = {id(module.weight): module.weight for module in (model.get_input_embeddings(),)}
    tables[id(model.get_output_embeddings().weight)] = model.get_output_embeddings().weight
    bias = model.get_output_embeddings().bias
    held = sum(table.numel() for table in tables.values()) + (0 if bias is None else bias.numel())
    assert costs.embedding_parameters(total) == held


SMALL = Shape(layers=3, hidden=32, heads=2, intermediate=80, positions=40, dropout=0.0)
TOTAL, SEQUENCES = 500, 4


def counted(step) -> float:
    """Operations of torch's products by its own counter, attention written out as
    products.
    """
    with (
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
        FlopCounterMode(display=False) as counter,
    ):
        step()
    return counter.get_total_flops()


def test_operations_of_a_masked_model_are_those_that_torch_counts():
    """`SHARE` of the tokens of full blocks are predicted."""
    model = build_language_model(SMALL, TOTAL)
    ids = torch.randint(5, TOTAL, (SEQUENCES, SMALL.positions))
    tokens = ids.numel()
    positions = torch.arange(round(SHARE * tokens))

    def train():
        hidden = model(ids, None, positions)
        (hidden @ model.decoder_weight.T).sum().backward()

    costs = ModelCosts(SMALL)
    assert counted(train) == pytest.approx(tokens * costs.training_operations(TOTAL))
    encoder = model.transformer.base_model
    with torch.no_grad():
        assert counted(lambda: encoder(input_ids=ids)) == pytest.approx(
            tokens * costs.inference_operations(TOTAL)
        )


@pytest.mark.parametrize("untied", [False, True])
def test_operations_of_a_causal_model_are_those_that_torch_counts(untied):
    model = causal(SMALL, TOTAL, untied)
    ids = torch.randint(5, TOTAL, (SEQUENCES, SMALL.positions))
    costs = ModelCosts(SMALL, causal=True, untied=untied)
    # the first product's input, the embeddings, has a gradient, so no part of the
    # backward pass is left out
    assert counted(lambda: model(input_ids=ids).logits.sum().backward()) == pytest.approx(
        ids.numel() * costs.training_operations(TOTAL)
    )
    with torch.no_grad():
        assert counted(lambda: model(input_ids=ids)) == pytest.approx(
            ids.numel() * costs.inference_operations(TOTAL)
        )


def test_the_cache_holds_keys_and_values_of_every_layer():
    model = causal(SMALL, TOTAL, False).eval()
    ids = torch.randint(5, TOTAL, (1, 7))
    with torch.no_grad():
        cache = model(input_ids=ids, use_cache=True).past_key_values
    numbers = sum(layer.keys.numel() + layer.values.numel() for layer in cache.layers)
    assert ModelCosts(SMALL, causal=True).cache_bytes() == 2 * numbers / ids.numel()
    assert ModelCosts(SMALL).cache_bytes() == 0


@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (4, 1)])
def test_llamas_form_and_grouped_attention_are_counted_as_transformers_and_torch_do(
    heads, kv_heads
):
    config = LlamaConfig(
        vocab_size=TOTAL,
        hidden_size=SMALL.hidden,
        intermediate_size=SMALL.intermediate,
        num_hidden_layers=SMALL.layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        max_position_embeddings=SMALL.positions,
        tie_word_embeddings=True,
        attn_implementation="eager",
    )
    model, ids = LlamaForCausalLM(config), torch.randint(5, TOTAL, (SEQUENCES, SMALL.positions))
    costs = ModelCosts(SMALL, causal=True, swiglu=True, kv_share=kv_heads / heads)
    assert costs.parameters(TOTAL) == model.num_parameters()
    # angles: positions times frequencies
    rotary = 2 * SMALL.hidden // heads / 2 * SEQUENCES * SMALL.positions
    work = ids.numel() * costs.training_operations(TOTAL)
    assert counted(lambda: model(input_ids=ids).logits.sum().backward()) == pytest.approx(
        work, abs=rotary
    )
    with torch.no_grad():
        cache = model(input_ids=ids[:1, :7], use_cache=True).past_key_values
    numbers = sum(layer.keys.numel() + layer.values.numel() for layer in cache.layers)
    assert costs.cache_bytes() == 2 * numbers / 7


def test_grouped_attention_of_a_gpt2_by_hand():
    """A quarter of the key and value heads, two layers of 64: each lacks 2 x 48 outputs
    of 65 numbers.
    """
    shape = Shape(layers=2, hidden=64, heads=4, intermediate=256, positions=33)
    whole, grouped = ModelCosts(shape, causal=True), ModelCosts(shape, causal=True, kv_share=1 / 4)
    assert whole.parameters(1000) - grouped.parameters(1000) == 2 * 96 * (64 + 1)
    assert whole.training_operations(1000) - grouped.training_operations(1000) == 6 * 2 * 96 * 64
    assert whole.inference_operations(1000) - grouped.inference_operations(1000) == 2 * 2 * 96 * 64
    assert (whole.cache_bytes(), grouped.cache_bytes()) == (2 * 2 * 64 * 2, 2 * 2 * 16 * 2)


def test_the_reference_is_that_of_tao_et_al():
    """They take 43,000 ids for 3 billion parameters and a width of 3,200; their program
    42,538.
    """
    shape = Shape(layers=25, hidden=3200, heads=32, intermediate=8230, positions=2048)
    costs = ModelCosts(shape, causal=True, swiglu=True)
    assert costs.parameters(0) == pytest.approx(3e9, rel=1e-3)
    line = reference(costs)
    assert int(line.split("T = ")[1].split(" ")[0].replace(",", "")) == pytest.approx(
        42_538, rel=2e-3
    )
    assert "outside" not in line and "outside" in reference(ModelCosts(SMALL))


def test_memory_is_that_of_adam_and_of_16_bits():
    model = causal(SMALL, TOTAL, False)
    optimizer = torch.optim.AdamW(model.parameters())
    model(input_ids=torch.randint(5, TOTAL, (1, 8))).logits.sum().backward()
    optimizer.step()
    moments = [
        value for state in optimizer.state.values() for value in state.values() if value.dim()
    ]
    held = [*model.parameters(), *(parameter.grad for parameter in model.parameters()), *moments]
    costs = ModelCosts(SMALL, causal=True)
    assert costs.training_bytes(TOTAL) == sum(
        tensor.numel() * tensor.element_size() for tensor in held
    )
    half = model.to(torch.bfloat16)
    assert costs.inference_bytes(TOTAL) == sum(
        part.numel() * part.element_size() for part in half.parameters()
    )


def test_a_sampled_loss_costs_its_candidates_in_training_alone():
    full, sampled = ModelCosts(SMALL), ModelCosts(SMALL, candidates=100)
    fewer = 6 * SHARE * SMALL.hidden * (TOTAL - 100)
    assert full.training_operations(TOTAL) - sampled.training_operations(TOTAL) == pytest.approx(
        fewer
    )
    assert sampled.training_operations(80) == full.training_operations(80)
    assert full.inference_operations(TOTAL) == sampled.inference_operations(TOTAL)
