"""Operations of a training against torch's own count and the paper's numbers; costs of
jobs, and their fit.
"""

import numpy as np
import pytest
import yaml
from pandas import DataFrame

from benchmarks.plan_costs import as_yaml, fit
from vocap.config import Settings
from vocap.errors import UsageError
from vocap.forecast.costs import PARTS, cost_of, reach_of, read_costs, sum_costs
from vocap.forecast.jobs import PlannedJob, candidate_words, operations, training_features
from vocap.forecast.run import add_features, processor_seconds
from vocap.forecast.texts import estimate_texts
from vocap.languages import default_table
from vocap.pretraining.loss_kinds import Full, Knn
from vocap.pretraining.settings import ModelSettings, Shape, encoder_operations

torch = pytest.importorskip("torch")

SMALL = Shape(layers=2, hidden=64, heads=4, intermediate=256, positions=32)


def model(**changes):
    return ModelSettings(
        tokenizer="t",
        **{"shape": SMALL, "steps": 10, "batch": 4, "micro_batch": 2, "warmup": 1, **changes},
    )


def test_operations_of_a_causal_model_are_those_that_torch_counts():
    """Every token predicted, grouped attention, SwiGLU."""
    from torch.utils.flop_counter import FlopCounterMode

    from vocap.pretraining.model import build_language_model

    shape = SMALL.model_copy(update={"kv_heads": 2})
    network = build_language_model(shape, 500, causal=True)
    with FlopCounterMode(display=False) as counter:
        hidden = network(torch.randint(4, 499, (2, 32)), None, torch.arange(64))
        (hidden @ network.decoder_weight.T).sum().backward()
    made = operations(
        model(loss=Full(), shape=shape, objective="causal", steps=1, batch=2, warmup=0), 500, 32, 3
    )
    assert (made["encoder_pflop"] + made["head_pflop"]) * 1e15 == pytest.approx(
        counter.get_total_flops(), rel=0.1
    )


def test_parts_grow_with_what_they_are_of():
    whole = operations(model(loss=Full()), 1000, 32, 3)
    assert whole["encoder_pflop"] * 1e15 == pytest.approx(
        10 * 4 * 32 * encoder_operations(SMALL, 32)
    )
    assert whole["head_pflop"] * 1e15 == pytest.approx(10 * 4 * 32 * 0.15 * 6 * 1000 * 64)
    assert whole["index_pflop"] == 0
    twice = operations(model(loss=Full(), steps=20), 1000, 32, 3)
    assert twice["updated_gparameters"] == pytest.approx(2 * whole["updated_gparameters"])
    refreshed = operations(model(loss=Knn(every=4)), 1000, 32, 3)
    assert refreshed["index_pflop"] * 1e15 == pytest.approx(3 * 2 * 1000**2 * 64)
    assert refreshed["head_pflop"] <= whole["head_pflop"]


def test_fp16_takes_the_memory_of_bf16():
    """Half of the activations, 34 bytes a token, layer and unit (Korthikanti et al.
    2022), and of logits.
    """
    held = {
        name: training_features(model(loss=Full(), precision=name), 1000, 32, 3, gpu=False)[
            "held_mb"
        ]
        for name in ("auto", "fp32", "bf16", "fp16")
    }
    assert held["auto"] == held["fp32"] and held["fp16"] == held["bf16"]
    on_gpu = {
        name: training_features(model(loss=Full(), precision=name), 1000, 32, 3, gpu=True)[
            "gpu_memory_mb"
        ]
        for name in ("auto", "fp32", "fp16")
    }
    assert on_gpu == {"auto": held["fp16"], "fp32": held["fp32"], "fp16": held["fp16"]}
    tokens, masked = 2 * 32, int(0.15 * 2 * 32) + 2
    activations, logits = 34 * tokens * 2 * 64, masked * 1000 * 2 * 2
    # of W and its gradient, which products in 16 bits need beside the float32 ones
    copied = 1000 * 64 * (2 + 4)
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
    checked = operations(model(loss=Full(), steps=steps, log_every=4), 1000, 32, 3)[
        "validation_pflop"
    ]
    tokens = lines * 3 * model().heldout_blocks * 32
    assert checked * 1e15 == pytest.approx(
        tokens * (encoder_operations(SMALL, 32) / 3 + 2 * 0.15 * SMALL.width * 1000)
    )


@pytest.mark.parametrize(
    ("k", "words"), [(5, 10_000), (10, 17_000), (25, 37_000), (50, 57_000), (100, 88_000)]
)
def test_candidates_are_near_the_papers_table(k, words):
    recipe = ModelSettings(tokenizer="t", loss=Knn(k=k))
    assert candidate_words(recipe, 500_000, 512) == pytest.approx(words, rel=0.15)


