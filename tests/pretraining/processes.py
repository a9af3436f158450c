"""Real processes that train, started from one that has torch imported: a start costs no
import.
"""

import itertools
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.cases import read_lines_of_json

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["vocap.pretraining.training", "vocap.finetuning.run", "tests.pretraining.processes"]
)
MEASURED = ("tokens_per_s", "refresh_s", "memory_mb", "seconds")  # what differs from run to run


def _main(verb: str, arguments: list[str], output: str, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 2)
    from vocap.command import main

    sys.argv = ["vocap", verb, *arguments]
    main()


def start(
    arguments: list[str],
    out: Path,
    log: Path | None = None,
    verb: str = "pretrain",
    **environment: str,
) -> ForkServerProcess:
    """`vocap VERB ARGUMENTS -o OUT`, its standard error appended to `log` (OUT.log)."""
    log = log or out.with_name(f"{out.name}.log")
    process = CONTEXT.Process(
        target=_main, args=(verb, [*arguments, "-o", str(out)], str(log), environment)
    )
    process.start()
    return process


def finish(process: ForkServerProcess, timeout: float = 300) -> int:
    """The exit status; -9 of a killed one."""
    process.join(timeout)
    if process.is_alive():
        process.kill()
        process.join()
        raise AssertionError(f"still running after {timeout} s")
    return process.exitcode


def pretrain(
    arguments: list[str], out: Path, verb: str = "pretrain", **environment: str
) -> tuple[int, str]:
    """Run to the end: exit status and standard error."""
    log = out.with_name(f"{out.name}.log")
    log.unlink(missing_ok=True)
    status = finish(start(arguments, out, log, verb, **environment))
    return status, log.read_text("utf-8")


def trained(arguments: list[str], out: Path, **options: str) -> str:
    """Run to the end, which must be a good one: standard error."""
    status, said = pretrain(arguments, out, **options)
    assert status == 0, said
    return said


def unmeasured(out: Path) -> list[dict]:
    """The lines of metrics without times and memory."""
    rows = read_lines_of_json(out / "metrics.jsonl")
    return [{key: value for key, value in row.items() if key not in MEASURED} for row in rows]


def results(out: Path) -> tuple[bytes, list[dict]]:
    """The weights and the metrics."""
    return (out / "model" / "model.safetensors").read_bytes(), unmeasured(out)


def newest(out: Path) -> int:
    """The step of the last checkpoint; 0 where there is none."""
    names = (path.name for path in (out / "checkpoints").glob("step-*")) if out.exists() else ()
    return max((int(name.removeprefix("step-")) for name in names), default=0)


def wait_for_step(process: ForkServerProcess, out: Path, step: int, seconds: float = 300) -> None:
    """Until a checkpoint of this step or a later one is there; fails if the process
    ends before that.
    """
    end = time.monotonic() + seconds
    while newest(out) < step:
        assert process.is_alive(), f"ended with status {process.exitcode} before step {step}"
        assert time.monotonic() < end, f"no step {step} within {seconds} s"
        time.sleep(0.01)


def stopped(
    arguments: list[str], out: Path, step: int = 2, number: int = signal.SIGTERM, **options: str
) -> str:
    """End a run by a signal after a checkpoint of this step: standard error."""
    process = start(arguments, out, **options)
    wait_for_step(process, out, step)
    os.kill(process.pid, number)
    assert finish(process) == 75
    return out.with_name(f"{out.name}.log").read_text("utf-8")


def killed_at_random(
    arguments: list[str],
    folder: Path,
    moments: Callable[[int], float],
    least: int,
    verb: str = "pretrain",
    last: str = "metrics.jsonl",
) -> Iterator[Path]:
    """Runs that are killed and resumed until each has written `last`: their folders, until
    `least` kills are done.

    `moments`: of the number of the run, the seconds after which a process is killed.
    """
    kills = 0
    for number in itertools.count(1):
        out = folder / f"run-{number}"
        while not (out / last).exists():
            process = start(arguments, out, verb=verb)
            process.join(moments(number) if kills < least else 300)
            if process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
            status, log = finish(process), out.with_name(f"{out.name}.log")
            assert status in (0, -signal.SIGKILL), log.read_text("utf-8")
        yield out
        if kills >= least:
            return


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _gradients(arguments: dict, output: str, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    import torch
    from safetensors.torch import save_file
    from torch import distributed

    from vocap.pretraining.data import load_data
    from vocap.pretraining.settings import Recipe
    from vocap.pretraining.training import Training
    from vocap.training.distributed import process_group

    torch.set_num_threads(1)
    device = torch.device(arguments.get("device", "cpu"))
    # instead of NCCL, which may refuse two ranks on one GPU
    if backend := arguments.get("backend"):
        begin = distributed.init_process_group
        distributed.init_process_group = lambda _, **options: begin(backend, **options)
    data = load_data(
        Path(arguments["tokens"]), ["de", "ja", "ru"], Path(arguments["tokenizer"]), 0.7, "lines"
    )
    recipe = Recipe.model_validate(arguments["recipe"])
    with process_group(device):
        training = Training(recipe, 1, data, Path(output).parent, device)
        batches = training.batches.step(3)
        whole = [
            training.batches.micro(3, number)
            for number in range(recipe.batch // recipe.micro_batch)
        ]
        training.gradients(batches, 3, sum(len(batch.targets) for batch in whole))
        save_file({name: weight.grad for name, weight in training.model.named_parameters()}, output)


def start_gradients(arguments: dict, output: Path, **environment: str) -> ForkServerProcess:
    """Compute the gradient of step 3 of an untrained model, as each rank has it in the
    end, into `output`.

    `arguments`: `tokens`, `tokenizer`, `recipe`, and `device` and `backend` other than
    the CPU's.
    """
    process = CONTEXT.Process(target=_gradients, args=(arguments, str(output), environment))
    process.start()
    return process
