"""The softmax over V', a subset of the vocabulary that holds every target; kinds `target` and `uniform`.

The kind `knn` is in `knn.py`, the losses with a correction for their draws are in `noise.py`.
"""

import itertools
from abc import abstractmethod
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from vocap.pretraining.loss_kinds import LOGITS
from vocap.pretraining.losses.interface import Loss, LossOutput
from vocap.pretraining.losses.kernels import Block, block_loss, fastest_softmax_loss
from vocap.training.distributed import gather_ids


class CandidateLoss(Loss):
    """L = lse(z over V') - z_t. Subclasses choose V' for the distinct targets of a group."""

    group: int | None = None

    @abstractmethod
    def candidates(self, targets: Tensor, weight: Tensor) -> Tensor:
        """V' int64 [n], ascending, for the distinct `targets` [m]: a subset of C that holds them all."""

    def __call__(self, hidden, weight, bias, targets):
        """The loss; h and the gradient of W touch the rows of V' only."""
        # V' of each group of targets, and all rows of W that take part
        count = len(targets)
        groups = max(1, -(-count // (self.group or max(1, count))))
        spans = list(itertools.pairwise(count * which // groups for which in range(groups + 1)))
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
                blocks.append(Block(a, b, places[a - start : b - start], local))
        logit_loss = fastest_softmax_loss(hidden.device.type)
        rows = torch.nn.functional.embedding(union, weight)
        loss = block_loss(hidden, rows, bias.index_select(0, union), blocks, logit_loss, copied=True)
        return LossOutput(loss, count, sum(len(columns) for columns in chosen) / groups)

    def drawn_uniformly(self, count: int) -> Tensor:
        """`count` words of C, drawn uniformly with replacement."""
        return self.words[(self.uniforms(count) * len(self.words)).long()]


class TargetSampling(CandidateLoss):
    """Jean et al. 2015: V' = tau distinct targets of the stream, all as likely a priori, so that q cancels.

    Theirs cuts the corpus into parts of tau distinct targets before training. Here V' is the batch's targets and
    the last distinct ones before them (of all ranks), up to tau; at the start of a training it is smaller.
    """

    def __init__(self, vocabulary: int, excluded: Sequence[int], *, tau: int = 50_000, **options):
        super().__init__(vocabulary, excluded, **options)
        self.tau = tau
        self.seen = torch.zeros(vocabulary, dtype=torch.int64, device=self.words.device)  # when last; 0: never
        self.time = 0

    def candidates(self, targets, weight):
        self.time += 1
        self.seen[gather_ids(targets)] = self.time
        recent = self.seen.clone()
        recent[targets] = self.time + 1
        known = recent.nonzero()[:, 0]
        count = min(len(known), max(self.tau, len(targets)))
        keys = recent[known] * self.vocabulary - known  # no two are equal: the choice is the same everywhere
        return known[torch.topk(keys, count).indices].sort().values

    def state_dict(self):
        return {"seen": self.seen, "time": torch.tensor(self.time)}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.seen.copy_(state["seen"])
        self.time = int(state["time"])


class UniformSampling(CandidateLoss):
    """The control: V' = the targets and `negatives` uniform draws of C."""

    def __init__(self, vocabulary: int, excluded: Sequence[int], *, negatives: int = 50_000, **options):
        super().__init__(vocabulary, excluded, **options)
        self.negatives = negatives

    def candidates(self, targets, weight):
        return distinct(torch.cat([targets, self.drawn_uniformly(self.negatives)]), self.vocabulary)


def distinct(ids: Tensor, vocabulary: int) -> Tensor:
    """The distinct ids, ascending, by a mask of the vocabulary: a sort of 10^5 to 10^6 ids costs more."""
    mask = torch.zeros(vocabulary, dtype=torch.bool, device=ids.device)
    mask[ids] = True
    return mask.nonzero()[:, 0]
