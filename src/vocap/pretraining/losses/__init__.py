"""Losses for the output layer of any masked language model, from the full softmax to
k-NN target sampling.

A loss takes h [N, d], the input of the output layer at the N masked positions, its
weight W [V, d] and bias b [V], and the targets [N]; it returns the sum of the losses in
nats, with gradients for h, W and b. It needs nothing else of the model, so any Hugging
Face masked language model can be trained with it:

>>> import torch, transformers
>>> from vocap.pretraining.loss_kinds import Knn
>>> config = transformers.BertConfig(vocab_size=100, hidden_size=24, num_hidden_layers=1)
>>> model = transformers.BertForMaskedLM(config)
>>> loss = build_loss(Knn(k=5), vocabulary=100, excluded=[0, 1, 2, 3, 99])
>>> ids = torch.randint(4, 99, (2, 16))
>>> positions = torch.tensor([3, 20])  # of the flattened batch
>>> decoder = model.get_output_embeddings()
>>> seconds = loss.start(0, decoder.weight)  # once a step: refreshes the index when it is due
>>> hidden = model.bert(ids).last_hidden_state.flatten(0, 1)[positions]
>>> hidden = model.cls.predictions.transform(hidden)
>>> output = loss(hidden, decoder.weight, decoder.bias, ids.flatten()[positions])
>>> (output.loss / output.count).backward()
>>> 2 <= output.candidates <= 12
True
"""

from collections.abc import Sequence

import numpy as np
import torch

from vocap.errors import UsageError
from vocap.pretraining.loss_kinds import Full, LossSettings
from vocap.pretraining.losses.full import (
    FullSoftmaxAtEnd,
    exact_loss,
    linear_cross_entropy,
)
from vocap.pretraining.losses.interface import Loss, LossOutput

__all__ = ["Loss", "LossOutput", "build_loss", "exact_loss", "linear_cross_entropy"]


def build_loss(
    loss: LossSettings,
    vocabulary: int,
    excluded: Sequence[int],
    *,
    counts: np.ndarray | None = None,
    steps: int | None = None,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> Loss:
    """Build a loss for the output layer of a masked language model.

    Parameters
    ----------
    loss : settings of the loss, such as `Knn(k=50)`
    vocabulary : V, rows of W
    excluded : ids of special tokens, which are neither targets nor candidates
    counts : int [V], frequencies of the ids in the data, for losses that draw words by
        them; None: uniform
    steps : length of the training, needed for a last part with the full softmax
    seed : of the words that are drawn
    device : of W

    Returns
    -------
    The loss, to be called with h [N, d], W [V, d], b [V] and the targets [N], after
    `start` at every step.

    Raises
    ------
    UsageError : for settings that do not fit the vocabulary or the machine
    """
    if reason := loss.check(vocabulary - len(excluded)):
        raise UsageError(f"loss.{reason}")
    built = loss.build(vocabulary, excluded, counts=counts, seed=seed, device=device)
    if not loss.full_softmax_fraction:
        return built
    if steps is None:
        raise ValueError("a last part with the full softmax needs the number of steps")
    last = round(loss.full_softmax_fraction * steps)
    full = Full().build(vocabulary, excluded, seed=seed, device=device)
    return FullSoftmaxAtEnd(built, full, steps - last)
