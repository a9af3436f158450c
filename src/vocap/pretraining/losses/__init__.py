"""Losses for the output layer of any masked language model, from the full softmax to k-NN target sampling.

A loss takes h [N, d], the rows that the output layer would take at the N masked positions, its weight W [V, d]
and bias b [V], and the targets [N]; it gives the sum of the losses in nats, with gradients for h, W and b. Nothing
else of the model is seen, so any Hugging Face masked language model can be trained with it:

>>> import torch, transformers
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

from vocap.pretraining.loss_settings import Full, Knn, LossSettings, Nce, Neg, Sampled, Target, Uniform
from vocap.pretraining.losses import noise
from vocap.pretraining.losses.exact import ExactScores, FullSoftmax, exact_loss, linear_cross_entropy
from vocap.pretraining.losses.finish import Finished
from vocap.pretraining.losses.interface import Loss, LossOutput
from vocap.pretraining.losses.sampled import KnnSampling, TargetSampling, UniformSampling

__all__ = [
    "ExactScores",
    "Full",
    "Knn",
    "Loss",
    "LossOutput",
    "LossSettings",
    "Nce",
    "Neg",
    "Sampled",
    "Target",
    "Uniform",
    "build_loss",
    "exact_loss",
    "linear_cross_entropy",
]

_CLASSES = {
    Full: FullSoftmax,
    Knn: KnnSampling,
    Target: TargetSampling,
    Uniform: UniformSampling,
    Sampled: noise.SampledSoftmax,
    Nce: noise.Nce,
    Neg: noise.NegativeSampling,
}


def build_loss(
    loss: LossSettings,
    vocabulary: int,
    excluded: Sequence[int],
    *,
    counts: np.ndarray | None = None,
    steps: int | None = None,
    seed: int = 0,
    device: torch.device | str = "cpu",
    row_gradients: bool = False,
) -> Loss:
    """The loss of the settings `loss`, for W of `vocabulary` rows; `excluded` are the ids of special tokens.

    `counts` [V] are the ids' frequencies in the data, for the noise of `sampled`, `nce` and `neg` (None: uniform);
    `steps` is the length of the training, which a `finish` needs. Raises UsageError for settings that do not fit.
    """
    common = {"seed": seed, "device": device, "row_gradients": row_gradients}
    options = loss.model_dump(exclude={"kind", "finish"})
    if isinstance(loss, Sampled | Nce | Neg):
        options["counts"] = counts
    built = _CLASSES[type(loss)](vocabulary, excluded, **options, **common)
    share = getattr(loss, "finish", 0.0)
    if not share:
        return built
    if steps is None:
        raise ValueError("a finish needs the number of steps")
    return Finished(built, FullSoftmax(vocabulary, excluded, **common), steps - round(share * steps))
