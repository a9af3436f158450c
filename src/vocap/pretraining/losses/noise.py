"""Losses with shared negatives from the words' frequencies: the kinds `sampled` (softmax), `nce` and `neg`."""

import math
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from vocap.pretraining.loss_kinds import LOGITS
from vocap.pretraining.losses.interface import Loss, LossOutput
from vocap.pretraining.losses.kernels import Block, LogitLoss, block_loss, logistic_loss, softmax_loss


class NoiseLoss(Loss):
    """S draws with replacement from q ~ (count + 1)^power over C, shared by all targets of a call.

    `counts` [V]: frequencies of the ids in the data. One is added to each, so that every target has q > 0.
    """

    def __init__(
        self,
        vocabulary: int,
        excluded: Sequence[int],
        *,
        counts: np.ndarray | None,
        negatives: int,
        power: float,
        **options,
    ):
        super().__init__(vocabulary, excluded, **options)
        self.negatives = negatives
        words = self.words.cpu().numpy()
        frequency = np.ones(len(words)) if counts is None else np.asarray(counts, np.float64)[words] + 1
        q = frequency**power / (frequency**power).sum()
        self.cumulative = torch.from_numpy(np.cumsum(q)).to(self.words.device)
        self.q = torch.zeros(vocabulary, dtype=torch.float64, device=self.words.device)
        self.q[self.words] = torch.from_numpy(q).to(self.words.device)

    def draw(self) -> tuple[Tensor, Tensor]:
        """The distinct words drawn, ascending int64 [n], and how often each was, int64 [n]."""
        places = torch.searchsorted(self.cumulative, self.uniforms(self.negatives), right=True)
        drawn = self.words[places.clamp_(max=len(self.words) - 1)]
        return torch.unique(drawn, return_counts=True)

    @abstractmethod
    def logit_loss(self, union: Tensor, counts: Tensor, wide: torch.dtype) -> LogitLoss:
        """The loss of logits of the words `union` [U], drawn `counts` [U] times."""

    def __call__(self, hidden, weight, bias, targets):
        drawn, times = self.draw()
        union = torch.unique(torch.cat([targets, drawn]))
        counts = torch.zeros_like(union).index_copy_(0, torch.searchsorted(union, drawn), times)
        places = torch.searchsorted(union, targets)
        step = max(1, LOGITS // len(union))
        blocks = [
            Block(a, min(len(targets), a + step), places[a : a + step]) for a in range(0, len(targets), step)
        ]
        wide = torch.float64 if hidden.dtype == torch.float64 else torch.float32
        logit_loss = self.logit_loss(union, counts, wide)
        rows = torch.nn.functional.embedding(union, weight)
        loss = block_loss(hidden, rows, bias.index_select(0, union), blocks, logit_loss, copied=True)
        return LossOutput(loss, len(targets), float(len(union)))


class SampledSoftmax(NoiseLoss):
    """L = lse over the target and the negatives - z_t, negatives at z_j - log(1 - (1 - q_j)^S).

    1 - (1 - q_j)^S is the chance that j is among S draws, so that the sum of the negatives' exp is unbiased. Draws
    are made distinct, and a draw of the target itself is dropped.
    """

    def logit_loss(self, union, counts, wide):
        inclusion = -torch.expm1(self.negatives * torch.log1p(-self.q[union]))
        offsets = torch.where(counts > 0, -torch.log(inclusion), -torch.inf).to(wide)
        return lambda logits, bias, targets: softmax_loss(logits, bias, targets, offsets)


class Nce(NoiseLoss):
    """L = -log sig(s_t) - sum over the draws of log sig(-s_j), s(w) = z_w - log(S q_w)."""

    def __init__(self, vocabulary: int, excluded: Sequence[int], **options):
        super().__init__(vocabulary, excluded, **options)
        self.initial_bias = -math.log(len(self.words))  # so that exp(z) starts near a distribution

    def logit_loss(self, union, counts, wide):
        offsets = -torch.log(self.negatives * self.q[union]).to(wide)
        times = counts.to(wide)
        return lambda logits, bias, targets: logistic_loss(logits, bias, targets, offsets, times, hits=True)


class NegativeSampling(NoiseLoss):
    """L = -log sig(z_t) - sum over the draws but the target of log sig(-z_j), as word2vec."""

    def logit_loss(self, union, counts, wide):
        offsets = torch.zeros(len(union), dtype=wide, device=union.device)
        times = counts.to(wide)
        return lambda logits, bias, targets: logistic_loss(logits, bias, targets, offsets, times, hits=False)
