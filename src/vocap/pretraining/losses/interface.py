"""The interface of a loss, a function of h, W, b and the targets that returns a sum in
nats, and its computation.

`block_loss` computes loss and gradients of logits h W^T + b in blocks, so that only one
block of logits is ever held. Gradients are computed in the forward pass, together with
a block's logits: only they are kept for the backward pass, and no product is computed
twice. One autograd function serves every loss: a block is some rows of h against all
rows of W or some of them, and a function turns its logits into a loss and a gradient.

The kinds of losses, with their settings, are registered in `pretraining/loss_kinds.py`.
"""

import functools
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from vocap.errors import log
from vocap.training.distributed import add_product, multiply, rank
from vocap.training.randomness import NEGATIVES, generator

IGNORED = -100  # the target of a position that does not count, as in torch


@dataclass(frozen=True)
class LossOutput:
    """`loss`: the sum over the targets, nats, 0-dim float32 with a gradient; divide it
    by the tokens of the batch.

    `count` = N targets that count; `candidates` = |V'|, rows of W in it (their mean over groups);
    `refresh_s`: seconds that the call spent on an index, if rows are refreshed at their
    first use.
    """

    loss: Tensor
    count: int
    candidates: float
    refresh_s: float = 0.0


class Loss(ABC):
    """A loss for the output layer by its `settings`; other parameters as in `build_loss`, C =
    V without `excluded`.

    Losses that draw words do so as a pure function of (seed, step, rank, call within
    the step).
    """

    initial_bias = 0.0  # initial value of the output bias

    def __init__(
        self,
        settings: Any,
        vocabulary: int,
        excluded: Sequence[int],
        *,
        counts: np.ndarray | None = None,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ):
        allowed = np.ones(vocabulary, bool)
        allowed[list(excluded)] = False
        self.settings, self.vocabulary, self.counts = settings, vocabulary, counts
        self.words = torch.from_numpy(np.flatnonzero(allowed)).to(device)  # C, ascending, int64
        self.seed = seed
        self.step = 0
        self.calls = 0

    def start(self, step: int, weight: Tensor) -> float:
        """Begin an optimizer step, on every rank, before its first call; returns
        seconds spent on an index.
        """
        self.step, self.calls = step, 0
        return 0.0

    @abstractmethod
    def of_targets(
        self, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor
    ) -> LossOutput:
        """The loss of h [N, d] against W [V, d], b [V]; `targets` int64 [N], none of
        them excluded or `IGNORED`.
        """

    def __call__(self, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> LossOutput:
        """The loss of the rows of h whose target is not `IGNORED`."""
        kept = targets != IGNORED
        if not kept.all():
            hidden, targets = hidden[kept], targets[kept]
        return self.of_targets(hidden, weight, bias, targets)

    def state_dict(self) -> dict[str, Tensor]:
        """The tensors of a checkpoint; equal on every rank."""
        return {}

    # most losses keep nothing
    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:  # noqa: B027
        """Restore the tensors of `state_dict`."""

    def uniforms(self, count: int) -> Tensor:
        """`count` numbers in [0, 1), float64, those of this seed, step, rank and call,
        on any device.
        """
        random = generator(self.seed, NEGATIVES, self.step, rank(), self.calls)
        self.calls += 1
        return torch.from_numpy(random.random(count)).to(self.words.device)


@dataclass(frozen=True)
class Block:
    """Rows `start:stop` of h, with `targets` [stop - start], indices among the block's
    rows of W.

    `columns` [U'] are those rows, distinct; None: all rows of W.
    """

    start: int
    stop: int
    targets: Tensor
    columns: Tensor | None = None


# summed loss, gradients of the logits and of the bias
LossAndGradients = tuple[Tensor, Tensor, Tensor]
# of logits [c, U] without bias, bias [U], targets [c]; it may write over the logits
LogitLoss = Callable[[Tensor, Tensor, Tensor], LossAndGradients]


def equal_spans(count: int, most: int) -> list[tuple[int, int]]:
    """Bounds of parts of `count` rows, as equal as can be, of at most `most`; at least one
    part.
    """
    parts = max(1, -(-count // most))
    return list(itertools.pairwise(count * part // parts for part in range(parts + 1)))


def chunks(targets: Tensor, chunk: int) -> list[Block]:
    """Blocks of at most `chunk` rows, as equal as can be, over all rows of W."""
    return [Block(a, b, targets[a:b]) for a, b in equal_spans(len(targets), chunk)]


def softmax_loss(
    logits: Tensor, bias: Tensor, targets: Tensor, offsets: Tensor | None = None
) -> LossAndGradients:
    """L = lse(z) - z_t and softmax - onehot, in the precision of `bias`.

    `offsets` [U] are added to every score but the target's own (logQ: -log of the
    probability of a draw; -inf: not drawn).
    """
    scores = _add(logits, bias)
    own = scores.gather(1, targets[:, None])
    if offsets is not None:
        scores = scores.add_(offsets).scatter_(1, targets[:, None], own)
    highest = scores.amax(1, keepdim=True)
    gradient = scores.sub_(highest).exp_()  # in place, and one exp for the sum and the gradient
    total = gradient.sum(1, keepdim=True)
    loss = (total.log() + highest - own).sum()
    gradient.mul_(1 / total).scatter_add_(1, targets[:, None], torch.full_like(own, -1))
    return loss, gradient.to(logits.dtype), gradient.sum(0)


def logistic_loss(
    logits: Tensor, bias: Tensor, targets: Tensor, offsets: Tensor, counts: Tensor, hits: bool
) -> LossAndGradients:
    """L = -log sig(s_t) - sum_j counts_j log sig(-s_j), s = z + `offsets` [U]: NCE and NEG.

    `counts` [U]: draws of each word; `hits`: whether a draw counts as noise for its own
    target.
    """
    scores = _add(logits, bias + offsets)
    own = scores.gather(1, targets[:, None])
    drawn = counts[targets][:, None] if hits else torch.zeros_like(own)
    noise = F.softplus(scores)
    extra = F.softplus(-own) + (drawn - counts[targets][:, None]) * noise.gather(
        1, targets[:, None]
    )
    loss = (noise @ counts).sum() + extra.sum()
    gradient = scores.sigmoid_().mul_(counts)
    chance = torch.sigmoid(own)
    gradient.scatter_(1, targets[:, None], chance - 1 + drawn * chance)
    return loss, gradient.to(logits.dtype), gradient.sum(0)


def compiled_softmax_loss() -> LogitLoss:
    """`softmax_loss` as one pass for the sums and one for the gradient, by
    torch.compile.
    """

    def logit_loss(logits: Tensor, bias: Tensor, targets: Tensor) -> LossAndGradients:
        scores = logits.to(bias.dtype) + bias
        normaliser = torch.logsumexp(scores, 1, keepdim=True)
        loss = (normaliser - scores.gather(1, targets[:, None])).sum()
        hot = torch.arange(scores.shape[1], device=scores.device) == targets[:, None]
        gradient = torch.exp(scores - normaliser) - hot.to(scores.dtype)
        return loss, gradient.to(logits.dtype), gradient.sum(0)

    return torch.compile(logit_loss, dynamic=True)


@functools.cache
def fastest_softmax_loss(device: str) -> LogitLoss:
    """The compiled loss on a GPU whose torch can compile, found by a trial; else, with
    a warning, the plain one.

    Triton needs a C compiler and Python's headers, which slim containers lack.
    """
    if device != "cuda":
        return softmax_loss
    try:
        compiled = compiled_softmax_loss()
        hidden, weight, bias = (torch.ones(size, device=device) for size in ((6, 16), (8, 16), 8))
        bias.requires_grad_()  # with a gradient and two chunks, so that it is not compiled again
        block_loss(hidden, weight, bias, chunks(torch.arange(6, device=device), 3), compiled)
    except Exception as error:  # a compiler raises exceptions of any class
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        log.warning(
            "torch cannot compile here (%s); the softmax runs uncompiled, which is slower", reason
        )
        return softmax_loss
    return compiled


def block_loss(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor,
    blocks: Sequence[Block],
    logit_loss: LogitLoss,
    copied: bool = False,
) -> Tensor:
    """The sum of the blocks' losses, float32 (float64 for float64 input), differentiable once.

    `hidden` [N, d], `weight` [U, d], `bias` [U]. Products run in autocast's dtype where
    it is on, else in that of `hidden`; scores, sums over blocks and the gradient of
    `weight` are float32 (float64). Rows of `hidden` outside every block give no loss
    and no gradient. `copied`: `weight` is a copy made for this call; its memory may
    take the gradient (on a CPU the first touch of fresh memory costs more than the copy
    itself).
    """
    kind = hidden.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
    with torch.autocast(kind, enabled=False):
        return _BlockLoss.apply(hidden, weight, bias, blocks, logit_loss, dtype, copied)


class _BlockLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor,
        blocks: Sequence[Block],
        logit_loss: LogitLoss,
        dtype: torch.dtype,
        copied: bool,
    ) -> Tensor:
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        h, w, b = hidden.to(dtype), weight.to(dtype), bias.to(wide)
        loss = torch.zeros((), dtype=wide, device=hidden.device)
        grad_hidden, grad_weight, grad_bias = torch.zeros_like(h), None, torch.zeros_like(b)
        # the last product but one is the last to read W
        reuse = copied and len(blocks) == 1 and w.dtype == wide
        for block in blocks:
            if block.start == block.stop:
                continue
            # the loss of the block, and the gradient of its logits
            rows = h[block.start : block.stop]
            columns = block.columns
            table = w if columns is None else w.index_select(0, columns)
            biases = b if columns is None else b.index_select(0, columns)
            part, gradient, sums = logit_loss(rows @ table.T, biases, block.targets)
            loss += part
            # from it those of h, W and b
            torch.mm(gradient, table, out=grad_hidden[block.start : block.stop])
            if columns is not None:
                grad_weight = (
                    torch.zeros_like(w, dtype=wide) if grad_weight is None else grad_weight
                )
                grad_weight.index_add_(0, columns, multiply(gradient.T, rows, wide))
                grad_bias.index_add_(0, columns, sums)
                continue
            grad_bias += sums
            if reuse:
                grad_weight = torch.mm(gradient.T, rows, out=w)
            else:
                grad_weight = add_product(gradient.T, rows, grad_weight, wide)
        if grad_weight is None:
            grad_weight = torch.zeros_like(w, dtype=wide)
        ctx.gradients = [
            gradient.to(given.dtype)
            for gradient, given in ((grad_hidden, hidden), (grad_weight, weight), (grad_bias, bias))
        ]
        return loss

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        if (
            torch._C._autograd._get_current_graph_task_keep_graph()
        ):  # another backward pass may follow
            return *(gradient * scale for gradient in ctx.gradients), None, None, None, None
        gradients, ctx.gradients = ctx.gradients, None
        return *(gradient.mul_(scale) for gradient in gradients), None, None, None, None


def _add(logits: Tensor, bias: Tensor) -> Tensor:
    """logits + bias in the dtype of `bias`, in the memory of the logits where that
    fits.
    """
    return logits.add_(bias) if logits.dtype == bias.dtype else logits.to(bias.dtype).add_(bias)
