"""Models with a head for each kind of task, on any masked language model's folder, and their predictions."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import (
    AutoConfig,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedModel,
)
from transformers.utils import logging as library_logging

from vocap.errors import VocapError
from vocap.finetuning.encoding import best_answers, join_tags
from vocap.finetuning.features import IGNORED, Batch, Features, assemble, evaluation_batches
from vocap.finetuning.reading import Example
from vocap.finetuning.scoring import Predictions
from vocap.finetuning.tasks import Task
from vocap.model_folder import WEIGHTS, read_config

HEADS = {
    "pairs": AutoModelForSequenceClassification,
    "tags": AutoModelForTokenClassification,
    "spans": AutoModelForQuestionAnswering,
}

SAVE = "save the model with save_pretrained of transformers 5"
TOKENS = {"cpu": 8_192, "cuda": 131_072}  # ids of a batch, padding included


def build_model(folder: Path, kind: str, labels: int, seed: int, pretrained: bool = True) -> PreTrainedModel:
    """The model of `folder` with the head of a kind of task; `seed` decides the head's weights.

    `labels`: size of the head (not used by spans); a head of another size is replaced by a new one.
    Without `pretrained` every weight is random. Raises VocapError for a folder without a model, whose weights are
    no safetensors (others may run code), are damaged or another model's, and for a model with custom code.
    """
    library_logging.set_verbosity_error()  # that the head is new, and the language model's own head not used
    read_config(folder)
    no_code = {"trust_remote_code": False}  # without it the library asks in the terminal
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, **no_code)
        if kind != "spans":
            config.num_labels = labels
        torch.manual_seed(seed)
        if not pretrained:
            return HEADS[kind].from_config(config, dtype=torch.float32, **no_code)
        if not any((folder / name).exists() for name in WEIGHTS):
            raise VocapError(f"{folder}: no {WEIGHTS[0]}; {SAVE}")
        model, loaded = HEADS[kind].from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,
            use_safetensors=True,
            local_files_only=True,
            ignore_mismatched_sizes=True,  # of heads; `_check_loaded` refuses the others
            output_loading_info=True,
            **no_code,
        )
    except (VocapError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # the library raises exceptions of any class for a foreign folder
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise VocapError(f"{folder}: no model for {kind}: {reason}; copy the folder again, or {SAVE}") from None
    _check_loaded(folder, model, loaded)
    return model


def _check_loaded(folder: Path, model: PreTrainedModel, loaded: dict[str, Any]) -> None:
    """Raise VocapError where weights below the head are missing in the file: transformers draws them at random.

    A pooler is part of the head: masked language models are saved without it.
    """
    made_up = {*loaded["missing_keys"], *(name for name, *_ in loaded["mismatched_keys"])}
    own = [
        name
        for name, _ in model.named_parameters()
        if name in made_up and name.startswith(f"{model.base_model_prefix}.") and "pooler" not in name.split(".")
    ]
    if own:
        raise VocapError(
            f"{folder}: the weights lack {own[0]} in the shape that config.json says (one of {len(own)}); "
            f"bring the files of one model, or {SAVE}"
        )


class Tuner(nn.Module):
    """A model whose logits are those of a task's units: pairs, words, or ends of answers."""

    def __init__(self, model: PreTrainedModel, kind: str, pooling: str = "first") -> None:
        super().__init__()
        self.model, self.kind, self.pooling = model, kind, pooling
        self.pad = model.config.pad_token_id or 0
        self.has_segments = (getattr(model.config, "type_vocab_size", 0) or 0) > 1

    def forward(self, batch: Batch) -> tuple[Tensor, ...]:
        """Of pairs: logits [b, labels]; of tags [words, labels]; of spans: of starts and of ends, both [b, t].

        Logits of padding are -inf.
        """
        device = self.model.device
        attention = torch.from_numpy(batch.attention).to(device)
        inputs = {"input_ids": torch.from_numpy(batch.input_ids).to(device)}
        if not batch.attention.all():
            inputs["attention_mask"] = attention  # without one, attention is faster
        if self.has_segments:
            inputs["token_type_ids"] = torch.from_numpy(batch.segments).to(device)
        output = self.model(**inputs)
        if self.kind == "pairs":
            return (output.logits.float(),)
        if self.kind == "tags":
            return (self._pooled(output.logits.float().flatten(0, 1), batch),)
        ends = (output.start_logits, output.end_logits)
        return tuple(logits.float().masked_fill(~attention, float("-inf")) for logits in ends)

    def _pooled(self, logits: Tensor, batch: Batch) -> Tensor:
        place, word = batch.targets["place"], batch.targets["word"]
        count = len(batch.targets["label"])
        if self.pooling == "first":
            begins = torch.from_numpy(place[np.flatnonzero(np.diff(word, prepend=-1))]).to(logits.device)
            return logits.index_select(0, begins)
        places, words = (torch.from_numpy(array).to(logits.device) for array in (place, word))
        sums = logits.new_zeros(count, logits.shape[1]).index_add(0, words, logits.index_select(0, places))
        if self.pooling == "sum":
            return sums
        return sums / torch.bincount(words, minlength=count)[:, None]

    def loss(self, batch: Batch) -> Tensor:
        """The mean cross-entropy of the batch's units, in nats; of spans, the mean of start's and end's."""
        logits = self(batch)
        names = ("start", "end") if self.kind == "spans" else ("label",)
        losses = [
            cross_entropy(scores, torch.from_numpy(batch.targets[name]).to(scores.device), ignore_index=IGNORED)
            for name, scores in zip(names, logits, strict=True)
        ]
        return torch.stack(losses).mean()


def predict(
    tuner: Tuner, features: Features, examples: Sequence[Example], task: Task, dtype: torch.dtype = torch.float32
) -> Predictions:
    """The label of each pair, the tags of each sentence, or the answer of each question by its id.

    `dtype`: of the layers' products. The model's mode (training or not) stays.
    """
    training = tuner.training
    tuner.eval()
    try:
        if task.kind == "spans":
            starts, ends = _window_scores(tuner, features, dtype)
            answers = best_answers(features, examples, starts, ends)
            return {example.id: answer for example, answer in zip(examples, answers, strict=True)}
        numbers = _highest(tuner, features, dtype)
        if task.kind == "tags":
            return join_tags(features, numbers, task.labels)
        return [task.labels[number] for number in np.concatenate(numbers)]
    finally:
        tuner.train(training)


def _highest(tuner: Tuner, features: Features, dtype: torch.dtype) -> list[np.ndarray]:
    """The number of the best label of each unit (the pair, or its words), by input."""
    found: list[np.ndarray] = [np.zeros(0, np.int64)] * len(features)
    for batch, (logits,) in _outputs(tuner, features, dtype):
        best = logits.argmax(1).cpu().numpy()
        counts = [1] * len(batch.numbers)
        if tuner.kind == "tags":
            counts = [features.row("word", number).max() + 1 for number in batch.numbers]
        for number, part in zip(batch.numbers, np.split(best, np.cumsum(counts)[:-1]), strict=True):
            found[number] = part
    return found


def _window_scores(
    tuner: Tuner, features: Features, dtype: torch.dtype
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Scores of each window's positions as start and as end of the answer: float32 [length], both."""
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
    for numbers in evaluation_batches(features.lengths, TOKENS[device.type]):
        batch = assemble(features, numbers, tuner.pad)
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            logits = tuner(batch)
        yield batch, logits
