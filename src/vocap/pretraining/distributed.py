"""Joining the processes that torchrun (or srun with its variables) started, and what they tell each other."""

import datetime
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, distributed, nn

from vocap.errors import UsageError, VocapError
from vocap.pretraining.ranks import ranks
from vocap.pretraining.stopping import Stopped

TIMEOUT = datetime.timedelta(minutes=30)  # longer than the longest work of one rank alone: exporting a model
BUCKET = 1 << 25  # elements of small gradients that travel together
REQUIRED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def choose_device() -> torch.device:
    """The GPU of this process (LOCAL_RANK's), or the CPU where there is none."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    local = int(os.environ.get("LOCAL_RANK", 0))
    if local >= torch.cuda.device_count():
        raise UsageError(
            f"LOCAL_RANK is {local}, but this process sees {torch.cuda.device_count()} GPUs; start as many "
            "processes as a node has GPUs"
        )
    return torch.device("cuda", local)


@contextmanager
def joined(device: torch.device) -> Iterator[None]:
    """Join the other processes where the environment names some; errors of the network become one message.

    Raises UsageError for variables that are missing, VocapError where another process is gone.
    """
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        yield
        return
    if missing := [name for name in REQUIRED if name not in os.environ]:
        raise UsageError(f"WORLD_SIZE is set, {', '.join(missing)} not; start the processes with torchrun")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    together = False  # whether all ranks are at their end
    try:
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=TIMEOUT)
        yield
        together = True
    except Stopped:
        together = True  # they agreed on it
        raise
    except (distributed.DistError, RuntimeError) as error:
        if isinstance(error, torch.OutOfMemoryError) or not _of_network(error):
            raise
        first = str(error).strip().splitlines()[0][:300]
        raise VocapError(
            f"rank {os.environ['RANK']}: another process of this run is gone ({first}); see the other ranks' "
            "messages, then run again: it goes on from the last checkpoint"
        ) from None
    finally:
        # with NCCL leaving waits for the others: after an error until the timeout, and nothing is said meanwhile
        if distributed.is_initialized() and (together or device.type != "cuda"):
            _leave()


def _of_network(error: Exception) -> bool:
    words = ("peer", "connection", "gloo", "nccl", "timed out", "timeout", "socket", "store")
    return isinstance(error, distributed.DistError) or any(word in str(error).lower() for word in words)


def _leave() -> None:
    try:
        distributed.destroy_process_group()
    except (RuntimeError, ValueError):
        return  # the others are gone already


def summed(values: Iterable[float], device: torch.device) -> list[float]:
    """The sums over all ranks, float64."""
    tensor = torch.tensor(list(values), dtype=torch.float64, device=device)
    if ranks() > 1:
        distributed.all_reduce(tensor)
    return tensor.tolist()


@torch.no_grad()
def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace every gradient by its sum over all ranks; a parameter without one counts as zeros.

    Small ones travel in buckets, large ones as they are: no second copy of the table's gradient.
    """
    if ranks() == 1:
        return
    waiting: list[Tensor] = []
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        if parameter.grad.numel() >= BUCKET:
            distributed.all_reduce(parameter.grad)
            continue
        waiting.append(parameter.grad)
        if sum(gradient.numel() for gradient in waiting) >= BUCKET:
            _reduce_together(waiting)
            waiting = []
    _reduce_together(waiting)


def _reduce_together(gradients: list[Tensor]) -> None:
    if not gradients:
        return
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    distributed.all_reduce(flat)
    for gradient, part in zip(gradients, flat.split([gradient.numel() for gradient in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))


@torch.no_grad()
def agree(parameters: Iterable[nn.Parameter]) -> None:
    """Give every rank the parameters of rank 0."""
    if ranks() > 1:
        for parameter in parameters:
            distributed.broadcast(parameter, 0)
