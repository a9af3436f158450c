"""The processes that train together (torch.distributed), of which there may be one."""

import torch
from torch import Tensor, distributed


def rank() -> int:
    """This process among those that train together."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def ranks() -> int:
    """How many processes train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def gather_ids(ids: Tensor) -> Tensor:
    """The int64 ids [n] of all ranks, one after another; a collective call, n may differ."""
    if ranks() == 1:
        return ids
    counts = [torch.zeros(1, dtype=torch.int64, device=ids.device) for _ in range(ranks())]
    distributed.all_gather(counts, torch.tensor([len(ids)], device=ids.device))
    longest = max(int(count) for count in counts)
    padded = torch.zeros(longest, dtype=torch.int64, device=ids.device)
    padded[: len(ids)] = ids
    parts = [torch.empty_like(padded) for _ in counts]
    distributed.all_gather(parts, padded)
    return torch.cat([part[: int(count)] for part, count in zip(parts, counts, strict=True)])
