"""The device of a process: choice among GPUs, supported kernels, 16-bit types and products in them."""

import fcntl
import functools
import logging
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from vocap.errors import UsageError, VocapError

PRECISIONS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
ASSIGNED = ("LOCAL_RANK", "SLURM_JOB_ID")  # by torchrun, or by the cluster
POLL_S = 1.0

log = logging.getLogger(__name__)


def half_type(device: torch.device) -> torch.dtype | None:
    """The fast 16-bit type of a GPU: bfloat16, or float16 (Volta, Turing); None without one."""
    if device.type != "cuda":
        return None
    if torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.bfloat16
    return torch.float16 if torch.cuda.get_device_capability(device) >= (7, 0) else None


def working_precision(wanted: str, device: torch.device) -> torch.dtype:
    """The type of the layers' products. Raises VocapError for bf16 on a GPU without it."""
    able = half_type(device)
    if wanted == "bf16" and device.type == "cuda" and able != torch.bfloat16:
        raise VocapError(
            "precision bf16: this GPU has none; write fp16, fp32, or auto, which takes the best it has"
        )
    return (able or torch.float32) if wanted == "auto" else PRECISIONS[wanted]


def multiply(a: Tensor, b: Tensor, wide: torch.dtype) -> Tensor:
    """a [n, d] @ b [d, m] in the dtype `wide`; a CPU rounds sums to that of the factors before."""
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
    """Whether this torch adds products of `dtype` on a GPU to a sum in float32, found by a trial."""
    one, total = torch.ones(16, 16, dtype=dtype, device="cuda"), torch.ones(16, 16, device="cuda")
    try:
        torch.addmm(total, one, one, out_dtype=torch.float32, out=total)
    except (RuntimeError, TypeError):
        return False
    return bool((total == 17).all())


@contextmanager
def own_device() -> Iterator[torch.device]:
    """The CPU without a GPU, the GPU assigned to this process (LOCAL_RANK's), or else the first free GPU.

    One lock file per user and GPU marks the GPUs in use by vocap; other programs are not seen.
    """
    count = torch.cuda.device_count()
    if not torch.cuda.is_available():
        yield torch.device("cpu")
    elif any(name in os.environ for name in ASSIGNED):
        local = int(os.environ.get("LOCAL_RANK", 0))
        if local >= count:
            raise UsageError(
                f"LOCAL_RANK is {local}, but this process sees {count} GPUs; start as many processes as a node has"
            )
        yield torch.device("cuda", local)
    else:
        names = [torch.cuda.get_device_properties(index).uuid for index in range(count)]
        folder = Path(tempfile.gettempdir())
        with first_free([folder / f"vocap-gpu-{os.getuid()}-{name}.lock" for name in names]) as index:
            torch.cuda.set_device(index)  # libraries that take no device start their kernels there
            yield torch.device("cuda", index)


@contextmanager
def first_free(locks: Sequence[Path]) -> Iterator[int]:
    """Hold the first of these lock files that is free, waiting for one; its index.

    The system releases it with the process.
    """
    waited = False
    while True:
        for index, path in enumerate(locks):
            with open(path, "a") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield index
                return
        if not waited:
            log.info("waiting for a GPU: other trainings of this machine hold all %d", len(locks))
            waited = True
        time.sleep(POLL_S)
