"""A GPU of its own for each training of this machine: Snakemake starts as many of them as there are cores."""

import fcntl
import logging
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from vocap.pretraining.distributed import choose_device

ASSIGNED = ("LOCAL_RANK", "SLURM_JOB_ID")  # by torchrun, or by the cluster
POLL_S = 1.0

log = logging.getLogger(__name__)


@contextmanager
def own_device() -> Iterator[torch.device]:
    """The CPU where there is no GPU, the GPU that this process was given, or else the first that comes free.

    A lock of this user for each GPU tells which are free of our trainings; other programs are not seen.
    """
    if not torch.cuda.is_available() or any(name in os.environ for name in ASSIGNED):
        yield choose_device()
        return
    names = [torch.cuda.get_device_properties(index).uuid for index in range(torch.cuda.device_count())]
    folder = Path(tempfile.gettempdir())
    with first_free([folder / f"vocap-gpu-{os.getuid()}-{name}.lock" for name in names]) as index:
        torch.cuda.set_device(index)  # where kernels of others start that are told no device
        yield torch.device("cuda", index)


@contextmanager
def first_free(locks: Sequence[Path]) -> Iterator[int]:
    """Hold the first of these lock files that no process holds, or becomes free; its index.

    The system lets go of it with the process, however that ends.
    """
    waited = False
    while True:
        for index, path in enumerate(locks):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                continue
            try:
                yield index
                return
            finally:
                os.close(handle)
        if not waited:
            log.info("waiting for a GPU: other trainings of this machine hold all %d", len(locks))
            waited = True
        time.sleep(POLL_S)
