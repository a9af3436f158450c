"""Whether a run fits in memory: estimated, said, and held against the machine before anything starts."""

import logging
import os
from pathlib import Path

import torch

from vocap.errors import UsageError
from vocap.pretraining.masking import SHARE
from vocap.pretraining.memory import estimate_memory
from vocap.pretraining.settings import Recipe

log = logging.getLogger(__name__)

OVERHEAD = 500_000_000  # bytes of Python, torch and the batches, measured on a CPU: 460 MB
CGROUPS = ("memory.max", "memory/memory.limit_in_bytes")  # limits of version 2 and 1, under /sys/fs/cgroup


def check_memory(recipe: Recipe, vocabulary: int, device: torch.device, dtype: torch.dtype) -> None:
    """Say what the run will need; raises UsageError where the device, or this process, may not have as much."""
    shape = recipe.shape
    masked = int(SHARE * recipe.micro_batch * shape.positions) + recipe.micro_batch
    half = dtype != torch.float32
    parts = estimate_memory(shape, vocabulary, recipe.loss, sequences=recipe.micro_batch, masked=masked, half=half)
    needed = sum(parts.values()) + OVERHEAD
    there = available_bytes(device)
    detail = ", ".join(f"{name} {size / 1e9:.2f}" for name, size in parts.items())
    log.info("needs about %.1f GB of %.1f GB on %s (%s)", needed / 1e9, there / 1e9, device, detail)
    if needed > there:
        largest = max(parts, key=parts.__getitem__)
        raise UsageError(
            f"this run needs about {needed / 1e9:.1f} GB and {device} has {there / 1e9:.1f} GB free ({detail}); "
            f"most of it is {largest}: make micro_batch, the vocabulary or the shape smaller, or pass "
            "--no-memory-check"
        )


def available_bytes(device: torch.device) -> int:
    """What this process may still take: of the GPU, or of the machine and of its control group."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    limits = [Path("/sys/fs/cgroup", name) for name in CGROUPS]
    found = [path.read_text("ascii").strip() for path in limits if os.access(path, os.R_OK)]
    return min([free, *(int(text) for text in found if text.isdigit())])
