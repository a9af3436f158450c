"""Models with a head for each kind of task, on any masked language model's folder, and their predictions."""

from collections.abc import Sequence
from pathlib import Path

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
    settings = {"dtype": torch.float32, **no_code}
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, **no_code)
        if kind != "spans":
            config.num_labels = labels
        torch.manual_seed(seed)
        if not pretrained:
            return HEADS[kind].from_config(config, **settings)
        if not any((folder / name).exists() for name in WEIGHTS):
            raise VocapError(f"{folder}: no {WEIGHTS[0]}; {SAVE}")
        settings |= {"use_safetensors": True, "local_files_only": True, "output_loading_info": True}
        settings["ignore_mismatched_sizes"] = True  # of heads; the others are refused below
        model, loaded = HEADS[kind].from_pretrained(folder, config=config, **settings)
    except (VocapError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # the library raises exceptions of any class for a foreign folder
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise VocapError(f"{folder}: no model for {kind}: {reason}; copy the folder again, or {SAVE}") from None

    # weights that the file lacks are drawn at random: of a head and its pooler, without which models are saved
    made_up = {*loaded["missing_keys"], *(name for name, *_ in loaded["mismatched_keys"])}
    prefix = f"{model.base_model_prefix}."
    own = [name for name in made_up if name.startswith(prefix) and "pooler" not in name.split(".")]
    own = [name for name, _ in model.named_parameters() if name in own]
    if own:
        raise VocapError(
            f"{folder}: the weights lack {own[0]} in the shape that config.json says (one of {len(own)}); "
            f"bring the files of one model, or {SAVE}"
        )
    return model


class Tuner(nn.Module):
    """A model whose logits are those of a task's units: pairs, words, or ends of answers."""

    def __init__(self, model: PreTrainedModel, kind: str, pooling: str = "first") -> None:
        super().__init__()
        self.model, self.kind, self.pooling = model, kind, pooling
        self.pad = model.config.pad_token_id or 0
        self.has_segments = (getattr(model.config, "type_vocab_size", 0) or 0) > 1

    def forward(self, batch: Batch) -> tuple[Tensor, ...]:
        """Logits of pairs [b, labels], of tags [words, labels], of spans two [b, t] (starts, ends).

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
        found = _outputs(tuner, features, dtype)
    finally:
        tuner.train(training)
    if task.kind == "spans":
        starts, ends = zip(*found, strict=True)
        answers = best_answers(features, examples, starts, ends)
        return {example.id: answer for example, answer in zip(examples, answers, strict=True)}
    best = [logits.argmax(1) for (logits,) in found]
    if task.kind == "tags":
        return join_tags(features, best, task.labels)
    return [task.labels[number] for number in np.concatenate(best)]


@torch.inference_mode()
def _outputs(tuner: Tuner, features: Features, dtype: torch.dtype) -> list[tuple[np.ndarray, ...]]:
    """The logits of each input, without those of padding: [1 or words, labels], or two [length] of spans."""
    device = tuner.model.device
    found: list[tuple[np.ndarray, ...]] = [()] * len(features)
    for numbers in evaluation_batches(features.lengths, TOKENS[device.type]):
        batch = assemble(features, numbers, tuner.pad)
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            outputs = [logits.cpu().numpy() for logits in tuner(batch)]
        if tuner.kind == "spans":
            lengths = batch.attention.sum(1)
            parts = [[row[:length] for row, length in zip(logits, lengths, strict=True)] for logits in outputs]
        else:
            counts = [1] * len(numbers)
            if tuner.kind == "tags":
                counts = [features.row("word", number).max() + 1 for number in numbers]
            parts = [np.split(logits, np.cumsum(counts)[:-1]) for logits in outputs]
        for number, *own in zip(numbers, *parts, strict=True):
            found[number] = tuple(own)
    return found
