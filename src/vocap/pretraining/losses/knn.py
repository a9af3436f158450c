"""The kind `knn`: k-NN target sampling, and the k nearest neighbours of every word by
inner product.

The neighbours take bounded memory and are kept fresh during training. Scores are made
for a block of rows against all candidates, and selected in two steps: the k best of the
maxima of runs of 64 candidates, then the k best inside those runs. No word of the k
best can be elsewhere, for each run that was left out has k better or equal maxima
before it. Only 1/64 of the scores is ever sorted.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from vocap.pretraining.losses.candidates import CandidateLoss, distinct
from vocap.pretraining.losses.interface import LossOutput
from vocap.training.distributed import gather_rows, half_type, multiply, rank, world_size

RUN = 64
# bytes of scores held at once: a GPU is fast with large products, and a CPU with memory that
# malloc has used before
HELD = {
    "cpu": 2**26,
    "cuda": 2**31,
}
NEVER = -1


class KnnSampling(CandidateLoss):
    """Equations 4 to 6: V' = the k nearest neighbours of each target by inner product,
    and the targets.

    A word may be missing from its own neighbours (a longer one scores higher), and
    Equation 4 needs it: hence the union. `uniform` words of C, drawn anew for each V',
    are mixed in.
    """

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        k, every = self.settings.k, self.settings.every
        self.index = NeighbourIndex(self.vocabulary, self.words, k, every)
        self.group, self.uniform = self.settings.group, self.settings.uniform
        self.refresh_s = 0.0  # of the current call

    def start(self, step: int, weight: Tensor) -> float:
        super().start(step, weight)
        return self.index.start(step, weight.detach())

    def of_targets(
        self, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor
    ) -> LossOutput:
        self.refresh_s = 0.0
        if (
            self.group
        ):  # ranks may have different numbers of groups, yet must ask for neighbours equally often
            self.refresh_s = self.index.prepare(torch.unique(targets), weight.detach())
        return replace(super().of_targets(hidden, weight, bias, targets), refresh_s=self.refresh_s)

    def candidates(self, targets: Tensor, weight: Tensor) -> Tensor:
        if not self.group:
            self.refresh_s += self.index.prepare(targets, weight)
        words = [targets, self.index.neighbours(targets).flatten()]
        if self.uniform:
            words.append(self.drawn_uniformly(self.uniform))
        return distinct(torch.cat(words), self.vocabulary)

    def state_dict(self) -> dict[str, Tensor]:
        return self.index.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.index.load_state_dict(state)


class NeighbourIndex:
    """The k nearest words I_k(w) of every word w, among `words` (C, ascending int64),
    as of the last refresh.

    On a GPU all rows are refreshed at every `every`-th step (`burst`), on a CPU a row
    at its first use after it, so that only words that occur cost anything. Ranks share
    the rows of a refresh and gather the result. On a GPU products are of bfloat16 rows
    (float16 on one without), summed in float32; on a CPU of float32.
    """

    def __init__(self, vocabulary: int, words: Tensor, k: int, every: int):
        self.words, self.k, self.every = words, k, every
        others = torch.ones(vocabulary, dtype=torch.bool, device=words.device).index_fill_(
            0, words, False
        )
        self.excluded = others.nonzero()[:, 0]
        self.burst = words.is_cuda
        self.dtype = half_type(words.device) or torch.float32
        self.table = torch.full((vocabulary, k), NEVER, dtype=torch.int32, device=words.device)
        # at which step
        self.built = torch.full((vocabulary,), NEVER, dtype=torch.int64, device=words.device)
        self.step = 0

    def start(self, step: int, weight: Tensor) -> float:
        """Refresh the rows due at `step` from W [V, d]; seconds spent. Called on every
        rank at every step.
        """
        self.step = step
        due = self.burst and (step % self.every == 0 or int(self.built[self.words[0]]) == NEVER)
        return self._build(self.words, weight) if due else 0.0

    def prepare(self, targets: Tensor, weight: Tensor) -> float:
        """Refresh the stale rows of distinct `targets` [n] of all ranks, except in
        bursts; seconds spent.
        """
        if self.burst:
            return 0.0
        since = self.step - self.step % self.every
        stale = torch.unique(gather_rows(targets[self.built[targets] < since]))
        return self._build(stale, weight) if len(stale) else 0.0

    def neighbours(self, targets: Tensor) -> Tensor:
        """I_k(w), int64 [n, k], ordered by (score descending, id ascending), of
        `targets` that were prepared.
        """
        return self.table[targets].long()

    def _build(self, rows: Tensor, weight: Tensor) -> float:
        """Find the neighbours of `rows`, shared out over the ranks; seconds spent."""
        began = time.perf_counter()
        table = weight.to(self.dtype)
        # this rank's share of the rows, then those of all
        size = -(-len(rows) // world_size())
        mine = rows[rank() * size : (rank() + 1) * size]
        self.table[rows] = gather_rows(
            nearest(table[mine], table, self.k, excluded=self.excluded).int()
        )
        self.built[rows] = self.step
        if weight.is_cuda:
            torch.cuda.synchronize()
        return time.perf_counter() - began

    def state_dict(self) -> dict[str, Tensor]:
        """`neighbours` int32 [V, k] and `built` int64 [V], the step of each row (-1:
        never).
        """
        return {"neighbours": self.table, "built": self.built}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore the tensors of `state_dict`."""
        self.table.copy_(state["neighbours"])
        self.built.copy_(state["built"])


