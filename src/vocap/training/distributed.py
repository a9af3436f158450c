"""The processes of a training (torchrun, or srun with its variables): the device of
each, its 16-bit types and products in them, the group with its collective operations,
and stop requests.

A stop request is a signal before the time limit: a checkpoint follows, and a distinct
exit status.
"""

import datetime
import fcntl
import functools
import itertools
import os
import re
import signal
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import torch
from torch import Tensor, distributed, nn

from vocap.errors import UsageError, VocapError, log

PRECISIONS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
ASSIGNED = ("LOCAL_RANK", "SLURM_JOB_ID")  # by torchrun, or by the cluster
# longer than the longest work of one rank alone: exporting a model
TIMEOUT = datetime.timedelta(minutes=30)
LARGE = 1 << 25  # elements of a gradient that is reduced by itself
# in errors of a process that lost another one
NETWORK = re.compile("(?i)^dist|peer|connection|gloo|nccl|timed out|timeout|socket|store")
REQUIRED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# SIGURG: SLURM's `--signal=URG@300`, ignored by other processes; SIGTERM: the end of
# its time; SIGINT: Ctrl-C
SIGNALS = (signal.SIGURG, signal.SIGTERM, signal.SIGINT)


def half_type(device: torch.device) -> torch.dtype | None:
    """The fast 16-bit type of a GPU: bfloat16, or float16 (Volta, Turing); None without
    one.
    """
    if device.type != "cuda":
        return None
    if torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.bfloat16
    return torch.float16 if torch.cuda.get_device_capability(device) >= (7, 0) else None


def working_precision(wanted: str, device: torch.device) -> torch.dtype:
    """The type of the layers' products. Raises VocapError for bf16 on a GPU without
    it.
    """
    able = half_type(device)
    if wanted == "bf16" and device.type == "cuda" and able != torch.bfloat16:
        raise VocapError(
            "precision bf16: this GPU has none; write fp16, fp32, or auto, which takes the best"
        )
    return (able or torch.float32) if wanted == "auto" else PRECISIONS[wanted]


def products_in(dtype: torch.dtype, device: torch.device) -> torch.autocast:
    """A context in which the layers' products run in `dtype`."""
    return torch.autocast(device.type, dtype, enabled=dtype != torch.float32)


def multiply(a: Tensor, b: Tensor, wide: torch.dtype) -> Tensor:
    """a [n, d] @ b [d, m] in the dtype `wide`; a CPU rounds sums to that of the factors
    before.
    """
    return torch.mm(a, b, out_dtype=wide) if a.is_cuda and a.dtype != wide else (a @ b).to(wide)


def add_product(a: Tensor, b: Tensor, total: Tensor | None, wide: torch.dtype) -> Tensor:
    """total + a @ b in the dtype `wide`, in the memory of `total`; None counts as 0."""
    if total is None:
        return multiply(a, b, wide)
    if a.dtype == wide:
        return total.addmm_(a, b)
    if a.is_cuda and sums_wide(a.dtype):
        return torch.addmm(total, a, b, out_dtype=wide, out=total)
    return total.add_(multiply(a, b, wide))


@functools.cache
def sums_wide(dtype: torch.dtype) -> bool:
    """Whether this torch adds products of `dtype` on a GPU to a sum in float32, found
    by a trial.
    """
    one = torch.ones(16, 16, dtype=dtype, device="cuda")
    total = torch.ones(16, 16, device="cuda")
    try:
        torch.addmm(total, one, one, out_dtype=torch.float32, out=total)
    except (RuntimeError, TypeError):
        return False
    return bool((total == 17).all())


