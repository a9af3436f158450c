"""Operations of a training against torch's own count and the paper's numbers; costs of
jobs, and their fit.
"""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import yaml

from benchmarks.plan_costs import as_yaml, fit
from vocap.config import Settings
from vocap.errors import UsageError
from vocap.forecast.costs import Cost, Forecast, cost_of, read_costs, schedule_jobs, total
from vocap.forecast.jobs import Job, candidates, operations, training_features
from vocap.languages import default_table
from vocap.pretraining.loss_kinds import Full, Knn
from vocap.pretraining.settings import Model, Shape, encoder_operations

torch = pytest.importorskip("torch")

SMALL = Shape(layers=2, hidden=64, heads=4, intermediate=256, positions=32)


def model(**changes):
    return Model(
        tokenizer="t",
        **{"shape": SMALL, "steps": 10, "batch": 4, "micro_batch": 2, "warmup": 1, **changes},
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
    recipe = Model(tokenizer="t", loss=Knn(k=k))
    assert candidates(recipe, 500_000, 512) == pytest.approx(words, rel=0.15)


def test_models_are_priced_by_their_jobs():
    from vocap.forecast.costs import make_forecast, read_costs
    from vocap.forecast.jobs import Job

    config = {
        "languages": ["de", "ru"],
        "corpora": {"sources": {"starter": {"starter": True}}, "table": str(default_table())},
        "vocabularies": {"sizes": [1000]},
        "tokenizers": {"j": {"kind": "joint", "total": 1000}},
        "pretraining": {"models": {"a": {"tokenizer": "j"}}},
    }
    jobs = [
        Job("tokenize", "pretraining/tokenize-j-de", wildcards={"tokenizer": "j", "lang": "de"}),
        Job(
            "pretrain",
            "pretraining/a",
            after=("pretraining/tokenize-j-de",),
            wildcards={"name": "a"},
            threads=4,
        ),
    ]
    forecast = make_forecast(
        Settings.model_validate(config), read_costs(), jobs, gpu=True, gpus={"pretrain": 8}
    )
    assert forecast.costs["pretraining/a"].gpu_s > 3600
    assert forecast.costs["pretraining/tokenize-j-de"].gpu_s == 0
    assert [(job.threads, job.gpus) for job in forecast.jobs] == [(1, 1), (1, 8)]


MODEL = {
    "fitted_on": ["made up"],
    "features": {"mb": "megabytes"},
    "spread": {"low": 0.5, "high": 2},
    "reach": {"scale": 100, "power": 0.5},
    "overhead": {"local": {"start_s": 1, "planning_s": 0.1, "job_s": 0.5}},
    "rules": {
        "read": {
            "cpu_s": {"job": 1, "mb": 2},
            "wait_s": {"mb": 0.5},
            "memory_mb": {"job": 50, "mb": 3},
        },
        "train": {"cpu_s": {"mb": 8}, "gpu_s": {"mb": 1}, "disk_mb": {"job": 7}, "cores": 1.6},
    },
}


def test_cost_of_a_job_is_the_sum_of_its_terms():
    slow_gpu = deepcopy(MODEL)
    slow_gpu["rules"]["train"]["gpu_s"]["mb"] = 9
    read = cost_of(Job("read", "a/read", {"mb": 10, "unused": 1e9}), MODEL)
    assert read == Cost(wall_s=21 + 5, cpu_s=21, gpu_s=0, memory_mb=80, disk_mb=0)
    train = cost_of(Job("train", "a/train", {"mb": 10}, threads=2), MODEL)
    assert train == Cost(wall_s=80 / 1.6, cpu_s=80, gpu_s=10, memory_mb=0, disk_mb=7)
    assert cost_of(Job("train", "a/train", {"mb": 10}, threads=1), MODEL).wall_s == 80
    assert cost_of(Job("train", "a/train", {"mb": 10}, threads=2), slow_gpu).wall_s == 90
    eight = cost_of(Job("train", "a/train", {"mb": 10}, threads=2, gpus=8), slow_gpu)
    assert (eight.wall_s, eight.gpu_s) == (90 / 8, 90)  # GPU hours are what they were
    assert total([read, train]) == Cost(26 + 50, 101, 10, 80, 7)
    assert total([]) == Cost()
    with pytest.raises(UsageError, match="no rule 'sing'"):
        cost_of(Job("sing", "a/sing", {}), MODEL)


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
    assert {"local", "slurm"} <= set(costs["overhead"])
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


def test_a_run_takes_its_longest_chain_or_all_its_jobs_on_busy_cores():
    """Graham's bounds (1966), less the idle time, with 0.5 s around each job, and 1.1 s
    to start and plan each.
    """
    jobs = [
        Job("read", "a", {"mb": 10}),
        Job("read", "b", {"mb": 10}, after=("a",)),
        Job("read", "c", {"mb": 40}),
    ]
    costs = {job.name: cost_of(job, MODEL) for job in jobs}
    assert [costs[name].wall_s for name in "abc"] == [26, 26, 101]
    model = {**MODEL, "overhead": MODEL["overhead"] | {"slurm": MODEL["overhead"]["local"]}}
    one, two, many = (schedule_jobs(Forecast(jobs, costs, {}), model, cores) for cores in (1, 2, 9))
    assert one.wall_s == pytest.approx(1.3 + 26 + 26 + 101 + 3 * 0.5)
    assert two.wall_s == many.wall_s == two.longest_chain_s == pytest.approx(1.3 + 101.5)
    assert (one.memory_mb, two.memory_mb, many.memory_mb) == (170, 250, 330)
    trained = [replace(job, features={**job.features, "gpu": 1.0}, after=()) for job in jobs]
    assert schedule_jobs(Forecast(trained, costs, {}), model, 9).wall_s == one.wall_s
    cluster = schedule_jobs(Forecast(jobs, costs, {}), model, 2, places=2)
    assert (cluster.wall_s, cluster.memory_mb) == (two.wall_s, 250)
