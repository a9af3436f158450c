"""Batches of masked blocks: arrays in, arrays out; every one a pure function of seed, step and place."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from vocap.pretraining.blocks import Blocks
from vocap.pretraining.masking import mask_tokens, ordinary
from vocap.pretraining.order import Order
from vocap.pretraining.packing import PAD
from vocap.pretraining.randomness import MASKS, generator

HELDOUT_SEED = 0  # held-out blocks are masked alike for every model, whatever its seed


@dataclass(frozen=True)
class Batch:
    """A few blocks side by side.

    `input_ids` int64 [b, t], padded to the longest; `attention` bool [b, t]; `positions` int64 [m], the masked
    places counted through the flattened [b * t]; `targets` int64 [m], what stood there; `rows` int64 [m], the
    block that each belongs to; `tokens`, ids that are no padding.
    """

    input_ids: np.ndarray
    attention: np.ndarray
    positions: np.ndarray
    targets: np.ndarray
    rows: np.ndarray
    tokens: int


def assemble(blocks: Sequence[np.ndarray], vocabulary: int, randoms: Iterable[np.random.Generator]) -> Batch:
    """Mask each block (int64 [n]) with its own generator and put them side by side."""
    width = max(map(len, blocks))
    input_ids = np.full((len(blocks), width), PAD, np.int64)
    positions, targets, rows = [], [], []
    for row, (ids, random) in enumerate(zip(blocks, randoms, strict=True)):
        seen, places, hidden = mask_tokens(ids, vocabulary, random)
        input_ids[row, : len(seen)] = seen
        positions.append(places + row * width)
        targets.append(hidden)
        rows.append(np.full(len(places), row, np.int64))
    lengths = np.array([len(ids) for ids in blocks])
    return Batch(
        input_ids,
        np.arange(width) < lengths[:, None],
        np.concatenate(positions),
        np.concatenate(targets),
        np.concatenate(rows),
        int(lengths.sum()),
    )


class TrainingBatches:
    """The batches of a run, of which this process makes the micro-batches `rank`, `rank + ranks`, ...

    Which blocks a micro-batch holds and how they are masked does not depend on the number of ranks.
    """

    def __init__(
        self,
        languages: Sequence[Blocks],
        q: np.ndarray,
        vocabulary: int,
        seed: int,
        batch: int,
        micro_batch: int,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        self.languages, self.vocabulary, self.seed = languages, vocabulary, seed
        self.batch, self.micro_batch, self.rank, self.ranks = batch, micro_batch, rank, ranks
        self.order = Order([len(blocks) for blocks in languages], q, seed)

    @property
    def micro_batches(self) -> list[int]:
        """The numbers of this process's micro-batches within a step."""
        return list(range(self.rank, -(-self.batch // self.micro_batch), self.ranks))

    def members(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Languages and block numbers of the whole batch of a step, int64 [batch]."""
        return self.order.slots(step * self.batch, self.batch)

    def micro(self, step: int, number: int) -> Batch:
        """One micro-batch of a step."""
        first = number * self.micro_batch
        places = range(first, min(first + self.micro_batch, self.batch))
        languages, blocks = self.order.slots(step * self.batch + first, len(places))
        pairs = zip(languages.tolist(), blocks.tolist(), strict=True)
        ids = [self.languages[language][block] for language, block in pairs]
        return assemble(ids, self.vocabulary, (generator(self.seed, MASKS, step, place) for place in places))

    def step(self, step: int) -> list[Batch]:
        """This process's micro-batches of a step."""
        return [self.micro(step, number) for number in self.micro_batches]


class Steps(Protocol):
    """What is trained on: whatever one step takes, as a function of its number."""

    def step(self, step: int) -> Any: ...


class Prefetch:
    """Makes the next steps' batches in threads while a step is trained; threads change the speed alone."""

    def __init__(self, batches: Steps, first: int, last: int, threads: int = 1, ahead: int = 2) -> None:
        self._batches, self._last, self._next = batches, last, first
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="batches")
        self._waiting: list[Future] = []
        for _ in range(ahead):
            self._submit()

    def _submit(self) -> None:
        if self._next < self._last:
            self._waiting.append(self._pool.submit(self._batches.step, self._next))
            self._next += 1

    def __iter__(self):
        while self._waiting:
            ready = self._waiting.pop(0).result()
            self._submit()
            yield ready

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class HeldoutBlock:
    """One block to be measured: its language's place, ids int64 [n], bytes of its text, its number."""

    language: int
    ids: np.ndarray
    size_bytes: int
    number: int

    def text_tokens(self, vocabulary: int) -> int:
        """The tokens that could have been masked."""
        return int(ordinary(self.ids, vocabulary).sum())


def heldout_blocks(languages: Sequence[Blocks], count: int) -> list[HeldoutBlock]:
    """Up to `count` held-out blocks of each language, spread evenly over what it has."""
    chosen = []
    for place, blocks in enumerate(languages):
        take = min(count, len(blocks))
        for number in (len(blocks) * np.arange(take) // max(take, 1)).tolist():
            chosen.append(HeldoutBlock(place, blocks[number], int(blocks.size_bytes[number]), number))
    return chosen


def heldout_batch(blocks: Sequence[HeldoutBlock], vocabulary: int) -> Batch:
    """These blocks, masked as always: the masks depend on the language's place and the block's number."""
    randoms = (generator(HELDOUT_SEED, MASKS, block.number, block.language) for block in blocks)
    return assemble([block.ids for block in blocks], vocabulary, randoms)
