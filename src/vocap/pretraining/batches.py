"""Batches of masked blocks, each a pure function of seed, step and place: order, masks, arrays."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from vocap.pretraining.data import Blocks, SpecialIds
from vocap.tables.sampling_probabilities import quotas
from vocap.training.randomness import MASKS, ORDER, generator, mixed, permuted

SHARE = 0.15  # of a block's tokens
AS_MASK, AS_RANDOM = 0.8, 0.9  # below the first: <mask>; below the second: a random id; else as it is
DECK = 1 << 18  # slots divided among the languages at a time; the rarest of the paper's 86 gets 120
HELDOUT_SEED = 0  # held-out blocks have the same masks for every model and seed


class Vocabulary:
    """The ids of a tokenizer as masking sees them: T = `size`, `special`, and `words`, int64, the others."""

    def __init__(self, size: int, special: SpecialIds) -> None:
        self.size, self.special = size, special
        self._ordinary = np.ones(size, bool)
        self._ordinary[special.all] = False
        self.words = np.flatnonzero(self._ordinary)

    def ordinary(self, ids: np.ndarray) -> np.ndarray:
        """bool, the shape of `ids`: True for ids that are not special."""
        return self._ordinary[ids]


def mask_tokens(
    ids: np.ndarray, vocabulary: Vocabulary, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mask a block: the input ids, the positions to predict, and their ids.

    `ids` int64 [n]; gives int64 [n], [m], [m], places rising. m = floor(0.15 e + u) of the e tokens that are not
    special, u uniform in [0, 1); 80 % of them become <mask>, 10 % an id drawn uniformly from those that are not
    special, 10 % stay.
    """
    eligible = np.flatnonzero(vocabulary.ordinary(ids))
    count = int(SHARE * len(eligible) + random.random())
    places = np.sort(random.choice(eligible, count, replace=False))
    draws = random.random(count)
    drawn = vocabulary.words[random.integers(0, len(vocabulary.words), count)]
    targets = ids[places]
    seen = ids.copy()
    seen[places] = np.where(draws < AS_MASK, vocabulary.special.mask, np.where(draws < AS_RANDOM, drawn, targets))
    return seen, places, targets


class Order:
    """The endless sequence of slots of a run; slot `step * batch + place` fills one place of a batch.

    Of every deck of `DECK` slots each language has its share (`quotas`; at least one), in a random order. A
    language's blocks follow in a random order, a new one in each epoch of that language. `blocks`: number of each
    language's blocks; `q`: shares, 0 for languages without blocks.
    """

    def __init__(self, blocks: Sequence[int], q: np.ndarray, seed: int, deck: int = DECK) -> None:
        self.blocks, self.seed = np.asarray(blocks, np.int64), seed
        self.counts = quotas(deck, q).copy()
        for place in np.flatnonzero((np.asarray(q) > 0) & (self.counts == 0)):  # one of those with the most
            self.counts[place] += 1
            self.counts[np.argmax(self.counts)] -= 1
        self.deck = deck
        if (self.counts[self.blocks == 0] > 0).any():
            raise ValueError("a language without blocks has a share")
        self._dealt = lru_cache(2)(self._deal)  # its last two decks

    def _deal(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The languages of one deck, int64 [deck], and for each the number of earlier slots of its language."""
        languages = np.repeat(np.arange(len(self.counts)), self.counts)
        generator(self.seed, ORDER, number).shuffle(languages)
        ordinals = np.empty(self.deck, np.int64)
        starts = np.cumsum(self.counts) - self.counts
        ordinals[np.argsort(languages, kind="stable")] = np.arange(self.deck) - np.repeat(starts, self.counts)
        return languages, ordinals + number * self.counts[languages]

    def slots(self, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The languages (places in `blocks`) and block numbers of `count` slots from `first` on, int64 [count]."""
        languages, ordinals = [], []
        slot = first
        while slot < first + count:
            number, place = divmod(slot, self.deck)
            until = min(self.deck, place + first + count - slot)
            dealt, before = self._dealt(number)
            languages.append(dealt[place:until])
            ordinals.append(before[place:until])
            slot += until - place
        language, ordinal = np.concatenate(languages), np.concatenate(ordinals)
        sizes = self.blocks[language]
        rounds, positions = np.divmod(ordinal, sizes)
        keys = mixed(mixed(mixed(np.uint64(self.seed) + language.astype(np.uint64))) + rounds.astype(np.uint64))
        return language, permuted(positions, sizes, keys)


@dataclass(frozen=True)
class Batch:
    """A few blocks side by side.

    `input_ids` int64 [b, t], padded to the longest; `attention` bool [b, t]; `positions` int64 [m], the masked
    places in the flattened [b * t]; `targets` int64 [m], the ids before masking; `rows` int64 [m], the block of
    each; `tokens`, the number of ids without padding.
    """

    input_ids: np.ndarray
    attention: np.ndarray
    positions: np.ndarray
    targets: np.ndarray
    rows: np.ndarray
    tokens: int


def assemble(
    blocks: Sequence[np.ndarray], vocabulary: Vocabulary, randoms: Iterable[np.random.Generator]
) -> Batch:
    """Mask each block (int64 [n]) with its own generator and put them side by side."""
    width = max(map(len, blocks))
    input_ids = np.full((len(blocks), width), vocabulary.special.pad, np.int64)
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
    """The batches of a run; this process makes the micro-batches `rank`, `rank + ranks`, ...

    The blocks of a micro-batch and their masks do not depend on the number of ranks.
    """

    def __init__(
        self,
        languages: Sequence[Blocks],
        q: np.ndarray,
        vocabulary: Vocabulary,
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


@dataclass(frozen=True)
class HeldoutBlock:
    """One held-out block: index of its language, ids int64 [n], bytes of its text, its number."""

    language: int
    ids: np.ndarray
    size_bytes: int
    number: int


def heldout_blocks(languages: Sequence[Blocks], count: int) -> list[HeldoutBlock]:
    """Up to `count` held-out blocks of each language, evenly spaced."""
    chosen = []
    for place, blocks in enumerate(languages):
        take = min(count, len(blocks))
        for number in (len(blocks) * np.arange(take) // max(take, 1)).tolist():
            chosen.append(HeldoutBlock(place, blocks[number], int(blocks.size_bytes[number]), number))
    return chosen


def heldout_batch(blocks: Sequence[HeldoutBlock], vocabulary: Vocabulary) -> Batch:
    """These blocks with their fixed masks, a function of the language's index and the block's number."""
    randoms = (generator(HELDOUT_SEED, MASKS, block.number, block.language) for block in blocks)
    return assemble([block.ids for block in blocks], vocabulary, randoms)
