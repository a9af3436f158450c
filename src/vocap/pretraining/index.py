"""The k nearest neighbours of every word by inner product, in bounded memory, kept fresh during training.

Scores are made for a block of rows against all candidates, and selected in two steps: the k best of the maxima of
runs of 64 candidates, then the k best inside those runs. No word of the k best can be elsewhere, for each run that
was left out has k better or equal maxima before it. Only 1/64 of the scores is ever sorted.
"""

import time
from collections.abc import Mapping

import torch
from torch import Tensor, distributed
from torch.nn import functional as F

from vocap.errors import UsageError
from vocap.pretraining.products import half_type, multiplies_wide, multiply
from vocap.pretraining.ranks import gather_ids, rank, ranks

RUN = 64
HELD = {"cpu": 2**27, "cuda": 2**31}  # bytes of scores held at once: large products are what a GPU is fast at
NEVER = -1


def nearest(
    queries: Tensor, table: Tensor, k: int, held: int | None = None, excluded: Tensor | None = None
) -> Tensor:
    """The places int64 [n, k] of the k rows of `table` [m, d] of largest inner product with each query [n, d].

    Ordered by (score descending, place ascending), exactly so for the scores as computed: float32 sums of products
    in the dtype of the input. `excluded` places are never found. At most `held` bytes of scores at a time (a row
    at least); a float32 table on a CPU is not copied.
    """
    held = held or HELD.get(queries.device.type, HELD["cpu"])
    count = len(table)
    if table.is_cuda:  # whose products of aligned rows are fast
        table = F.pad(table, (0, 0, 0, -count % RUN))
    step = max(1, held // (4 * len(table)))
    found = torch.empty(len(queries), k, dtype=torch.int64, device=queries.device)
    for start in range(0, len(queries), step):
        scores = _products(queries[start : start + step], table)
        scores[:, count:] = -torch.inf
        if excluded is not None:
            scores[:, excluded] = -torch.inf
        found[start : start + step] = _select(scores, k)
    return found


def _products(queries: Tensor, table: Tensor) -> Tensor:
    """Inner products [n, m], float32, whatever autocast says."""
    with torch.autocast(queries.device.type, enabled=False):
        if queries.is_cuda and multiplies_wide():
            return multiply(queries, table.T, torch.float32)
        return queries.float() @ table.T.float()


def _select(scores: Tensor, k: int) -> Tensor:
    """Places [n, k] of the best of the scores [n, m]; the last run may be shorter than the others."""
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
    """int64 keys [n, m] whose descending order is (score descending, place ascending); no two of a row are equal.

    The bits of a float32 order as integers do, once those of negative numbers are turned over.
    """
    bits = (scores + 0.0).view(torch.int32)  # -0.0 + 0.0 = 0.0: equal scores get equal bits
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(torch.int64)
    places = torch.arange(scores.shape[1], device=scores.device)
    return (ordered << 32) - places


class NeighbourIndex:
    """The k nearest words I_k(w) of every word w, among `words` (C, ascending int64), as of the last refresh.

    `refresh`: burst (all rows at every `every`-th step), rolling (1/`every` of them each step, after a whole
    build), lazy (at a word's first use after every `every`-th step, so that on a CPU only words that occur cost
    anything), auto (burst on a GPU, lazy on a CPU). Ranks share the rows of a refresh and gather the result. On a
    GPU products are of bfloat16 rows (float16 on one without), summed in float32; on a CPU of float32.
    """

    def __init__(self, vocabulary: int, words: Tensor, k: int, every: int, refresh: str = "auto"):
        if k > len(words):
            raise UsageError(f"k {k} is above the {len(words)} words that are no special tokens; take a smaller k")
        self.words, self.k, self.every = words, k, every
        others = torch.ones(vocabulary, dtype=torch.bool, device=words.device).index_fill_(0, words, False)
        self.excluded = others.nonzero()[:, 0]
        self.refresh = ("burst" if words.is_cuda else "lazy") if refresh == "auto" else refresh
        self.dtype = half_type(words.device) or torch.float32
        self.table = torch.full((vocabulary, k), NEVER, dtype=torch.int32, device=words.device)
        self.built = torch.full((vocabulary,), NEVER, dtype=torch.int64, device=words.device)  # at which step
        self.step = 0

    def start(self, step: int, weight: Tensor) -> float:
        """Refresh what is due at `step` from W [V, d]; seconds spent. Every rank calls it at every step."""
        self.step = step
        if self.refresh == "lazy":
            return 0.0
        fresh = int(self.built[self.words[0]]) == NEVER
        if fresh or (self.refresh == "burst" and step % self.every == 0):
            due = self.words
        elif self.refresh == "rolling":
            which = step % self.every
            count = len(self.words)
            due = self.words[count * which // self.every : count * (which + 1) // self.every]
        else:
            return 0.0
        return self._build(due, weight)

    def neighbours(self, targets: Tensor, weight: Tensor) -> Tensor:
        """I_k(w), int64 [n, k], ordered by (score descending, id ascending), of distinct `targets` [n] in C.

        In lazy mode a collective call, as `prepare` is.
        """
        self.prepare(targets, weight)
        return self.known(targets)

    def prepare(self, targets: Tensor, weight: Tensor) -> float:
        """Build what is stale of distinct `targets` [n] of all ranks together; seconds spent.

        In lazy mode a collective call; there is nothing to do in another.
        """
        if self.refresh != "lazy":
            return 0.0
        since = self.step - self.step % self.every
        stale = torch.unique(gather_ids(targets[self.built[targets] < since]))
        return self._build(stale, weight) if len(stale) else 0.0

    def known(self, targets: Tensor) -> Tensor:
        """As `neighbours`, of targets that `prepare` was given."""
        return self.table[targets].long()

    def _build(self, rows: Tensor, weight: Tensor) -> float:
        """Find the neighbours of `rows`, shared out over the ranks; seconds spent."""
        began = time.perf_counter()
        table = weight.to(self.dtype)
        count, parts = len(rows), ranks()
        size = -(-count // parts)
        mine = rows[rank() * size : (rank() + 1) * size]
        found = nearest(table[mine], table, self.k, excluded=self.excluded).int()
        if parts > 1:
            padded = torch.zeros(size, self.k, dtype=torch.int32, device=found.device)
            padded[: len(found)] = found
            gathered = [torch.empty_like(padded) for _ in range(parts)]
            distributed.all_gather(gathered, padded)
            found = torch.cat(gathered)[:count]
        self.table[rows] = found
        self.built[rows] = self.step
        if weight.is_cuda:
            torch.cuda.synchronize()
        return time.perf_counter() - began

    def state_dict(self) -> dict[str, Tensor]:
        """`neighbours` int32 [V, k] and `built` int64 [V], the step of each row (-1: never)."""
        return {"neighbours": self.table, "built": self.built}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take back what `state_dict` gave. Raises ValueError for an index of another size."""
        if state["neighbours"].shape != self.table.shape:
            shapes = f"{tuple(state['neighbours'].shape)}, not {tuple(self.table.shape)}"
            raise ValueError(f"the index of another model: its shape is {shapes}")
        self.table.copy_(state["neighbours"])
        self.built.copy_(state["built"])
