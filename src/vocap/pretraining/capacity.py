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
# controller: its folder under /sys/fs/cgroup and the file of a limit, of version 2 (which names none) and 1
CGROUPS = {"": ("", "memory.max"), "memory": ("memory", "memory.limit_in_bytes")}


def check_memory(recipe: Recipe, vocabulary: int, length: int, device: torch.device, dtype: torch.dtype) -> None:
    """Say what the run will need; raises UsageError where the device, or this process, may not have as much.

    `length`: tokens of the longest block.
    """
    batch = {"sequences": recipe.micro_batch, "length": length}
    batch["masked"] = int(SHARE * recipe.micro_batch * length) + recipe.micro_batch
    parts = estimate_memory(recipe.shape, vocabulary, recipe.loss, **batch, half=dtype != torch.float32)
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
    """What this process may still take: of the GPU, or its share of the machine and of its control group."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    own = Path("/proc/self/cgroup")
    limits = group_limits(own.read_text("utf-8") if own.exists() else "", Path("/sys/fs/cgroup"))
    return min([free, *limits]) // int(os.environ.get("LOCAL_WORLD_SIZE", 1))  # torchrun's processes of this node


def group_limits(groups: str, mount: Path) -> list[int]:
    """Memory limits, in bytes, of the process with these `groups`, the lines of its /proc/self/cgroup.

    A group stands below others, up to `mount`, whose limits hold for it too. What a container does not show is
    passed over; its own group it shows as the root.
    """
    places = dict.fromkeys(CGROUPS, "/")
    for line in groups.splitlines():
        _, controllers, place = line.split(":", 2)
        places |= {name: place for name in controllers.split(",") if name in CGROUPS}
    limits = []
    for controller, (folder, file) in CGROUPS.items():
        parts = [part for part in places[controller].split("/") if part not in ("", "..")]
        for depth in range(len(parts) + 1):
            path = mount.joinpath(folder, *parts[:depth], file)
            if os.access(path, os.R_OK) and (text := path.read_text("ascii").strip()).isdigit():
                limits.append(int(text))  # "max": none
    return limits
