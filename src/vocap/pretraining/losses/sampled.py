"""The softmax over V', a subset of the vocabulary that holds every target: k-NN, target sampling, uniform."""

import itertools
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from vocap.pretraining.index import NeighbourIndex
from vocap.pretraining.loss_kinds import LOGITS
from vocap.pretraining.losses.interface import Loss, LossOutput
from vocap.pretraining.losses.kernels import Block, block_loss, fastest_softmax_rule
from vocap.training.distributed import gather_ids


class CandidateLoss(Loss):
    """L = lse(z over V') - z_t. Subclasses choose V' for the distinct targets of a group."""

    group: int | None = None

    @abstractmethod
    def candidates(self, targets: Tensor, weight: Tensor) -> Tensor:
        """V' int64 [n], ascending, for the distinct `targets` [m]: a subset of C that holds them all."""

    def __call__(self, hidden, weight, bias, targets):
        """As in `Loss`; h and the gradient of W touch the rows of V' only."""
        count = len(targets)
        size = self.group or max(1, count)
        groups = max(1, -(-count // size))
        edges = [count * which // groups for which in range(groups + 1)]
        spans = list(itertools.pairwise(edges))
        chosen = [self.candidates(torch.unique(targets[a:b]), weight.detach()) for a, b in spans]
        union = chosen[0] if groups == 1 else torch.unique(torch.cat(chosen))
        blocks = []
        for (start, stop), columns in zip(spans, chosen, strict=True):
            places = torch.searchsorted(columns, targets[start:stop])
            local = None if groups == 1 else torch.searchsorted(union, columns)
            step = max(1, LOGITS // max(1, len(columns)))
            for a in range(start, stop, step):
                b = min(stop, a + step)
                blocks.append(Block(a, b, places[a - start : b - start], local))
        rule = fastest_softmax_rule(hidden.device.type)
        rows = self.gather(weight, union)
        loss = block_loss(hidden, rows, bias.index_select(0, union), blocks, rule, copied=True)
        return LossOutput(loss, count, sum(len(columns) for columns in chosen) / groups)

    def drawn_uniformly(self, count: int) -> Tensor:
        """`count` words of C, drawn uniformly with replacement."""
        return self.words[(self.uniforms(count) * len(self.words)).long()]


class KnnSampling(CandidateLoss):
    """Equations 4 to 6: V' = the k nearest neighbours of each target by inner product, and the targets.

    A word may be missing from its own neighbours (a longer one scores higher), and Equation 4 needs it: hence the
    union.
    `uniform` words of C, drawn anew for each V', are mixed in.
    """

    def __init__(
        self,
        vocabulary: int,
        excluded: Sequence[int],
        *,
        k: int = 50,
        every: int = 1000,
        refresh: str = "auto",
        group: int | None = None,
        uniform: int = 0,
        **options,
    ):
        super().__init__(vocabulary, excluded, **options)
        self.index = NeighbourIndex(vocabulary, self.words, k, every, refresh)
        self.group, self.uniform = group, uniform
        self.refresh_s = 0.0  # of the current call

    def start(self, step, weight):
        super().start(step, weight)
        return self.index.start(step, weight.detach())

    def __call__(self, hidden, weight, bias, targets):
        self.refresh_s = 0.0
        if self.group:  # ranks may have different numbers of groups, yet must ask for neighbours equally often
            self.refresh_s = self.index.prepare(torch.unique(targets), weight.detach())
        return replace(super().__call__(hidden, weight, bias, targets), refresh_s=self.refresh_s)

    def candidates(self, targets, weight):
        if not self.group:
            self.refresh_s += self.index.prepare(targets, weight)
        words = [targets, self.index.neighbours(targets).flatten()]
        if self.uniform:
            words.append(self.drawn_uniformly(self.uniform))
        return distinct(torch.cat(words), self.vocabulary)

    def state_dict(self):
        return self.index.state_dict()

    def load_state_dict(self, state):
        self.index.load_state_dict(state)


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
