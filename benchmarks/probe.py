"""A linear probe: how much of words' tags a frozen model's states hold, by the official scores of XTREME's tasks.

The state of a word is the mean of its subwords' last hidden states. On the states of English training sentences a
multinomial logistic regression is fitted (LBFGS, a little L2); test sentences are tagged word by word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F
from transformers import AutoTokenizer

from vocap.finetuning.encoding import encode_sentences, join_tags
from vocap.finetuning.features import TagFeatures
from vocap.finetuning.formats import Sentence
from vocap.finetuning.metrics import chunk_f1
from vocap.finetuning.reading import read
from vocap.finetuning.tasks import TASKS
from vocap.pretraining.model import MaskedLanguageModel

BATCH = 128  # inputs at a time
L2 = 1e-4
ITERATIONS = 60


@dataclass(frozen=True)
class Tagging:
    """A task's sentences, encoded: English to train on, `tests` by language with their gold tags."""

    labels: Sequence[str]
    train: TagFeatures
    tests: dict[str, tuple[TagFeatures, list[list[str]]]]


def load_tagging(
    xtreme: Path, tokenizer: Path, name: str, languages: Sequence[str], count: int, length: int
) -> Tagging:
    """The first `count` sentences of English `train` and of each language's `test`, in inputs of `length` ids."""
    task, fast = TASKS[name], AutoTokenizer.from_pretrained(tokenizer)

    def encoded(split: str, language: str) -> tuple[TagFeatures, list[Sentence]]:
        sentences = read(xtreme, task, split, language)[:count]
        return encode_sentences(sentences, fast, task.labels, length), sentences

    tests = {language: encoded("test", language) for language in languages}
    gold = {
        language: (features, [list(sentence.tags) for sentence in sentences])
        for language, (features, sentences) in tests.items()
    }
    return Tagging(task.labels, encoded("train", "en")[0], gold)


def probe(model: MaskedLanguageModel, tagging: Tagging) -> dict[str, float]:
    """Chunk F1 in percent by language of the linear probe on the states of `model`."""
    train = states(model, tagging.train)
    mean, deviation = train.mean(0), train.std(0) + 1e-6
    gold = torch.from_numpy(tagging.train.label.values.astype(np.int64))
    weight, bias = fit((train - mean) / deviation, gold, len(tagging.labels))
    scores = {}
    for language, (features, tags) in tagging.tests.items():
        best = ((states(model, features) - mean) / deviation @ weight + bias).argmax(1).numpy()
        predicted = np.split(best, features.label.starts[1:-1])
        scores[language] = chunk_f1(tags, join_tags(features, predicted, tagging.labels))["f1"]
    return scores


@torch.no_grad()
def states(model: MaskedLanguageModel, features: TagFeatures) -> torch.Tensor:
    """float32 [words, hidden], in the order of `features.word`."""
    model.eval()
    found: list = [None] * len(features)
    order = np.argsort(features.ids.lengths, kind="stable")
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH].tolist()
        width = max(len(features.ids[row]) for row in rows)
        pad = model.transformer.config.pad_token_id
        ids = torch.full((len(rows), width), pad)
        for place, row in enumerate(rows):
            ids[place, : len(features.ids[row])] = torch.from_numpy(features.ids[row].astype(np.int64))
        hidden = model.transformer.base_model(input_ids=ids, attention_mask=ids != pad).last_hidden_state
        sums = F.pad(hidden.cumsum(1), (0, 0, 1, 0))
        for place, row in enumerate(rows):
            first, last = (
                torch.from_numpy(edge[row].astype(np.int64)) for edge in (features.first, features.last)
            )
            found[row] = (sums[place, last] - sums[place, first]) / (last - first)[:, None]
    return torch.cat(found)


def fit(states: torch.Tensor, labels: torch.Tensor, classes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight [hidden, classes] and bias [classes] of a multinomial logistic regression."""
    weight = torch.zeros(states.shape[1], classes, requires_grad=True)
    bias = torch.zeros(classes, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=ITERATIONS, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(states @ weight + bias, labels) + L2 * weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return weight.detach(), bias.detach()