def nearest(
    queries: Tensor, table: Tensor, k: int, held: int | None = None, excluded: Tensor | None = None
) -> Tensor:
    """The k rows of a table with the largest inner product with each query.

    Parameters
    ----------
    queries : [n, d]
    table : [m, d], in the dtype of the queries
    k : neighbours of a query
    held : bytes of scores at a time, at most (a row at least); default by device
    excluded : places in the table that are never found

    Returns
    -------
    int64 [n, k], places ordered by (score descending, place ascending), exactly so for
    the scores as computed: float32 sums of products in the dtype of the input. A
    float32 table on a CPU is not copied.
    """
    held = held or HELD.get(queries.device.type, HELD["cpu"])
    count = len(table)
    if table.is_cuda:  # whose products of aligned rows are fast
        table = F.pad(table, (0, 0, 0, -count % RUN))
    step = max(1, held // (4 * len(table)))
    found = torch.empty(len(queries), k, dtype=torch.int64, device=queries.device)
    for start in range(0, len(queries), step):
        with torch.autocast(queries.device.type, enabled=False):
            scores = multiply(queries[start : start + step], table.T, torch.float32)
        scores[:, count:] = -torch.inf
        if excluded is not None:
            scores[:, excluded] = -torch.inf
        found[start : start + step] = _select(scores, k)
    return found


def _select(scores: Tensor, k: int) -> Tensor:
    """Places [n, k] of the best of the scores [n, m]; the last run may be shorter than
    the others.
    """
    count = scores.shape[1]
    whole = count // RUN
    best = scores[:, : whole * RUN].unflatten(1, (whole, RUN)).amax(2)
    if whole * RUN < count:
        best = torch.cat([best, scores[:, whole * RUN :].amax(1, keepdim=True)], 1)
    runs = torch.topk(_descending_keys(best), min(k, best.shape[1]), dim=1).indices
    runs = runs.sort(1).values  # ascending: places keep their order
    places = (runs[:, :, None] * RUN + torch.arange(RUN, device=scores.device)).flatten(1)
    inside = scores.gather(1, places.clamp(max=count - 1)).masked_fill_(places >= count, -torch.inf)
    return places.gather(1, torch.topk(_descending_keys(inside), k, dim=1).indices)


def _descending_keys(scores: Tensor) -> Tensor:
    """int64 keys [n, m] whose descending order is (score descending, place ascending);
    no two of a row are equal.

    The bits of a float32 order as integers do, once those of negative numbers are
    inverted.
    """
    bits = (scores + 0.0).view(torch.int32)  # -0.0 + 0.0 = 0.0: equal scores get equal bits
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(torch.int64)
    places = torch.arange(scores.shape[1], device=scores.device)
    return (ordered << 32) - places
