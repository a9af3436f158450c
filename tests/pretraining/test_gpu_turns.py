"""Trainings of one machine take turns at its GPUs."""

import subprocess
import sys

import pytest

from vocap.pretraining.gpu_turns import first_free, own_device

HOLD = """
import sys
from pathlib import Path
from vocap.pretraining.gpu_turns import first_free
with first_free([Path(name) for name in sys.argv[1:]]) as index:
    print(index, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def start():
    running = []

    def holder(*locks) -> subprocess.Popen:
        command = [sys.executable, "-c", HOLD, *map(str, locks)]
        running.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return running[-1]

    yield holder
    for process in running:
        process.kill()
        process.communicate()


def test_each_takes_another_and_the_last_waits_for_one_that_ends(tmp_path, start):
    locks = [tmp_path / "a", tmp_path / "b"]
    first = start(*locks)
    assert first.stdout.readline() == "0\n"
    second = start(*locks)
    assert second.stdout.readline() == "1\n"
    third = start(*locks)
    second.kill()  # with its process the lock goes
    assert third.stdout.readline() == "1\n"
    first.kill()
    first.wait()
    with first_free(locks) as index:
        assert index == 0


def test_without_a_gpu_nobody_waits():
    with own_device() as one, own_device() as other:
        assert one == other
