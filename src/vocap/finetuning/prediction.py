"""What a model says of a data set: without gradients, in large batches of like length."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from vocap.finetuning.batches import Batch, assemble, evaluation_batches
from vocap.finetuning.encoding import Features, TagFeatures, best_answers, join_tags
from vocap.finetuning.examples import Example
from vocap.finetuning.heads import Tuner
from vocap.finetuning.predictions import Predictions
from vocap.finetuning.tasks import Task

TOKENS = {"cpu": 8_192, "cuda": 131_072}  # ids of a batch, padding included


def predict(
    tuner: Tuner, features: Features, examples: Sequence[Example], task: Task, dtype: torch.dtype = torch.float32
) -> Predictions:
    """A label of each pair, the tags of each sentence, or the answer of each question by its id.

    `dtype`: of the layers' products. The model is left as it was, in training or not.
    """
    training = tuner.training
    tuner.eval()
    try:
        if task.kind == "spans":
            starts, ends = _window_scores(tuner, features, dtype)
            answers = best_answers(features, examples, starts, ends)
            return {example.id: answer for example, answer in zip(examples, answers, strict=True)}
        numbers = _highest(tuner, features, dtype)
        if isinstance(features, TagFeatures):
            return join_tags(features, numbers, task.labels)
        return [task.labels[number] for number in np.concatenate(numbers or [np.zeros(0, np.int64)])]
    finally:
        tuner.train(training)


def _highest(tuner: Tuner, features: Features, dtype: torch.dtype) -> list[np.ndarray]:
    """The number of the best label of each unit (the pair, or its words), by input."""
    found: list[np.ndarray] = [np.zeros(0, np.int64)] * len(features)
    for batch, (logits,) in _outputs(tuner, features, dtype):
        best = logits.argmax(1).cpu().numpy()
        counts = [1] * len(batch.numbers)
        if isinstance(features, TagFeatures):
            counts = [len(features.first[number]) for number in batch.numbers]
        for number, part in zip(batch.numbers, np.split(best, np.cumsum(counts)[:-1]), strict=True):
            found[number] = part
    return found


def _window_scores(
    tuner: Tuner, features: Features, dtype: torch.dtype
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Of each window, how likely each position begins and ends the answer: float32 [length], both."""
    found: tuple[list, list] = ([None] * len(features), [None] * len(features))
    for batch, logits in _outputs(tuner, features, dtype):
        lengths = batch.attention.sum(1)
        for scores, kept in zip(logits, found, strict=True):
            for number, row, length in zip(batch.numbers, scores.cpu().numpy(), lengths, strict=True):
                kept[number] = row[:length]
    return found


@torch.inference_mode()
def _outputs(tuner: Tuner, features: Features, dtype: torch.dtype) -> Iterator[tuple[Batch, tuple[Tensor, ...]]]:
    device = tuner.model.device
    for numbers in evaluation_batches(features.ids.lengths, TOKENS[device.type]):
        batch = assemble(features, numbers, tuner.pad)
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            logits = tuner(batch)
        yield batch, logits
