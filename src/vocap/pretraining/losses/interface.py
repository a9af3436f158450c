"""The interface of a loss: a function of h, W, b and the targets that returns a sum in nats.

The kinds of losses, with their settings, are registered in `pretraining/loss_kinds.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vocap.training.distributed import rank
from vocap.training.randomness import NEGATIVES, generator


@dataclass(frozen=True)
class LossOutput:
    """`loss`: the sum over the targets, nats, 0-dim float32 with a gradient; divide it by the tokens of the batch.

    `count` = N targets; `candidates` = |V'|, rows of W in it (their mean over groups); `refresh_s`: seconds that
    the call spent on an index, if rows are refreshed at their first use.
    """

    loss: Tensor
    count: int
    candidates: float
    refresh_s: float = 0.0


class Loss(ABC):
    """A loss for the output layer; parameters as in `build_loss`, C = V without `excluded`.

    Losses that draw words do so as a pure function of (seed, step, rank, call within the step).
    """

    initial_bias = 0.0  # initial value of the output bias

    def __init__(
        self,
        vocabulary: int,
        excluded: Sequence[int],
        *,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ):
        allowed = np.ones(vocabulary, bool)
        allowed[list(excluded)] = False
        self.vocabulary = vocabulary
        self.words = torch.from_numpy(np.flatnonzero(allowed)).to(device)  # C, ascending, int64
        self.seed = seed
        self.step = 0
        self.calls = 0

    def start(self, step: int, weight: Tensor) -> float:
        """Begin an optimizer step, on every rank, before its first call; returns seconds spent on an index."""
        self.step, self.calls = step, 0
        return 0.0

    @abstractmethod
    def __call__(self, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> LossOutput:
        """The loss of h [N, d] against W [V, d], b [V]; `targets` int64 [N], none of them excluded."""

    def state_dict(self) -> dict[str, Tensor]:
        """The tensors of a checkpoint; equal on every rank."""
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:  # noqa: B027 (most losses keep nothing)
        """Restore the tensors of `state_dict`."""

    def uniforms(self, count: int) -> Tensor:
        """`count` numbers in [0, 1), float64, those of this seed, step, rank and call, on any device."""
        random = generator(self.seed, NEGATIVES, self.step, rank(), self.calls)
        self.calls += 1
        return torch.from_numpy(random.random(count)).to(self.words.device)
