"""What every loss is: called with h, W, b and the targets, it gives a sum in nats."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vocap.pretraining.randomness import NEGATIVES, generator
from vocap.pretraining.ranks import rank


@dataclass(frozen=True)
class LossOutput:
    """`loss`: the sum over the targets, nats, 0-dim float32 with a gradient; divide it by the tokens of the batch.

    `count` = N targets; `candidates` = |V'|, the rows of W that had a part in it (their mean over groups);
    `refresh_s`: seconds that the call spent on an index, as one does that is refreshed at a word's first use.
    """

    loss: Tensor
    count: int
    candidates: float
    refresh_s: float = 0.0


class Loss(ABC):
    """One way to train an output layer.

    `vocabulary` = V rows of W; `excluded`: ids that are neither target nor candidate (special tokens), so that
    C = V without them. `row_gradients`: the gradient of W holds only the rows of V', as a sparse tensor; else all
    of them. Losses that draw words do so as a pure function of (seed, step, rank, call within the step).
    """

    initial_bias = 0.0  # what the output bias should start with

    def __init__(
        self,
        vocabulary: int,
        excluded: Sequence[int],
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
        row_gradients: bool = False,
    ):
        allowed = np.ones(vocabulary, bool)
        allowed[list(excluded)] = False
        self.vocabulary = vocabulary
        self.words = torch.from_numpy(np.flatnonzero(allowed)).to(device)  # C, ascending, int64
        self.seed = seed
        self.row_gradients = row_gradients
        self.step = 0
        self.calls = 0

    def start(self, step: int, weight: Tensor) -> float:
        """Begin an optimizer step, on every rank, before its first call; seconds spent on an index."""
        self.step, self.calls = step, 0
        return 0.0

    @abstractmethod
    def __call__(self, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> LossOutput:
        """The loss of h [N, d] against W [V, d], b [V]; `targets` int64 [N], none of them excluded."""

    def state_dict(self) -> dict[str, Tensor]:
        """What a checkpoint must hold, as tensors; the same on every rank."""
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:  # noqa: B027 (most losses keep nothing)
        """Take back what `state_dict` gave."""

    def uniforms(self, count: int) -> Tensor:
        """`count` numbers in [0, 1), float64, those of this seed, step, rank and call, on any device."""
        random = generator(self.seed, NEGATIVES, self.step, rank(), self.calls)
        self.calls += 1
        return torch.from_numpy(random.random(count)).to(self.words.device)

    def gather(self, weight: Tensor, ids: Tensor) -> Tensor:
        """Rows `ids` of W, with a row-sparse or dense gradient."""
        return torch.nn.functional.embedding(ids, weight, sparse=self.row_gradients)
