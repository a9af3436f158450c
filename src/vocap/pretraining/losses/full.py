"""The full softmax: to train with, as the last part of a training, and as the measure
of every loss.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from vocap.pretraining.losses.interface import (
    Loss,
    LossOutput,
    block_loss,
    chunks,
    fastest_softmax_loss,
)

# bytes of scores that exact_loss holds at once; on a CPU less than malloc gives back to the
# system, whose fresh pages cost as much as a product (`command.reuse_freed_memory`)
HELD = {"cpu": 2**26, "cuda": 2**28}


class FullSoftmax(Loss):
    """L = lse(h W^T + b) - z_t over all V rows, `chunk` targets at a time."""

    def of_targets(
        self, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor
    ) -> LossOutput:
        loss = linear_cross_entropy(hidden, weight, bias, targets, self.settings.chunk)
        return LossOutput(loss, len(targets), float(self.vocabulary))


def linear_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, chunk: int = 1024
) -> Tensor:
    """The summed cross-entropy of h W^T + b, nats: on a GPU by `block_loss`, on a CPU
    by torch's own function.
    """
    if not len(targets):
        return (hidden.sum() + bias.sum()) * 0.0
    kind = hidden.device.type
    if kind == "cuda":
        return block_loss(hidden, weight, bias, chunks(targets, chunk), fastest_softmax_loss(kind))
    return torch_cross_entropy(hidden, weight, bias, targets, chunk)


def torch_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, chunk: int
) -> Tensor:
    """`torch.nn.functional.linear_cross_entropy` with autocast, which it does not
    follow by itself.
    """
    kind = hidden.device.type
    if torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
        hidden, weight, bias = hidden.to(dtype), weight.to(dtype), bias.to(dtype)
    # torch's own choice of a chunk can be a single row at large V
    options = torch.nn.LinearCrossEntropyOptions(batch_chunk_size=chunk, chunking_method=None)
    with torch.autocast(kind, enabled=False):
        return F.linear_cross_entropy(
            hidden, weight, targets, linear_bias=bias, reduction="sum", options=options
        ).float()


@torch.no_grad()
def exact_loss(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, excluded: Sequence[int] = ()
) -> tuple[Tensor, Tensor]:
    """Full-softmax loss and rank of every target, over V without `excluded`, in the
    dtype of `weight`.

    Parameters
    ----------
    hidden : h [N, d]
    weight, bias : W [V, d] and b [V]
    targets : int64 [N], none of them excluded
    excluded : ids of special tokens; no target is one, and no sampled loss lowers their
        scores

    Returns
    -------
    nats [N], -log p(target), and ranks int64 [N]: 1 = best; words of an equal score, or
    of a score that is no number, rank before the target. Memory stays below `HELD`
    bytes of scores.
    """
    held = HELD.get(weight.device.type, HELD["cpu"])
    step = max(1, held // (weight.shape[0] * 4))
    hidden = hidden.to(weight.dtype)
    out = torch.tensor(list(excluded), dtype=torch.int64, device=weight.device)
    nats = torch.empty(len(targets), dtype=weight.dtype, device=weight.device)
    ranks = torch.empty(len(targets), dtype=torch.int64, device=weight.device)
    # one block for all: on a CPU the first touch of fresh memory costs as much as a product
    block = hidden.new_empty(min(step, len(targets)), weight.shape[0])
    with torch.autocast(weight.device.type, enabled=False):
        for start in range(0, len(targets), step):
            part = slice(start, start + step)
            rows = hidden[part]
            scores = torch.addmm(bias, rows, weight.T, out=block[: len(rows)])
            scores[:, out] = -torch.inf
            own = scores.gather(1, targets[part, None])
            # in int32, which a CPU adds up in a third of the time of int64
            ranks[part] = scores.shape[1] - (scores < own).sum(1, dtype=torch.int32)
            highest = scores.amax(1, keepdim=True)  # what follows is torch.logsumexp, in place
            total = scores.sub_(highest).exp_().sum(1, keepdim=True)
            nats[part] = (total.log_().add_(highest) - own)[:, 0]
    return nats, ranks


class FullSoftmaxAtEnd(Loss):
    """`first` before step `since` (counted from 0), `last` from it on."""

    def __init__(self, first: Loss, last: Loss, since: int):
        self.first, self.last, self.since = first, last, since
        self.initial_bias = first.initial_bias
        self.current = first

    def start(self, step: int, weight: Tensor) -> float:
        self.current = self.first if step < self.since else self.last
        return self.current.start(step, weight)

    def of_targets(
        self, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor
    ) -> LossOutput:
        return self.current(hidden, weight, bias, targets)

    def state_dict(self) -> dict[str, Tensor]:
        return self.first.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.first.load_state_dict(state)