def test_models_are_priced_by_their_jobs():
    config = {
        "languages": ["de", "ru"],
        "corpora": {"sources": {"starter": {"starter": True}}, "table": str(default_table())},
        "vocabularies": {"sizes": [1000]},
        "tokenizers": {"j": {"kind": "joint", "total": 1000}},
        "pretraining": {"models": {"a": {"tokenizer": "j"}}},
    }
    jobs = [
        PlannedJob(
            "tokenize", "pretraining/tokenize-j-de", wildcards={"tokenizer": "j", "lang": "de"}
        ),
        PlannedJob("pretrain", "pretraining/a", wildcards={"name": "a"}),
    ]
    settings, costs = Settings.model_validate(config), read_costs()
    texts = estimate_texts(settings)
    tokenize, pretrain = add_features(settings, jobs, texts, reach_of(texts, costs), gpu=True)
    assert cost_of(pretrain, costs)["gpu_s"] > 3600
    assert cost_of(tokenize, costs)["gpu_s"] == 0


MODEL = {
    "fitted_on": ["made up"],
    "features": {"mb": "megabytes"},
    "spread": {"low": 0.5, "high": 2},
    "reach": {"scale": 100, "power": 0.5},
    "word_reach": {"scale": 2, "power": 0.5},
    "rules": {
        "read": {
            "cpu_s": {"job": 1, "mb": 2},
            "memory_mb": {"job": 50, "mb": 3},
        },
        "train": {"cpu_s": {"mb": 8}, "gpu_s": {"mb": 1}, "disk_mb": {"job": 7}},
    },
}


def test_cost_of_a_job_is_the_sum_of_its_terms():
    read = cost_of(PlannedJob("read", "a/read", {"mb": 10, "unused": 1e9}), MODEL)
    assert read == dict(zip(PARTS, (21, 0, 80, 0), strict=True))
    train = cost_of(PlannedJob("train", "a/train", {"mb": 10}), MODEL)
    assert train == dict(zip(PARTS, (80, 10, 0, 7), strict=True))
    table = DataFrame([train, read]).assign(stage=["b", "a"], all="all")
    whole = {"jobs": 2, **dict(zip(PARTS, (101, 10, 80, 7), strict=True))}
    assert sum_costs(table, "all") == {"all": whole}
    assert sum_costs(table, "stage") == {"b": {"jobs": 1, **train}, "a": {"jobs": 1, **read}}
    with pytest.raises(UsageError, match="no rule 'sing'"):
        cost_of(PlannedJob("sing", "a/sing", {}), MODEL)


def test_processor_time_after_the_last_sample_is_assumed_at_the_same_rate():
    """Samples at 0.5 s steps until 15.5 s, then every 30 s: the last before 40 s is at
    15.5 s; no job takes more than its threads.
    """
    assert processor_seconds(0.4, None, 1) == 0.4
    assert processor_seconds(40.0, 7.75, 1) == pytest.approx(20.0)
    assert processor_seconds(40.0, 31.0, 1) == 40.0
    assert processor_seconds(40.0, 31.0, 4) == pytest.approx(80.0)
    assert processor_seconds(60.5, 45.5, 1) == pytest.approx(60.5)


def test_the_shipped_coefficients_name_each_feature_and_survive_writing(tmp_path):
    costs = read_costs()
    parts = [
        part for rule in costs["rules"].values() for part in rule.values() if isinstance(part, dict)
    ]
    used = {name for part in parts for name in part}
    described = set(costs["features"])
    assert {
        name.removeprefix("gpu_") for name in used if not name.startswith("package ")
    } <= described
    path = tmp_path / "costs.yaml"
    path.write_text(as_yaml(costs), "utf-8")
    assert read_costs(path) == costs


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        ("rules: [", "not YAML"),
        ("5", "costs.yaml"),
        (yaml.safe_dump({**MODEL, "extra": 1}), "no table of coefficients"),
    ],
)
def test_a_file_that_is_no_cost_model(tmp_path, content, message):
    path = tmp_path / "costs.yaml"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(UsageError, match=message):
        read_costs(path)


def test_fit_finds_the_coefficients_of_made_costs():
    generator = np.random.default_rng(1)
    features = np.column_stack(
        [np.ones(80), generator.uniform(0, 5, 80), generator.uniform(0, 50, 80)]
    )
    true = np.array([0.7, 1.5, 0.0])
    values = features @ true * generator.normal(1, 0.03, 80)
    found = fit(features, values, np.array([1.0, 1.0, 1.0]))
    assert np.allclose(found, true, atol=0.12), found
