"""Batches of inputs of similar length: arrays in, arrays out; each a pure function of seed and step."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from vocap.finetuning.features import Features, PairFeatures, TagFeatures
from vocap.training.randomness import ORDER, generator

POOL = 64  # batches whose inputs are sorted together: their lengths are near each other, their order stays random
IGNORED = -100  # a target that is not trained on


@dataclass(frozen=True)
class Batch:
    """A batch of b inputs of t ids.

    `numbers` int64 [b], which inputs; `input_ids` int64 [b, t], padded to the longest; `attention` bool [b, t];
    `segments` int64 [b, t], 1 in the second text. `targets`, int64: of pairs `label` [b]; of tags `label` [w], and
    for the p subwords of the w words `place` [p] in the flattened [b * t] and `word` [p]; of spans `start` and
    `end` [b].
    """

    numbers: np.ndarray
    input_ids: np.ndarray
    attention: np.ndarray
    segments: np.ndarray
    targets: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """Ids that are no padding."""
        return int(self.attention.sum())


def assemble(features: Features, numbers: np.ndarray, pad: int, width: int | None = None) -> Batch:
    """The inputs `numbers`, padded with the id `pad` to the longest of them, or to `width`."""
    rows = [features.ids[number] for number in numbers]
    lengths = np.array([len(row) for row in rows])
    width = width or int(lengths.max())
    input_ids = np.full((len(rows), width), pad, np.int64)
    for place, row in enumerate(rows):
        input_ids[place, : len(row)] = row
    attention = np.arange(width) < lengths[:, None]
    segments = (np.arange(width) >= features.second[numbers][:, None]) & attention
    if isinstance(features, TagFeatures):
        targets = _words(features, numbers, width)
    elif isinstance(features, PairFeatures):
        targets = {"label": features.label[numbers]}
    else:
        targets = {"start": features.start[numbers], "end": features.end[numbers]}
    return Batch(
        numbers,
        input_ids,
        attention,
        segments.astype(np.int64),
        {name: np.asarray(value, np.int64) for name, value in targets.items()},
    )


def _words(features: TagFeatures, numbers: np.ndarray, width: int) -> dict[str, np.ndarray]:
    first = np.concatenate([features.first[number] + row * width for row, number in enumerate(numbers)])
    last = np.concatenate([features.last[number] + row * width for row, number in enumerate(numbers)])
    lengths = last - first
    word = np.repeat(np.arange(len(first)), lengths)
    place = np.arange(len(word)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(first, lengths)
    label = np.concatenate([features.label[number] for number in numbers])
    return {"place": place, "word": word, "label": np.where(label < 0, IGNORED, label)}


class LengthBatches:
    """The batches of a training, with each input once in an epoch.

    An epoch is a random order, cut into pools of `POOL` batches; a pool is sorted by length and cut into batches,
    and all batches of the epoch come in a random order. The last batch of the last pool may be smaller.
    """

    def __init__(self, features: Features, batch: int, seed: int, pad: int) -> None:
        self.features, self.batch, self.seed, self.pad = features, batch, seed, pad
        self.lengths = features.ids.lengths
        self.steps_per_epoch = -(-len(features) // batch)
        self._epoch = lru_cache(2)(self._shuffled)

    def _shuffled(self, epoch: int) -> list[np.ndarray]:
        """The numbers of each batch of one epoch."""
        random = generator(self.seed, ORDER, epoch)
        order = random.permutation(len(self.features))
        batches = []
        for start in range(0, len(order), POOL * self.batch):
            pool = order[start : start + POOL * self.batch]
            pool = pool[np.argsort(self.lengths[pool], kind="stable")]
            batches += [pool[place : place + self.batch] for place in range(0, len(pool), self.batch)]
        return [batches[place] for place in random.permutation(len(batches))]

    def members(self, step: int) -> np.ndarray:
        """The numbers of the inputs of a step, int64 [b]."""
        epoch, place = divmod(step, self.steps_per_epoch)
        return self._epoch(epoch)[place]

    def step(self, step: int) -> Batch:
        return assemble(self.features, self.members(step), self.pad)


def evaluation_batches(lengths: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Every input once, by length, longest first, in batches of at most `most` ids with their padding.

    `lengths` int64 [inputs]; an input of more than `most` ids has a batch of its own.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        count = max(1, most // max(1, int(lengths[order[start]])))
        yield order[start : start + count]
        start += count
