"""A run of fine-tuning as a job on one GPU: the signal before its time limit, resumed to the same bytes."""

from pathlib import Path

import pytest

from tests.cluster.conftest import CONFIG
from tests.cluster.slurm import ClusterRuns, command, wait_until
from tests.finetuning.tiny_models import make_model
from tests.workflow.conftest import copy_workflow

RUN = "results/finetuning/tiny/panx/runs/0.001-40-1"
RECIPE = {"learning_rates": [1e-3], "epochs": [40], "batch": 8, "max_length": 48}


def copy(folder: Path):
    """The workflow with a model from elsewhere, so that nothing is pre-trained."""
    workflow = copy_workflow(folder)
    make_model(folder / "tiny")
    workflow.write_config(
        **CONFIG,
        allocation={"b": None},
        finetuning={
            "xtreme": "config/smoke-xtreme",
            "models": {"tiny": {"path": "tiny/model"}},
            "tasks": ["panx"],
            "seeds": [1],
            "threads": 1,
            "checkpoint_every": 10,
            "recipes": {"panx": RECIPE},
        },
    )
    return workflow


def tuned(folder: Path) -> dict[str, bytes]:
    """What the run said, and everything that it predicted."""
    files = [folder / RUN / "run.json", *sorted((folder / RUN / "predictions").rglob("*.tsv"))]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.faults
def test_the_signal_before_the_time_limit_leaves_a_checkpoint(cluster, tmp_path):
    alone = copy(tmp_path / "alone")
    here = alone.snakemake("finetuning")
    assert here.returncode == 0, here.stdout
    runs = ClusterRuns(copy(tmp_path / "clone"))
    run = runs.start("finetuning")
    job = cluster.running("finetune", runs.folder)
    assert job.node.startswith("gpu") and job.gpus == 1
    wait_until(lambda: list(runs.folder.glob(f"{RUN}/checkpoints/step-*")), 300, "a checkpoint")
    command("scancel", "--signal=URG", job.id)  # what --signal=URG@300 makes SLURM do by itself
    run.succeed()
    assert cluster.states("finetune", runs.folder) == ["FAILED", "COMPLETED"]
    assert len(tuned(runs.folder)) == 9
    assert tuned(runs.folder) == tuned(alone.folder)
