"""Models trained by several processes, on one node and on two: signals, preemption,
resumed to the same bytes.
"""

import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from tests.cases import read_lines_of_json
from tests.cluster.conftest import CASES, CONFIG, clone, run_here
from tests.cluster.slurm import ClusterRuns, command, send, wait_until
from tests.workflow.conftest import copy_workflow

MODEL, ONE_NODE, TWO_NODES = (CASES[name] for name in ("model", "one node", "two nodes"))


def with_model(**changes) -> dict:
    """Changes of the configuration: a model `m`."""
    models = {"m": MODEL | changes}
    pretraining = {"block": 64, "threads": 1, "models": models}
    return CONFIG | {"allocation": {"b": None}, "pretraining": pretraining}


def place(runs: ClusterRuns, resources: dict) -> None:
    """Write into the profile where the models train."""
    path = runs.folder / "slurm/config.yaml"
    profile = yaml.safe_load(path.read_text("utf-8"))
    pretrain = profile["set-resources"]["pretrain"]
    for key in ("slurm_partition", "nodes", "gpu"):
        del pretrain[key]
    pretrain |= resources
    path.write_text(yaml.safe_dump(profile), "utf-8")


@pytest.fixture(scope="module")
def tokenized(tmp_path_factory):
    """A copy of the workflow, run up to the blocks of token ids: one job is left to
    each model.
    """
    workflow = copy_workflow(tmp_path_factory.mktemp("tokenized") / "clone")
    workflow.write_config(**with_model())
    blocks = [
        f"results/pretraining/tokens/vocap/{language}/description.json"
        for language in CONFIG["languages"]
    ]
    return run_here(workflow, "results/tokenizers/vocap/huggingface/tokenizer.json", *blocks)


@pytest.fixture(scope="module")
def undisturbed_runs(cluster, tokenized, tmp_path_factory) -> ClusterRuns:
    """A training by two processes on one node."""
    runs = ClusterRuns(clone(tokenized, tmp_path_factory.mktemp("undisturbed")))
    place(runs, ONE_NODE)
    runs.start("pretraining").succeed()
    (job,) = cluster.jobs("pretrain", runs.folder)
    assert job.gpus == 2
    assert job.node.startswith("gpu")
    log = (runs.folder / "logs/pretraining/pretrain/m.log").read_text("utf-8")
    assert "--nproc-per-node=2 --standalone" in log
    return runs


@pytest.fixture(scope="module")
def undisturbed(undisturbed_runs):
    """What two processes on one node train, bytes by file; another number of processes
    sums otherwise.
    """
    return trained(undisturbed_runs)


@pytest.fixture
def runs(cluster, tokenized, tmp_path) -> Iterator[ClusterRuns]:
    runs = ClusterRuns(clone(tokenized, tmp_path))
    yield runs
    cluster.start()  # what the test has ended
    runs.end()


def trained(runs: ClusterRuns) -> dict[str, bytes | list]:
    """The model's files, and the losses of every logged step."""
    folder = runs.folder / "results/pretraining/m"
    rows = read_lines_of_json(folder / "metrics.jsonl")
    files = {
        path.name: path.read_bytes()
        for path in sorted((folder / "model").iterdir())
        if path.name[0] != "."
    }
    return {"losses": [(row["step"], row["loss"]) for row in rows], **files}


def seconds_of_training(runs: ClusterRuns) -> float:
    return read_lines_of_json(runs.folder / "results/pretraining/m/metrics.jsonl")[-1]["seconds"]


def checkpointed(runs: ClusterRuns, seconds: float = 300) -> None:
    wait_until(
        lambda: list(runs.folder.glob("results/pretraining/m/checkpoints/step-*")),
        seconds,
        "a checkpoint",
    )


