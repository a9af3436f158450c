"""Locks of GPUs, and products in 16 bits with wide sums."""

import os
import subprocess
import sys

import pytest
import torch

from vocap.training.distributed import add_product, multiply, own_device

HOLD = """
import sys
from types import SimpleNamespace
import torch
torch.cuda.is_available, torch.cuda.device_count = lambda: True, lambda: 2
torch.cuda.get_device_properties, torch.cuda.set_device = lambda index: SimpleNamespace(uuid=index), print
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
