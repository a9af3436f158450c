"""Losses over V', a subset of the vocabulary that holds every target: all kinds but
`full` and `knn`.

`target` and `uniform` take the softmax over V'; `sampled`, `nce` and `neg` draw words
by frequency.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vocap.pretraining.loss_kinds import LOGITS
from vocap.pretraining.losses import interface
from vocap.training.distributed import gather_rows


class CandidateLoss(interface.Loss):
    """L = lse(z over V') - z_t. Subclasses choose V' for the distinct targets of a
    group.
    """

    group: int | None = None

    @abstractmethod
    def candidates(self, targets: Tensor, weight: Tensor) -> Tensor:
        """V' int64 [n], ascending, for the distinct `targets` [m]: a subset of C that
        holds them all.
        """

    def logit_loss(self, candidates: Tensor, wide: torch.dtype) -> interface.LogitLoss:
        """The loss of logits of the words `candidates` [n], with sums in the dtype
        `wide`.
        """
        return interface.fastest_softmax_loss(candidates.device.type)

    def of_targets(
        self, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor
    ) -> interface.LossOutput:
        """The loss; h and the gradient of W touch the rows of V' only."""
        # V' of each group of targets, and all rows of W that take part
        count = len(targets)
        spans = interface.equal_spans(count, self.group or max(1, count))
        groups = len(spans)
        chosen = [self.candidates(torch.unique(targets[a:b]), weight.detach()) for a, b in spans]
        union = chosen[0] if groups == 1 else torch.unique(torch.cat(chosen))
        # blocks of at most LOGITS logits
        blocks = []
        for (start, stop), columns in zip(spans, chosen, strict=True):
            places = torch.searchsorted(columns, targets[start:stop])
            local = None if groups == 1 else torch.searchsorted(union, columns)
            step = max(1, LOGITS // max(1, len(columns)))
            for a in range(start, stop, step):
                b = min(stop, a + step)
                blocks.append(interface.Block(a, b, places[a - start : b - start], local))
        wide = torch.float64 if hidden.dtype == torch.float64 else torch.float32
        logit_loss = self.logit_loss(union, wide)
        rows = torch.nn.functional.embedding(union, weight)
        loss = interface.block_loss(
            hidden, rows, bias.index_select(0, union), blocks, logit_loss, copied=True
        )
        return interface.LossOutput(loss, count, sum(len(columns) for columns in chosen) / groups)

    def drawn_uniformly(self, count: int) -> Tensor:
        """`count` words of C, drawn uniformly with replacement."""
        return self.words[(self.uniforms(count) * len(self.words)).long()]


class TargetSampling(CandidateLoss):
    """Jean et al. 2015: V' = tau distinct targets of the stream, all as likely a
    priori, so that q cancels.

    Theirs cuts the corpus into parts of tau distinct targets before training. Here V'
    is the batch's targets and the last distinct ones before them (of all ranks), up to
    tau; at the start of a training it is smaller.
    """

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        # when last; 0: never
        self.seen = torch.zeros(self.vocabulary, dtype=torch.int64, device=self.words.device)
        self.time = 0

    def candidates(self, targets: Tensor, weight: Tensor) -> Tensor:
        self.time += 1
        self.seen[gather_rows(targets)] = self.time
        recent = self.seen.clone()
        recent[targets] = self.time + 1
        known = recent.nonzero()[:, 0]
        count = min(len(known), max(self.settings.tau, len(targets)))
        # no two are equal: the choice is the same everywhere
        keys = recent[known] * self.vocabulary - known
        return known[torch.topk(keys, count).indices].sort().values

    def state_dict(self) -> dict[str, Tensor]:
        return {"seen": self.seen, "time": torch.tensor(self.time)}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.seen.copy_(state["seen"])
        self.time = int(state["time"])


class UniformSampling(CandidateLoss):
    """The control: V' = the targets and `negatives` uniform draws of C."""

    def candidates(self, targets: Tensor, weight: Tensor) -> Tensor:
        drawn = self.drawn_uniformly(self.settings.negatives)
        return distinct(torch.cat([targets, drawn]), self.vocabulary)


def distinct(ids: Tensor, vocabulary: int) -> Tensor:
    """The distinct ids, ascending, by a mask of the vocabulary: a sort of 10^5 to 10^6
    ids costs more.
    """
    mask = torch.zeros(vocabulary, dtype=torch.bool, device=ids.device)
    mask[ids] = True
    return mask.nonzero()[:, 0]


class NoiseLoss(CandidateLoss):
    """S draws with replacement from q ~ (count + 1)^power over C, shared by all targets
    of a call.

    `counts` [V]: frequencies of the ids in the data. One is added to each, so that
    every target has q > 0. `times` [n]: draws of each of the last candidates.
    """

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.negatives, power = self.settings.negatives, self.settings.power
        words = self.words.cpu().numpy()
        frequency = np.ones(len(words))
        if self.counts is not None:
            frequency += np.asarray(self.counts, np.float64)[words]
        q = frequency**power / (frequency**power).sum()
        self.cumulative = torch.from_numpy(np.cumsum(q)).to(self.words.device)
        self.q = torch.zeros(self.vocabulary, dtype=torch.float64, device=self.words.device)
        self.q[self.words] = torch.from_numpy(q).to(self.words.device)

    def draw(self) -> tuple[Tensor, Tensor]:
        """The distinct words drawn, ascending int64 [n], and how often each was, int64
        [n].
        """
        places = torch.searchsorted(self.cumulative, self.uniforms(self.negatives), right=True)
        drawn = self.words[places.clamp_(max=len(self.words) - 1)]
        return torch.unique(drawn, return_counts=True)

    def candidates(self, targets: Tensor, weight: Tensor) -> Tensor:
        drawn, times = self.draw()
        union = torch.unique(torch.cat([targets, drawn]))
        self.times = torch.zeros_like(union).index_copy_(0, torch.searchsorted(union, drawn), times)
        return union


class SampledSoftmax(NoiseLoss):
    """L = lse over the target and the negatives - z_t, negatives at z_j - log(1 - (1 -
    q_j)^S).

    1 - (1 - q_j)^S is the chance that j is among S draws, so that the sum of the
    negatives' exp is unbiased. Draws are made distinct, and a draw of the target itself
    is dropped.
    """

    def logit_loss(self, candidates: Tensor, wide: torch.dtype) -> interface.LogitLoss:
        inclusion = -torch.expm1(self.negatives * torch.log1p(-self.q[candidates]))
        offsets = torch.where(self.times > 0, -torch.log(inclusion), -torch.inf).to(wide)
        return partial(interface.softmax_loss, offsets=offsets)


class Nce(NoiseLoss):
    """L = -log sig(s_t) - sum over the draws of log sig(-s_j), s(w) = z_w - log(S
    q_w).
    """

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.initial_bias = -math.log(len(self.words))  # so that exp(z) starts near a distribution

    def logit_loss(self, candidates: Tensor, wide: torch.dtype) -> interface.LogitLoss:
        offsets = -torch.log(self.negatives * self.q[candidates]).to(wide)
        times = self.times.to(wide)
        return partial(interface.logistic_loss, offsets=offsets, counts=times, hits=True)


class NegativeSampling(NoiseLoss):
    """L = -log sig(z_t) - sum over the draws but the target of log sig(-z_j), as
    word2vec.
    """

    def logit_loss(self, candidates: Tensor, wide: torch.dtype) -> interface.LogitLoss:
        offsets = torch.zeros(len(candidates), dtype=wide, device=candidates.device)
        times = self.times.to(wide)
        return partial(interface.logistic_loss, offsets=offsets, counts=times, hits=False)
