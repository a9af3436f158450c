"""Which tokens a model must guess: 15 % of a block, as fairseq's `MaskTokensDataset`, special tokens never."""

import numpy as np

from vocap.pretraining.packing import UNK

SHARE = 0.15  # of a block's tokens
AS_MASK, AS_RANDOM = 0.8, 0.9  # below the first: <mask>; below the second: a random id; else as it is


def special_ids(vocabulary: int) -> list[int]:
    """The ids that are neither masked nor drawn nor guessed: <s>, <pad>, </s>, <unk> and <mask>."""
    return [*range(UNK + 1), vocabulary - 1]


def ordinary(ids: np.ndarray, vocabulary: int) -> np.ndarray:
    """bool, the shape of `ids`: whether each is no special token."""
    return (ids > UNK) & (ids < vocabulary - 1)


def mask_tokens(
    ids: np.ndarray, vocabulary: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the model sees of a block, the places that it must guess, and what stood there.

    `ids` int64 [n]; gives int64 [n], [m], [m], places rising. m = floor(0.15 e + u) of the e tokens that are not
    special, u uniform in [0, 1); 80 % of them become <mask>, 10 % an id drawn uniformly from those that are not
    special, 10 % stay.
    """
    eligible = np.flatnonzero(ordinary(ids, vocabulary))
    count = int(SHARE * len(eligible) + random.random())
    places = np.sort(random.choice(eligible, count, replace=False))
    fate = random.random(count)
    drawn = random.integers(UNK + 1, vocabulary - 1, count)
    targets = ids[places]
    seen = ids.copy()
    seen[places] = np.where(fate < AS_MASK, vocabulary - 1, np.where(fate < AS_RANDOM, drawn, targets))
    return seen, places, targets
