"""The processes of a training (torchrun, or srun with its variables): their group, collective operations, and stop
requests: a signal before the time limit, a checkpoint, a distinct exit status."""

import datetime
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import torch
from torch import Tensor, distributed, nn

from vocap.errors import UsageError, VocapError

TIMEOUT = datetime.timedelta(minutes=30)  # longer than the longest work of one rank alone: exporting a model
LARGE = 1 << 25  # elements of a gradient that is reduced by itself
REQUIRED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# SIGURG: SLURM's `--signal=URG@300`, ignored by other processes; SIGTERM: the end of its time; SIGINT: Ctrl-C
SIGNALS = (signal.SIGURG, signal.SIGTERM, signal.SIGINT)


class Stopped(VocapError):
    """The run stopped on request after a checkpoint; call it again. Exit status: EX_TEMPFAIL."""

    exit_code = 75


class StopRequest:
    """The stop request of this process; `name` of the signal, if any."""

    name = ""

    def __init__(self) -> None:
        self.before = {number: signal.getsignal(number) for number in SIGNALS}

    def __call__(self, number: int, frame: object) -> None:
        self.name = signal.Signals(number).name
        signal.signal(signal.SIGINT, self.before[signal.SIGINT])  # a second Ctrl-C ends it at once


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Record the signals in a `StopRequest` instead of ending on them."""
    request = StopRequest()
    try:
        for number in SIGNALS:
            signal.signal(number, request)
        yield request
    finally:
        for number, handler in request.before.items():
            signal.signal(number, handler)


def rank() -> int:
    """The number of this process in its group; 0 without a group."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def world_size() -> int:
    """The number of processes of the group; 1 without a group."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def gather_ids(ids: Tensor) -> Tensor:
    """The int64 ids [n] of all ranks, one after another; a collective call, n may differ."""
    if world_size() == 1:
        return ids
    counts = [torch.zeros(1, dtype=torch.int64, device=ids.device) for _ in range(world_size())]
    distributed.all_gather(counts, torch.tensor([len(ids)], device=ids.device))
    longest = max(int(count) for count in counts)
    padded = torch.zeros(longest, dtype=torch.int64, device=ids.device)
    padded[: len(ids)] = ids
    parts = [torch.empty_like(padded) for _ in counts]
    distributed.all_gather(parts, padded)
    return torch.cat([part[: int(count)] for part, count in zip(parts, counts, strict=True)])


@contextmanager
def joined(device: torch.device) -> Iterator[None]:
    """Join the process group that the environment names, if any; network errors become one message.

    Raises UsageError for variables that are missing, VocapError where another process is gone.
    """
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        yield
        return
    if missing := [name for name in REQUIRED if name not in os.environ]:
        raise UsageError(f"WORLD_SIZE is set, {', '.join(missing)} not; start the processes with torchrun")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    together = False  # whether all ranks have ended
    try:
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=TIMEOUT)
        yield
        together = True
    except Stopped:
        together = True  # they agreed on it
        raise
    except (distributed.DistError, RuntimeError) as error:
        words = ("peer", "connection", "gloo", "nccl", "timed out", "timeout", "socket", "store")
        network = isinstance(error, distributed.DistError) or any(word in str(error).lower() for word in words)
        if isinstance(error, torch.OutOfMemoryError) or not network:
            raise
        first = str(error).strip().splitlines()[0][:300]
        raise VocapError(
            f"rank {os.environ['RANK']}: another process of this run is gone ({first}); see the other ranks' "
            "messages, then run again: it resumes from the last checkpoint"
        ) from None
    finally:
        # NCCL's destruction waits for the other ranks: after an error silently until the timeout
        if distributed.is_initialized() and (together or device.type != "cuda"):
            with suppress(RuntimeError, ValueError):  # the others are gone already
                distributed.destroy_process_group()


def summed(values: Iterable[float], device: torch.device) -> list[float]:
    """The sums over all ranks, float64."""
    tensor = torch.tensor(list(values), dtype=torch.float64, device=device)
    if world_size() > 1:
        distributed.all_reduce(tensor)
    return tensor.tolist()


@torch.no_grad()
def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace every gradient by its sum over all ranks; a parameter without one counts as zeros.

    Small ones are reduced together, large ones as they are: no second copy of the table's gradient.
    """
    if world_size() == 1:
        return
    small = []
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        if parameter.grad.numel() >= LARGE:
            distributed.all_reduce(parameter.grad)
        else:
            small.append(parameter.grad)
    flat = torch.cat([gradient.reshape(-1) for gradient in small])
    distributed.all_reduce(flat)
    for gradient, part in zip(small, flat.split([gradient.numel() for gradient in small]), strict=True):
        gradient.copy_(part.view_as(gradient))


@torch.no_grad()
def agree(parameters: Iterable[nn.Parameter]) -> None:
    """Give every rank the parameters of rank 0."""
    if world_size() > 1:
        for parameter in parameters:
            distributed.broadcast(parameter, 0)