@pytest.mark.cluster
def test_two_nodes_train_what_two_processes_on_one_node_train(cluster, runs, undisturbed):
    place(runs, TWO_NODES)
    runs.start("pretraining").succeed()
    (job,) = cluster.jobs("pretrain", runs.folder)
    assert job.node == "gpu[1-2]"
    assert job.gpus == 2
    assert "--nnodes=2" in (runs.folder / "logs/pretraining/pretrain/m.log").read_text("utf-8")
    assert trained(runs) == undisturbed


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param(ONE_NODE, marks=pytest.mark.cluster, id="one node"),
        pytest.param(TWO_NODES, marks=pytest.mark.faults, id="two nodes"),
    ],
)
def test_the_signal_before_the_time_limit_leaves_a_checkpoint(
    cluster, runs, undisturbed, resources
):
    place(runs, resources)
    run = runs.start("pretraining")
    job = cluster.running("pretrain", runs.folder)
    checkpointed(runs)
    command("scancel", "--signal=URG", job.id)  # what --signal=URG@300 makes SLURM do by itself
    run.succeed()
    assert cluster.states("pretrain", runs.folder) == ["FAILED", "COMPLETED"]
    assert trained(runs) == undisturbed


@pytest.mark.faults
def test_a_training_longer_than_its_time_limit_goes_on_in_further_jobs(
    cluster, tokenized, undisturbed_runs, tmp_path
):
    """SLURM itself sends the signal, 40 to 100 s before the end of each job of two
    minutes.
    """

    def train(name: str, steps: int, minutes: int) -> tuple[ClusterRuns, list[str]]:
        (tmp_path / name).mkdir()
        runs = ClusterRuns(clone(tokenized, tmp_path / name))
        runs.workflow.write_config(**with_model(steps=steps, checkpoint_every=steps))
        place(runs, {**ONE_NODE, "runtime": minutes, "slurm_extra": "'--signal=URG@40 --requeue'"})
        runs.start("pretraining", "--retries", "30").succeed(1800)
        return runs, cluster.states("pretrain", runs.folder)

    steps = int(200 / (seconds_of_training(undisturbed_runs) / MODEL["steps"]))
    alone, once = train("alone", steps, 60)
    limited, often = train("limited", steps, 2)
    assert trained(limited) == trained(alone)
    assert once == ["COMPLETED"]
    assert len(often) > 1
    # as after the signal, with a checkpoint
    assert set(often[:-1]) == {"FAILED"}, "a job was ended by its limit"
    assert often[-1] == "COMPLETED"


@pytest.mark.faults
def test_a_job_preempted_goes_back_to_the_queue(cluster, runs, undisturbed):
    place(runs, {**ONE_NODE, "slurm_partition": "preemptible"})
    run = runs.start("pretraining")
    job = cluster.running("pretrain", runs.folder)
    checkpointed(runs)
    urgent = command(
        "sbatch", "--parsable", "-p", "gpu", "-N2", "--gres=gpu:4", "--wrap", "sleep 5"
    ).strip()
    wait_until(
        lambda: cluster.states("pretrain", runs.folder) == ["PENDING"], 180, "back in the queue"
    )
    wait_until(
        lambda: not command("squeue", "-h", "-j", urgent, "-t", "R,PD", check=False),
        180,
        "the urgent job ends",
    )
    # SLURM itself would wait two minutes
    command("scontrol", "update", f"jobid={job.id}", "starttime=now")
    run.succeed()
    assert cluster.states("pretrain", runs.folder) == ["COMPLETED"]
    assert "Restarts=1" in cluster.jobs("pretrain", runs.folder)[0].details
    assert trained(runs) == undisturbed


@pytest.mark.faults
def test_one_process_of_a_two_node_job_killed(cluster, runs, undisturbed):
    place(runs, TWO_NODES)
    run = runs.start("pretraining")
    job = cluster.running("pretrain", runs.folder)
    checkpointed(runs)
    send(signal.SIGKILL, list(filter(is_rank_1, cluster.processes(job.id))))
    run.succeed()
    assert cluster.states("pretrain", runs.folder) == ["FAILED", "COMPLETED"]
    assert trained(runs) == undisturbed


def is_rank_1(process: int) -> bool:
    folder = Path("/proc", str(process))
    with suppress(OSError):  # it has ended
        return b"RANK=1" in (folder / "environ").read_bytes().split(b"\0") and (
            b"--settings-json" in (folder / "cmdline").read_bytes().split(b"\0")
        )
    return False
