"""The arithmetic of the model, its file, and the fit: against sums by hand and coefficients known beforehand."""

import numpy as np
import pytest
import yaml

from benchmarks.plan_costs import as_yaml, fit
from vocap.errors import UsageError
from vocap.plan.forecast import Cost, Costs, cost_of, read_costs, total
from vocap.plan.jobs import Job

MODEL = Costs.model_validate(
    {
        "fitted_on": ["made up"],
        "features": {"mb": "megabytes"},
        "spread": {"low": 0.5, "high": 2},
        "reach": {"scale": 100, "power": 0.5},
        "overhead": {"local": {"start_s": 1, "planning_s": 0.1, "job_s": 0.5}},
        "rules": {
            "read": {"cpu_s": {"job": 1, "mb": 2}, "wait_s": {"mb": 0.5}, "memory_mb": {"job": 50, "mb": 3}},
            "train": {"cpu_s": {"mb": 8}, "gpu_s": {"mb": 1}, "disk_mb": {"job": 7}, "cores": 1.6},
        },
    }
)


def test_cost_of_a_job_is_the_sum_of_its_terms():
    slow_gpu = MODEL.model_copy(deep=True)
    slow_gpu.rules["train"].gpu_s["mb"] = 9
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
    used = {
        name
        for rule in costs.rules.values()
        for part in rule.model_dump().values()
        if isinstance(part, dict)
        for name in part
    }
    described = set(costs.features)
    assert {name.removeprefix("gpu_") for name in used if not name.startswith("package ")} <= described
    assert {"local", "slurm"} <= set(costs.overhead)
    path = tmp_path / "costs.yaml"
    path.write_text(as_yaml(costs), "utf-8")
    assert read_costs(path) == costs


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        ("rules: [", "not YAML"),
        ("5", "costs.yaml"),
        (yaml.safe_dump({**MODEL.model_dump(), "reach": {"scale": -1, "power": 1}}), "reach.scale"),
        (yaml.safe_dump({**MODEL.model_dump(), "extra": 1}), "extra"),
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
    features = np.column_stack([np.ones(80), generator.uniform(0, 5, 80), generator.uniform(0, 50, 80)])
    true = np.array([0.7, 1.5, 0.0])
    values = features @ true * generator.normal(1, 0.03, 80)
    found = fit(features, values, np.array([1.0, 1.0, 1.0]))
    assert np.allclose(found, true, atol=0.12), found


def test_fit_keeps_the_prior_where_the_runs_say_nothing():
    """Two jobs of one feature in common, ten times the other: their share of the sum cannot be told apart."""
    features = np.array([[1.0, 10.0], [1.0, 10.0]])
    found = fit(features, np.array([60.0, 60.0]), np.array([20.0, 2.0]))
    assert features[0] @ found == pytest.approx(60, rel=0.01)
    assert found[0] / found[1] == pytest.approx(10, rel=0.35)  # as in the prior
