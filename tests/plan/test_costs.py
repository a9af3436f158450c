"""The arithmetic of the model, its file, and the fit: against sums by hand and coefficients known beforehand."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import yaml

from benchmarks.plan_costs import as_yaml, fit
from vocap.errors import UsageError
from vocap.plan.forecast import Cost, Forecast, cost_of, read_costs, schedule_jobs, total
from vocap.plan.jobs import Job

MODEL = {
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
    parts = [part for rule in costs["rules"].values() for part in rule.values() if isinstance(part, dict)]
    used = {name for part in parts for name in part}
    described = set(costs["features"])
    assert {name.removeprefix("gpu_") for name in used if not name.startswith("package ")} <= described
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
    features = np.column_stack([np.ones(80), generator.uniform(0, 5, 80), generator.uniform(0, 50, 80)])
    true = np.array([0.7, 1.5, 0.0])
    values = features @ true * generator.normal(1, 0.03, 80)
    found = fit(features, values, np.array([1.0, 1.0, 1.0]))
    assert np.allclose(found, true, atol=0.12), found


def test_a_run_takes_its_longest_chain_or_all_its_jobs_on_busy_cores():
    """Graham's bounds (1966), less the idle time, with 0.5 s around each job, and 1.1 s to start and plan each."""
    jobs = [Job("read", "a", {"mb": 10}), Job("read", "b", {"mb": 10}, after=("a",)), Job("read", "c", {"mb": 40})]
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
