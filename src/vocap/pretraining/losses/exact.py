"""The full softmax: to train with, as the last part of a training, and as the measure of every loss."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from vocap.errors import UsageError
from vocap.pretraining.losses.interface import Loss, LossOutput
from vocap.pretraining.losses.kernels import block_loss, can_compile, chunks, compiled_softmax_rule, softmax_rule

HELD = 2**28  # bytes of scores that exact_loss holds at once


class FullSoftmax(Loss):
    """L = lse(h W^T + b) - z_t over all V rows. `kernel` and `chunk` as in the settings."""

    def __init__(
        self, vocabulary: int, excluded: Sequence[int], *, kernel: str = "auto", chunk: int = 1024, **options
    ):
        super().__init__(vocabulary, excluded, **options)
        self.kernel = _kernel(kernel, self.words.device.type)
        self.chunk = chunk

    def __call__(self, hidden, weight, bias, targets):
        loss = linear_cross_entropy(hidden, weight, bias, targets, self.kernel, self.chunk)
        return LossOutput(loss, len(targets), float(self.vocabulary))


def _kernel(kernel: str, device: str) -> str:
    if kernel == "auto" and can_compile(device):
        return "compiled"
    if kernel == "auto":
        return "torch" if hasattr(F, "linear_cross_entropy") else "chunked"
    if kernel == "torch" and not hasattr(F, "linear_cross_entropy"):
        raise UsageError(
            f"kernel torch: torch {torch.__version__} has no linear_cross_entropy; take chunked or torch 2.13"
        )
    return kernel


def linear_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, kernel: str = "chunked", chunk: int = 1024
) -> Tensor:
    """The summed cross-entropy of h W^T + b, nats, by one of the kernels of the settings (not auto)."""
    if not len(targets):
        return (hidden.sum() + bias.sum()) * 0.0
    if kernel == "eager":
        return F.cross_entropy(F.linear(hidden, weight, bias).float(), targets, reduction="sum")
    if kernel in ("chunked", "compiled"):
        rule = compiled_softmax_rule() if kernel == "compiled" else softmax_rule
        return block_loss(hidden, weight, bias, chunks(targets, chunk), rule)
    kind = hidden.device.type
    if torch.is_autocast_enabled(kind):  # neither of the two follows autocast by itself
        dtype = torch.get_autocast_dtype(kind)
        hidden, weight, bias = hidden.to(dtype), weight.to(dtype), bias.to(dtype)
    with torch.autocast(kind, enabled=False):
        if kernel == "torch":
            # torch's own choice of a chunk can be a single row at large V
            options = torch.nn.LinearCrossEntropyOptions(batch_chunk_size=chunk, chunking_method=None)
            return F.linear_cross_entropy(
                hidden, weight, targets, linear_bias=bias, reduction="sum", options=options
            ).float()
        return _cut_cross_entropy(hidden, weight, bias, targets)


def _cut_cross_entropy(hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    try:
        from cut_cross_entropy import linear_cross_entropy as cut
    except ImportError:
        raise UsageError(
            "kernel cce: cut_cross_entropy is not installed; take auto, or see docs/pretraining.md"
        ) from None
    return cut(hidden, weight, targets, bias=bias, reduction="sum", impl="cce_kahan_full_c").float()


@dataclass(frozen=True)
class ExactScores:
    """`nats` float32 [N]: -log p(target); `ranks` int64 [N]: 1 = best; words of an equal score, or of a score that
    is no number, rank before the target."""

    nats: Tensor
    ranks: Tensor


@torch.no_grad()
def exact_loss(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, excluded: Sequence[int] = ()
) -> ExactScores:
    """Full-softmax loss and rank of every target, over V without `excluded`, in the dtype of `weight`.

    Parameters
    ----------
    hidden : h [N, d]
    weight, bias : W [V, d] and b [V]
    targets : int64 [N], none of them excluded
    excluded : ids of special tokens; no target is one, and no sampled loss lowers their scores

    Returns
    -------
    ExactScores, nats and ranks [N]; memory stays below `HELD` bytes of scores.
    """
    step = max(1, HELD // (weight.shape[0] * 4))
    hidden, out = hidden.to(weight.dtype), torch.tensor(list(excluded), dtype=torch.int64, device=weight.device)
    nats = torch.empty(len(targets), dtype=weight.dtype, device=weight.device)
    ranks = torch.empty(len(targets), dtype=torch.int64, device=weight.device)
    with torch.autocast(weight.device.type, enabled=False):
        for start in range(0, len(targets), step):
            part = slice(start, start + step)
            scores = torch.addmm(bias, hidden[part], weight.T)
            scores[:, out] = -torch.inf
            own = scores.gather(1, targets[part, None])
            nats[part] = torch.logsumexp(scores, 1) - own[:, 0]
            ranks[part] = (~(scores < own)).sum(1)
    return ExactScores(nats, ranks)


class FullSoftmaxAtEnd(Loss):
    """`first` before step `since` (counted from 0), `last` from it on."""

    def __init__(self, first: Loss, last: Loss, since: int):
        self.first, self.last, self.since = first, last, since
        self.initial_bias = first.initial_bias
        self.current = first

    def start(self, step, weight):
        self.current = self.first if step < self.since else self.last
        return self.current.start(step, weight)

    def __call__(self, hidden, weight, bias, targets):
        return self.current(hidden, weight, bias, targets)

    def state_dict(self):
        return self.first.state_dict()

    def load_state_dict(self, state):
        self.first.load_state_dict(state)
