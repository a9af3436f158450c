"""Locks of GPUs, products in 16 bits with wide sums, and the command of `vocap launch`
by SLURM's allocation.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.cases import read_cases
from tests.commands import ended
from vocap.training.distributed import add_product, multiply, own_device
from vocap.training.launch import SlurmJob, launch_words, visible_gpus

HOLD = """
import sys
from types import SimpleNamespace
import torch
torch.cuda.is_available, torch.cuda.device_count = lambda: True, lambda: 2
torch.cuda.get_device_properties = lambda index: SimpleNamespace(uuid=index)
torch.cuda.set_device = print
from vocap.training.distributed import own_device
with own_device():
    sys.stdout.flush()
    sys.stdin.read()
"""


@pytest.fixture
def start(tmp_path):
    running = []

    def holder() -> subprocess.Popen:
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        running.append(subprocess.Popen([sys.executable, "-c", HOLD], env=environment, **pipes))
        return running[-1]

    yield holder
    for process in running:
        process.kill()
        process.communicate()


def test_each_takes_another_gpu_and_the_last_waits_for_one_that_ends(start):
    first = start()
    assert first.stdout.readline() == "0\n"
    second = start()
    assert second.stdout.readline() == "1\n"
    third = start()
    second.kill()  # with its process the lock goes
    assert third.stdout.readline() == "1\n"


def test_without_a_gpu_nobody_waits():
    with own_device() as one, own_device() as other:
        assert one == other


DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_products_and_their_sums(device, dtype):
    torch.manual_seed(0)
    a = torch.randn(40, 300).to(device, dtype)
    b = torch.randn(300, 24).to(device, dtype)
    right = a.double() @ b.double()
    # a CPU rounds sums to the factors' type
    rounding = max(1e-5, torch.finfo(dtype).eps if device == "cpu" else 0)
    product = multiply(a, b, torch.float32)
    assert product.dtype == torch.float32
    torch.testing.assert_close(product.double(), right, rtol=rounding, atol=40 * rounding)

    total = add_product(a, b, None, torch.float32)
    memory = total.data_ptr()
    total = add_product(a, b, total, torch.float32)
    assert (total.dtype, total.data_ptr()) == (torch.float32, memory)
    torch.testing.assert_close(total.double(), 2 * right, rtol=2 * rounding, atol=80 * rounding)


VOCAP = Path(sys.executable).parent / "vocap"


@pytest.mark.parametrize(("value", "count"), read_cases(__file__))
def test_the_gpus_that_a_process_may_see(value, count):
    assert visible_gpus({} if value is None else {"CUDA_VISIBLE_DEVICES": value}) == count


def test_one_process_needs_no_torchrun():
    assert launch_words(["x"], None, 2) == ["x"]
    assert launch_words(["x"], SlurmJob("7", ("a",), "a", 1), 2) == ["x"]


def test_several_processes_on_one_node():
    words = launch_words(["x", "-y"], SlurmJob("7", ("a",), "a", 4), 2)
    assert words[:3] == [sys.executable, "-m", "torch.distributed.run"]
    assert words[3:] == ["--nproc-per-node=4", "--standalone", "--no-python", "x", "-y"]


def test_several_nodes_meet_at_the_first():
    words = launch_words(["x"], SlurmJob("12345", ("a", "b"), "10.0.0.1", 4), 2)
    assert words[0] == "srun"
    assert {"--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--cpus-per-task=2"} <= set(words)
    assert {"--nnodes=2", "--nproc-per-node=4", "--rdzv-endpoint=10.0.0.1:22345"} <= set(words)


def test_a_command_outside_slurm_is_run_as_it_is():
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("SLURM")
    }
    program = [sys.executable, "-c", "import sys; print(sys.argv); sys.exit(7)", "--threads"]
    words = [VOCAP, "launch", "--threads", "2", *program]
    run = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert (run.returncode, run.stdout, run.stderr) == (7, "['-c', '--threads']\n", "")


def test_a_job_that_slurm_does_not_know_is_one_message():
    said = ended("launch", "true", status=1, SLURM_JOB_ID="999999999").stderr
    assert "squeue gives no nodes of this SLURM job" in said
