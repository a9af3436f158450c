"""A linear probe: how much of words' tags a frozen model's states hold, by the official
scores of XTREME's tasks.

The state of a word is the mean of its subwords' last hidden states. On the states of
English training sentences a multinomial logistic regression is fitted (LBFGS, a little
L2); test sentences are tagged word by word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F
from transformers import AutoTokenizer

from vocap.finetuning.encoding import InputEncoder, encode_sentences, join_tags
from vocap.finetuning.examples import TaggedSentence
from vocap.finetuning.features import Features, assemble_inputs
from vocap.finetuning.metrics import chunk_f1
from vocap.finetuning.tasks import TASKS, DataSet
from vocap.pretraining.model import MaskedLanguageModel

BATCH = 128  # inputs at a time
L2 = 1e-4
ITERATIONS = 60


@dataclass(frozen=True)
class Tagging:
    """A task's sentences, encoded: English to train on, `tests` by language with their
    gold tags.
    """

    labels: Sequence[str]
    train: Features
    tests: dict[str, tuple[Features, list[list[str]]]]


def load_tagging(
    xtreme: Path, tokenizer: Path, name: str, languages: Sequence[str], count: int, length: int
) -> Tagging:
    """The first `count` sentences of English `train` and of each language's `test`, in
    inputs of `length` ids.
    """
    task, encoder = TASKS[name], InputEncoder(AutoTokenizer.from_pretrained(tokenizer))

    def encoded(split: str, language: str) -> tuple[Features, list[TaggedSentence]]:
        sentences = DataSet(task, split, language).read(xtreme)[:count]
        return encode_sentences(sentences, encoder, task.labels, length), sentences

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
    whole = assemble_inputs(tagging.train, np.arange(len(tagging.train)), pad=0)
    gold = torch.from_numpy(whole.targets["label"])
    weight, bias = fit((train - mean) / deviation, gold, len(tagging.labels))
    scores = {}
    for language, (features, tags) in tagging.tests.items():
        best = ((states(model, features) - mean) / deviation @ weight + bias).argmax(1).numpy()
        predicted = np.split(best, np.cumsum(words_of(features))[:-1])
        scores[language] = chunk_f1(tags, join_tags(features, predicted, tagging.labels))["f1"]
    return scores


def words_of(features: Features) -> list[int]:
    """The number of words of each input."""
    return [int(features.row("word", number).max()) + 1 for number in range(len(features))]


@torch.no_grad()
def states(model: MaskedLanguageModel, features: Features) -> torch.Tensor:
    """float32 [words, hidden], the mean over the subwords of each word, in the order of
    inputs.
    """
    model.eval()
    counts = words_of(features)
    found: list = [None] * len(features)
    order = np.argsort(features.lengths, kind="stable")
    for start in range(0, len(order), BATCH):
        numbers = order[start : start + BATCH]
        batch = assemble_inputs(features, numbers, model.transformer.config.pad_token_id)
        ids, attention = (torch.from_numpy(array) for array in (batch.input_ids, batch.attention))
        hidden = model.transformer.base_model(
            input_ids=ids, attention_mask=attention
        ).last_hidden_state
        place, word = (torch.from_numpy(batch.targets[name]) for name in ("place", "word"))
        sums = torch.zeros(len(batch.targets["label"]), hidden.shape[-1])
        sums.index_add_(0, word, hidden.flatten(0, 1)[place])
        means = sums / torch.bincount(word)[:, None]
        parts = means.split([counts[number] for number in numbers])
        for number, part in zip(numbers, parts, strict=True):
            found[number] = part
    return torch.cat(found)


def fit(
    states: torch.Tensor, labels: torch.Tensor, classes: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight [hidden, classes] and bias [classes] of a multinomial logistic
    regression.
    """
    weight = torch.zeros(states.shape[1], classes, requires_grad=True)
    bias = torch.zeros(classes, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [weight, bias], max_iter=ITERATIONS, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(states @ weight + bias, labels) + L2 * weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return weight.detach(), bias.detach()
