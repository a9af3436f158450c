"""Encoded inputs of one data set as flat arrays, in memory or memory-mapped, and
batches of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from vocap.files.written import written_by
from vocap.training.randomness import ORDER, generator

IGNORED = -100  # a label that is not trained on: of a blank file, or no word's
# batches whose inputs are sorted together: their lengths are near each other, their
# order stays random
POOL = 64


@dataclass(frozen=True)
class Features:
    """Inputs in the order of their examples; an example may have several.

    `starts`: int64 [inputs + 1]; input i has the tokens from starts[i] to starts[i +
    1], special ones included. `inputs`: int32 [inputs] by name. `example`, the number
    of its example; `second`, where the second text begins (after the special tokens
    before it), the input's length where there is none; of pairs `label`; of spans
    `start` and `end`, the first answer's first and last subword, both 0 where the
    window lacks some of it. `tokens`: [tokens] by name. `ids` int32; of tags int32
    `word`, the number of its word in the input (-1 outside words), and that word's
    `label`; of spans `offsets` int32 [tokens, 2], the code points of the original
    context that it stands for (-1 outside), and `best` bool, whether of all windows
    this one gives it the most context. Labels are numbers of the task's, or IGNORED.
    """

    starts: np.ndarray
    inputs: Mapping[str, np.ndarray]
    tokens: Mapping[str, np.ndarray]

    @classmethod
    def of(
        cls,
        inputs: Sequence[str],
        tokens: Sequence[str],
        rows: Iterable[tuple[Any, ...]],
    ) -> "Features":
        """From the numbers named `inputs` and the arrays named `tokens` of each input, at
        least one.
        """
        columns = dict(zip([*inputs, *tokens], zip(*rows, strict=True), strict=True))
        held = {name: np.concatenate(columns[name]) for name in tokens}
        return cls(
            np.cumsum([0, *map(len, columns["ids"])], dtype=np.int64),
            {name: np.array(columns[name], np.int32) for name in inputs},
            {
                name: values if values.dtype == bool else values.astype(np.int32)
                for name, values in held.items()
            },
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> np.ndarray:
        """int64 [inputs]"""
        return np.diff(self.starts)

    @property
    def examples(self) -> int:
        """The number of examples."""
        return int(self.inputs["example"][-1]) + 1

    def row(self, name: str, number: int) -> np.ndarray:
        """A column of `tokens` for one input, a view."""
        return self.tokens[name][self.starts[number] : self.starts[number + 1]]

    def of_first_examples(self, count: int | None) -> "Features":
        """Views of the inputs of the first `count` examples; all where it is None."""
        if count is None:
            return self
        rows = int(np.searchsorted(self.inputs["example"], count))
        return Features(
            self.starts[: rows + 1],
            {name: values[:rows] for name, values in self.inputs.items()},
            {name: values[: self.starts[rows]] for name, values in self.tokens.items()},
        )


def save_features(folder: Path, features: Features) -> None:
    """Write starts.npy, and every other array as inputs/NAME.npy or tokens/NAME.npy."""
    arrays = {"starts": features.starts}
    for part in ("inputs", "tokens"):
        (folder / part).mkdir(parents=True)
        arrays |= {f"{part}/{name}": values for name, values in getattr(features, part).items()}
    for name, values in arrays.items():
        with open(
            folder / f"{name}.npy", "wb"
        ) as file:  # as np.save, whose errors do not say why a write failed
            np.lib.format.write_array_header_1_0(
                file, np.lib.format.header_data_from_array_1_0(values)
            )
            file.write(np.ascontiguousarray(values).data)


def load_features(folder: Path) -> Features:
    """The features in a folder of `save_features`, memory-mapped."""
    parts = {}
    with written_by("encode", folder):
        starts = np.load(folder / "starts.npy")
        for part in ("inputs", "tokens"):
            files = sorted((folder / part).iterdir())
            parts[part] = {path.stem: np.load(path, mmap_mode="r") for path in files}
    return Features(starts, **parts)


@dataclass(frozen=True)
class InputBatch:
    """A batch of b inputs of t ids.

    `input_ids` int64 [b, t], padded to the longest; `attention` bool [b, t]; `segments`
    int64 [b, t], 1 in the second text. `targets`, int64: of pairs `label` [b]; of tags
    `label` [w], and for the p subwords of the w words `place` [p] in the flattened [b *
    t] and `word` [p]; of spans `start` and `end` [b].
    """

    input_ids: np.ndarray
    attention: np.ndarray
    segments: np.ndarray
    targets: dict[str, np.ndarray]

    @property
    def tokens(self) -> int:
        """Ids that are no padding."""
        return int(self.attention.sum())


def assemble_inputs(
    features: Features, numbers: np.ndarray, pad: int, width: int | None = None
) -> InputBatch:
    """The inputs `numbers`, padded with the id `pad` to the longest of them, or to
    `width`.
    """
    lengths = features.starts[numbers + 1] - features.starts[numbers]
    attention = np.arange(width or int(lengths.max())) < lengths[:, None]

    def padded(name: str, fill: int) -> np.ndarray:
        values = np.full(attention.shape, fill, np.int64)
        values[attention] = np.concatenate([features.row(name, number) for number in numbers])
        return values

    second = features.inputs["second"][numbers]
    segments = (np.arange(attention.shape[1]) >= second[:, None]) & attention
    if "word" in features.tokens:
        word = padded("word", -1)
        inside = word >= 0
        counts = word.max(axis=1) + 1
        word = (word + (np.cumsum(counts) - counts)[:, None])[inside]
        label = padded("label", IGNORED)[inside]
        firsts = np.flatnonzero(np.diff(word, prepend=-1))
        targets = {"place": np.flatnonzero(inside), "word": word, "label": label[firsts]}
    else:
        names = [name for name in ("label", "start", "end") if name in features.inputs]
        targets = {name: features.inputs[name][numbers].astype(np.int64) for name in names}
    return InputBatch(padded("ids", pad), attention, segments.astype(np.int64), targets)


class LengthBatches:
    """The batches of a training, with each input once in an epoch.

    An epoch is a random order, cut into pools of `POOL` batches; a pool is sorted by
    length and cut into batches, and all batches of the epoch come in a random order.
    The last batch of the last pool may be smaller.
    """

    def __init__(self, features: Features, batch: int, seed: int, pad: int) -> None:
        self.features, self.batch, self.seed, self.pad = features, batch, seed, pad
        self.lengths = features.lengths
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
            batches += [
                pool[place : place + self.batch] for place in range(0, len(pool), self.batch)
            ]
        return [batches[place] for place in random.permutation(len(batches))]

    def members(self, step: int) -> np.ndarray:
        """The numbers of the inputs of a step, int64 [b]."""
        epoch, place = divmod(step, self.steps_per_epoch)
        return self._epoch(epoch)[place]

    def step(self, step: int) -> InputBatch:
        return assemble_inputs(self.features, self.members(step), self.pad)


def evaluation_batches(lengths: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Every input once, by length, longest first, in batches of at most `most` ids with
    their padding.

    `lengths` int64 [inputs]; an input of more than `most` ids has a batch of its own.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        count = max(1, most // max(1, int(lengths[order[start]])))
        yield order[start : start + count]
        start += count
