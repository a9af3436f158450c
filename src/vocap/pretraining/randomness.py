"""Random numbers as pure functions of what they are for, so that a run can go on from any step, on any machine."""

import numpy as np

ORDER, MASKS, DROPOUT = range(3)  # streams of one seed
_MASK64 = (1 << 64) - 1


def generator(seed: int, stream: int, first: int, second: int = 0) -> np.random.Generator:
    """The generator of one purpose: equal arguments, equal numbers, whatever was drawn before.

    Philox is a function of key and counter: key (seed, stream), counter from (0, 0, second, first) on.
    """
    key = np.array([seed & _MASK64, stream], np.uint64)
    counter = np.array([0, 0, second, first], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def mixed(values: np.ndarray) -> np.ndarray:
    """uint64 to uint64, one to one and well scrambled: the finaliser of SplitMix64 (Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def permuted(positions: np.ndarray, sizes: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Where each position lies in a random permutation of its own range [0, size), without making the permutation.

    `positions`, `sizes` int64 [n] with 0 <= position < size, `keys` uint64 [n], one a permutation; gives int64
    [n]. A Feistel network of four rounds over the smallest even number of bits that holds the range, walked until
    it falls inside (Black and Rogaway 2002).
    """
    sizes = np.asarray(sizes, np.uint64)
    half = np.array([max(4, (int(size - 1).bit_length() + 1) // 2) for size in sizes.tolist()], np.uint64)
    low = (np.uint64(1) << half) - np.uint64(1)
    values = np.asarray(positions, np.uint64).copy()
    outside = np.ones(len(values), bool)
    while outside.any():
        shift, mask, key = half[outside], low[outside], keys[outside]
        left, right = values[outside] >> shift, values[outside] & mask
        for turn in range(6):
            turned = mixed(key ^ mixed(right + np.uint64(turn << 32)))
            left, right = right, left ^ (turned & mask)
        values[outside] = left << shift | right
        outside &= values >= sizes
    return values.astype(np.int64)
