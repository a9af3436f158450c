"""Operations of a training against torch's own count, and against the paper's numbers."""

import pytest

from vocap.config import Settings
from vocap.languages import default_table
from vocap.plan.jobs import candidates, operations, training_features
from vocap.pretraining.loss_kinds import Full, Knn
from vocap.pretraining.settings import Model, Shape, encoder_operations

torch = pytest.importorskip("torch")

SMALL = Shape(layers=2, hidden=64, heads=4, intermediate=256, positions=32)


def model(**changes):
    return Model(
        tokenizer="t", **{"shape": SMALL, "steps": 10, "batch": 4, "micro_batch": 2, "warmup": 1, **changes}
    )


def test_operations_of_a_causal_model_are_those_that_torch_counts():
    """Every token predicted, grouped attention, SwiGLU."""
    from torch.utils.flop_counter import FlopCounterMode

    from vocap.pretraining.model import build_model

    shape = SMALL.model_copy(update={"kv_heads": 2})
    network = build_model(shape, 500, causal=True)
    with FlopCounterMode(display=False) as counter:
        hidden = network(torch.randint(4, 499, (2, 32)), None, torch.arange(64))
        (hidden @ network.decoder_weight.T).sum().backward()
    made = operations(model(loss=Full(), shape=shape, objective="causal", steps=1, batch=2, warmup=0), 500, 32, 3)
    assert (made["encoder_pflop"] + made["head_pflop"]) * 1e15 == pytest.approx(counter.get_total_flops(), rel=0.1)


def test_parts_grow_with_what_they_are_of():
    whole = operations(model(loss=Full()), 1000, 32, 3)
    assert whole["encoder_pflop"] * 1e15 == pytest.approx(10 * 4 * 32 * encoder_operations(SMALL, 32))
    assert whole["head_pflop"] * 1e15 == pytest.approx(10 * 4 * 32 * 0.15 * 6 * 1000 * 64)
    assert whole["index_pflop"] == 0
    twice = operations(model(loss=Full(), steps=20), 1000, 32, 3)
    assert twice["updated_gparameters"] == pytest.approx(2 * whole["updated_gparameters"])
    refreshed = operations(model(loss=Knn(every=4)), 1000, 32, 3)
    assert refreshed["index_pflop"] * 1e15 == pytest.approx(3 * 2 * 1000**2 * 64)
    assert refreshed["head_pflop"] <= whole["head_pflop"]


def test_fp16_takes_the_memory_of_bf16():
    """Half of the activations, 34 bytes a token, layer and unit (Korthikanti et al. 2022), and of logits."""
    held = {
        name: training_features(model(loss=Full(), precision=name), 1000, 32, 3, gpu=False)["held_mb"]
        for name in ("auto", "fp32", "bf16", "fp16")
    }
    assert held["auto"] == held["fp32"] and held["fp16"] == held["bf16"]
    on_gpu = {
        name: training_features(model(loss=Full(), precision=name), 1000, 32, 3, gpu=True)["gpu_memory_mb"]
        for name in ("auto", "fp32", "fp16")
    }
    assert on_gpu == {"auto": held["fp16"], "fp32": held["fp32"], "fp16": held["fp16"]}
    tokens, masked = 2 * 32, int(0.15 * 2 * 32) + 2
    activations, logits = 34 * tokens * 2 * 64, masked * 1000 * 2 * 2
    copied = 1000 * 64 * (2 + 4)  # of W and its gradient, which products in 16 bits need beside the float32 ones
    assert (held["fp32"] - held["fp16"]) * 1e6 == pytest.approx(activations + logits - copied)


def test_a_finish_is_so_much_of_the_full_softmax():
    parts = {
        name: operations(model(steps=100, loss=loss), 5000, 32, 3)
        for name, loss in {
            "full": Full(),
            "knn": Knn(k=2, every=10),
            "both": Knn(k=2, every=10, finish=0.3),
        }.items()
    }
    full, knn, both = (parts[name]["head_pflop"] for name in ("full", "knn", "both"))
    assert knn < full / 10
    assert both == pytest.approx(0.3 * full + 0.7 * knn)
    assert parts["both"]["index_pflop"] == pytest.approx(0.7 * parts["knn"]["index_pflop"])


@pytest.mark.parametrize(("steps", "lines"), [(10, 3), (8, 2), (3, 1)])
def test_the_last_step_is_validated_too(steps, lines):
    """As `Training.run` has it."""
    checked = operations(model(loss=Full(), steps=steps, log_every=4), 1000, 32, 3)["validation_pflop"]
    tokens = lines * 3 * model().heldout_blocks * 32
    assert checked * 1e15 == pytest.approx(
        tokens * (encoder_operations(SMALL, 32) / 3 + 2 * 0.15 * SMALL.width * 1000)
    )


@pytest.mark.parametrize(("k", "words"), [(5, 10_000), (10, 17_000), (25, 37_000), (50, 57_000), (100, 88_000)])
def test_candidates_are_near_the_papers_table(k, words):
    recipe = Model(tokenizer="t", loss=Knn(k=k))
    assert candidates(recipe, 500_000, 512) == pytest.approx(words, rel=0.15)


def test_models_are_priced_by_their_jobs():
    from vocap.plan.forecast import make_forecast, read_costs
    from vocap.plan.jobs import Job

    config = {
        "languages": ["de", "ru"],
        "corpora": {"sources": {"starter": {"starter": True}}, "table": str(default_table())},
        "vocabularies": {"sizes": [1000]},
        "tokenizers": {"j": {"kind": "joint", "total": 1000}},
        "pretraining": {"models": {"a": {"tokenizer": "j"}}},
    }
    jobs = [
        Job("tokenize", "pretraining/tokenize-j-de", wildcards={"tokenizer": "j", "lang": "de"}),
        Job("pretrain", "pretraining/a", after=("pretraining/tokenize-j-de",), wildcards={"name": "a"}, threads=4),
    ]
    forecast = make_forecast(Settings.model_validate(config), read_costs(), jobs, gpu=True, gpus={"pretrain": 8})
    assert forecast.costs["pretraining/a"].gpu_s > 3600
    assert forecast.costs["pretraining/tokenize-j-de"].gpu_s == 0
    assert [(job.threads, job.gpus) for job in forecast.jobs] == [(1, 1), (1, 8)]