@contextmanager
def own_device() -> Iterator[torch.device]:
    """The CPU without a GPU, the GPU assigned to this process (LOCAL_RANK's), or else
    the first free GPU.

    One lock file per user and GPU marks the GPUs in use by vocap, until its process
    ends; other programs are not seen. Waits where all are in use.
    """
    count = torch.cuda.device_count()
    local = int(os.environ.get("LOCAL_RANK", 0))
    if not count:
        yield torch.device("cpu")
        return
    if any(name in os.environ for name in ASSIGNED):
        if local >= count:
            raise UsageError(
                f"LOCAL_RANK is {local}, but this process sees {count} GPUs; start as many "
                "processes as a node has"
            )
        yield torch.device("cuda", local)
        return
    for attempt in itertools.count():
        index = attempt % count
        if attempt == count:
            log.info("waiting for a GPU: other trainings of this machine hold all %d", count)
        name = f"vocap-gpu-{os.getuid()}-{torch.cuda.get_device_properties(index).uuid}.lock"
        with open(os.path.join(tempfile.gettempdir(), name), "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(1 / count)
                continue
            torch.cuda.set_device(index)  # libraries that take no device start their kernels there
            yield torch.device("cuda", index)
            return


class Stopped(VocapError):
    """The run stopped on request after a checkpoint; call it again. Exit status:
    EX_TEMPFAIL.
    """

    exit_code = 75


class StopRequest:
    """Records a stop signal within `with`, instead of ending on it; `name` of the
    signal, if any. Outside the main thread, which alone gets signals, it does nothing.
    """

    name = ""

    def __enter__(self) -> "StopRequest":
        main = threading.current_thread() is threading.main_thread()
        self.before = {number: signal.signal(number, self) for number in SIGNALS if main}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def __call__(self, number: int, frame: object) -> None:
        self.name = signal.Signals(number).name
        signal.signal(signal.SIGINT, self.before[signal.SIGINT])  # a second Ctrl-C ends it at once


def rank() -> int:
    """The number of this process in its group; 0 without a group."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def world_size() -> int:
    """The number of processes of the group; 1 without a group."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def gather_rows(rows: Tensor) -> Tensor:
    """The rows [n, ...] of all ranks, one after another; a collective call, n may
    differ.
    """
    if world_size() == 1:
        return rows
    counts = [torch.zeros(1, dtype=torch.int64, device=rows.device) for _ in range(world_size())]
    distributed.all_gather(counts, torch.tensor([len(rows)], device=rows.device))
    padded = rows.new_zeros(max(int(count) for count in counts), *rows.shape[1:])
    padded[: len(rows)] = rows
    parts = [torch.empty_like(padded) for _ in counts]
    distributed.all_gather(parts, padded)
    return torch.cat([part[: int(count)] for part, count in zip(parts, counts, strict=True)])


@contextmanager
def process_group(device: torch.device) -> Iterator[None]:
    """Join the process group that the environment names, if any; network errors become
    one message.

    Raises UsageError for variables that are missing, VocapError where another process
    is gone.
    """
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        yield
        return
    if missing := [name for name in REQUIRED if name not in os.environ]:
        raise UsageError(
            f"WORLD_SIZE is set, {', '.join(missing)} not; start the processes with torchrun"
        )
    if device.type == "cuda":
        torch.cuda.set_device(device)
    stopped = None
    try:
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=TIMEOUT)
        try:
            yield
        except Stopped as request:  # all ranks agreed on it
            stopped = request
        # not after an error: NCCL would wait for the other ranks, silently until the timeout
        with suppress(RuntimeError, ValueError):  # the others are gone already
            distributed.destroy_process_group()
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError) or not NETWORK.search(repr(error)):
            raise
        first = str(error).strip().splitlines()[0][:300]
        raise VocapError(
            f"rank {os.environ['RANK']}: another process of this run is gone ({first}); see the "
            "other ranks' messages, then run again: it resumes from the last checkpoint"
        ) from None
    if stopped:
        raise stopped


def summed(values: Iterable[float], device: torch.device) -> list[float]:
    """The sums over all ranks, float64."""
    tensor = torch.tensor(list(values), dtype=torch.float64, device=device)
    if world_size() > 1:
        distributed.all_reduce(tensor)
    return tensor.tolist()


@torch.no_grad()
def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace every gradient by its sum over all ranks; a parameter without one counts
    as zeros.

    Small ones are reduced together, large ones as they are: no second copy of the
    table's gradient.
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
    for gradient, part in zip(
        small, flat.split([gradient.numel() for gradient in small]), strict=True
    ):
        gradient.copy_(part.view_as(gradient))


@torch.no_grad()
def agree(parameters: Iterable[nn.Parameter]) -> None:
    """Give every rank the parameters of rank 0."""
    if world_size() > 1:
        for parameter in parameters:
            distributed.broadcast(parameter, 0)
