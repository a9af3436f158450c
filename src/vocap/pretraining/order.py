"""Which block of which language stands at each place of each batch: Equation 3, as a pure function."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from vocap.corpora.mixing import quotas
from vocap.pretraining.randomness import ORDER, generator, mixed, permuted

DECK = 1 << 18  # slots that are shared out among the languages at a time; the rarest of the paper's 86 gets 120


class Order:
    """The endless sequence of slots of a run; slot `step * batch + place` is what a batch holds at a place.

    Every deck of `DECK` slots gives each language its share of it (`quotas`; at least one), in a random order. A
    language's blocks come in a random order too, another one each time round, and each comes once before any comes
    again. `blocks` is how many each language has, `q` its share; languages without blocks have the share 0.
    """

    def __init__(self, blocks: Sequence[int], q: np.ndarray, seed: int, deck: int = DECK) -> None:
        self.blocks, self.seed = np.asarray(blocks, np.int64), seed
        self.counts = _at_least_one(quotas(deck, q), np.asarray(q) > 0)
        self.deck = deck
        if (self.counts[self.blocks == 0] > 0).any():
            raise ValueError("a language without blocks has a share")
        self._dealt = lru_cache(2)(self._deal)

    def _deal(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The languages of one deck, int64 [deck], and how many slots of the same language came before each."""
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


def _at_least_one(counts: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Give each present language a slot, taken from those that have the most."""
    counts = counts.copy()
    for place in np.flatnonzero(present & (counts == 0)):
        counts[place] += 1
        counts[np.argmax(counts)] -= 1
    return counts
