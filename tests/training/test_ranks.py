"""Several processes (gloo): gradients and losses equal those of one process; the end of
one process.
"""

import os
import signal
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.cases import read_cases
from tests.pretraining.factories import RECIPE, pretrain_arguments
from tests.pretraining.processes import (
    finish,
    free_port,
    pretrain,
    results,
    start,
    start_gradients,
    wait_for_step,
)
from vocap.training import distributed
from vocap.training.distributed import Stopped


@pytest.fixture(scope="module")
def arguments(tmp_path_factory) -> list[str]:
    return pretrain_arguments(tmp_path_factory.mktemp("made"))


def variables(rank: int, port: int) -> dict[str, str]:
    """The environment variables of torchrun."""
    return {
        "RANK": str(rank),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def start_ranks(arguments: list[str], out: Path) -> list:
    port = free_port()
    logs = [out.with_name(f"rank-{rank}.log") for rank in range(2)]
    return [start(arguments, out, log, **variables(rank, port)) for rank, log in enumerate(logs)]


@pytest.mark.parametrize(("loss", "objective"), read_cases(__file__))
def test_two_processes_have_the_gradients_of_one(arguments, tmp_path, loss, objective):
    """Four micro-batches accumulated by one process, or two by each of two: equal up to
    rounding.

    Dropout is on: its masks belong to the micro-batch. Negatives are drawn by each
    rank, so those of a uniform loss differ: of it only both ranks' gradients are
    compared.
    """
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    made = {"tokens": options["--tokens"], "tokenizer": options["--tokenizer"]}
    made["recipe"] = {**RECIPE, "loss": loss, "batch": 8, "micro_batch": 2}
    made["recipe"]["objective"] = objective
    port = free_port()
    processes = [start_gradients(made, tmp_path / "alone")]
    processes += [
        start_gradients(made, tmp_path / f"rank-{rank}", **variables(rank, port))
        for rank in range(2)
    ]
    assert [finish(process) for process in processes] == [0, 0, 0]
    alone, *ranks = (load_file(tmp_path / name) for name in ("alone", "rank-0", "rank-1"))
    for name, gradient in alone.items():
        assert (ranks[0][name] == ranks[1][name]).all(), name
        if not isinstance(loss, dict) or loss["kind"] != "uniform":
            largest = float(gradient.abs().max())
            assert float((ranks[0][name] - gradient).abs().max()) <= 1e-5 * max(largest, 1e-3), name


def test_two_processes_train_what_one_does(arguments, tmp_path):
    """Exact losses within 1e-4 nats after twelve steps."""
    alone, out = tmp_path / "alone", tmp_path / "run"
    assert pretrain(arguments, alone)[0] == 0
    ranks = start_ranks(arguments, out)
    assert [finish(process) for process in ranks] == [0, 0], (tmp_path / "rank-1.log").read_text(
        "utf-8"
    )
    for one, other in zip(results(out)[1], results(alone)[1], strict=True):
        assert one["tokens"] == other["tokens"]
        assert one["exact_loss"] == pytest.approx(other["exact_loss"], abs=1e-4)


def test_a_batch_that_cannot_be_shared_evenly_is_refused(arguments, tmp_path):
    uneven = [word.replace('"micro_batch": 4', '"micro_batch": 8') for word in arguments]
    ranks = start_ranks(uneven, tmp_path / "run")
    assert [finish(process) for process in ranks] == [2, 2]
    assert "1 micro-batches of 8, which 2 processes cannot share" in (
        tmp_path / "rank-0.log"
    ).read_text("utf-8")


def longer(arguments: list[str]) -> list[str]:
    """So many steps that the run is not at its end before a test has acted on a step
    that it saw.
    """
    return [word.replace('"steps": 12', '"steps": 150') for word in arguments]


@pytest.mark.parametrize("dying", [0, 1])
def test_a_rank_that_dies_ends_the_run(arguments, tmp_path, dying):
    out = tmp_path / "run"
    ranks = start_ranks(longer(arguments), out)
    wait_for_step(ranks[0], out, 1)
    os.kill(ranks[dying].pid, signal.SIGKILL)
    assert finish(ranks[1 - dying]) == 1
    said = (tmp_path / f"rank-{1 - dying}.log").read_text("utf-8")
    assert "another process of this run is gone" in said and "Traceback" not in said


@pytest.mark.parametrize(
    ("device", "error", "left"),
    [
        ("cuda", None, True),
        ("cuda", Stopped("all of them"), True),
        ("cuda", OSError("the disk is full"), False),
        ("cuda", torch.OutOfMemoryError("CUDA out of memory"), False),
    ],
)
def test_a_rank_that_fails_says_so_before_it_waits_for_the_others(monkeypatch, device, error, left):
    """With NCCL, which is not started here, leaving the group waits for all ranks."""
    calls = []
    for name, value in variables(0, 1).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    for name in ("init_process_group", "destroy_process_group"):
        monkeypatch.setattr(
            distributed.distributed, name, lambda *_, name=name, **__: calls.append(name)
        )

    def run():
        with distributed.process_group(torch.device(device)):
            if error:
                raise error

    if error:
        with pytest.raises(type(error), match=str(error)):
            run()
    else:
        run()
    assert calls == ["init_process_group", "destroy_process_group"][: 1 + left]


def test_a_stop_request_to_one_rank_stops_all(arguments, tmp_path):
    out = tmp_path / "run"
    ranks = start_ranks(longer(arguments), out)
    wait_for_step(ranks[0], out, 1)
    os.kill(ranks[1].pid, signal.SIGURG)
    assert [finish(process) for process in ranks] == [75, 75]
