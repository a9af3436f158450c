"""The command of `vocap launch` by SLURM's allocation; on a real SLURM: tests/cluster/test_pretraining.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vocap.training.launch import Allocation, launch_words, visible_gpus

VOCAP = Path(sys.executable).parent / "vocap"


@pytest.mark.parametrize(
    ("value", "count"),
    [(None, 0), ("", 0), ("NoDevFiles", 0), ("0", 1), ("0,1,3", 3), ("GPU-1a2b,GPU-3c4d", 2), ("MIG-7f/1/0", 1)],
)
def test_the_gpus_that_a_process_may_see(value, count):
    assert visible_gpus({} if value is None else {"CUDA_VISIBLE_DEVICES": value}) == count


def test_one_process_needs_no_torchrun():
    assert launch_words(["x"], None, 2) == ["x"]
    assert launch_words(["x"], Allocation("7", ("a",), "a", 1), 2) == ["x"]


def test_several_processes_on_one_node():
    words = launch_words(["x", "-y"], Allocation("7", ("a",), "a", 4), 2)
    assert words[:3] == [sys.executable, "-m", "torch.distributed.run"]
    assert words[3:] == ["--nproc-per-node=4", "--standalone", "--no-python", "x", "-y"]


def test_several_nodes_meet_at_the_first():
    words = launch_words(["x"], Allocation("12345", ("a", "b"), "10.0.0.1", 4), 2)
    assert words[0] == "srun"
    assert {"--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--cpus-per-task=2"} <= set(words)
    assert {"--nnodes=2", "--nproc-per-node=4", "--rdzv-endpoint=10.0.0.1:22345"} <= set(words)


def test_a_command_outside_slurm_is_run_as_it_is():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    program = [sys.executable, "-c", "import sys; print(sys.argv); sys.exit(7)", "--threads"]
    words = [VOCAP, "launch", "--threads", "2", *program]
    run = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert (run.returncode, run.stdout, run.stderr) == (7, "['-c', '--threads']\n", "")


def test_a_job_that_slurm_does_not_know_is_one_message():
    environment = {**os.environ, "SLURM_JOB_ID": "999999999"}
    run = subprocess.run([VOCAP, "launch", "true"], capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 1
    assert "squeue gives no nodes of this SLURM job" in run.stderr
    assert "Traceback" not in run.stderr
