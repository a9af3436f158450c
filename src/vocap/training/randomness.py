"""Random numbers as pure functions of seed, purpose and place: a run resumes at any
step, on any machine.
"""

import numpy as np

ORDER, MASKS, DROPOUT, NEGATIVES = range(4)  # streams of one seed
SMALL = 64  # places of a range that is ranked as a whole
_MASK64 = (1 << 64) - 1


def generator(
    seed: int, stream: int, first: int, second: int = 0, third: int = 0
) -> np.random.Generator:
    """The generator of one purpose: equal arguments give equal numbers, independent of
    earlier draws.

    Philox is a function of key and counter: key (seed, stream), counter from (0, third,
    second, first) on. Other arguments, other numbers: no two overlap in fewer than 2^66
    of them.
    """
    key = np.array([seed & _MASK64, stream], np.uint64)
    counter = np.array([0, third, second, first], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def mixed(values: np.ndarray) -> np.ndarray:
    """uint64 to uint64, one to one and well scrambled: the finaliser of SplitMix64
    (Steele et al. 2014).
    """
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def permuted(positions: np.ndarray, sizes: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """The image of each position in a random permutation of its own range [0, size),
    which is never stored.

    `positions`, `sizes` int64 [n] with 0 <= position < size, `keys` uint64 [n], one a
    permutation; gives int64 [n].
    """
    sizes, positions = np.asarray(sizes, np.int64), np.asarray(positions, np.int64)
    small = sizes <= SMALL
    places = np.empty(len(positions), np.int64)
    places[small] = _ranked(positions[small], sizes[small], keys[small])
    places[~small] = _walked(positions[~small], sizes[~small], keys[~small])
    return places


def _ranked(positions: np.ndarray, sizes: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """The rank of each position's random number among those of its range."""
    numbers = mixed(keys[:, None] ^ mixed(np.arange(1, SMALL + 1, dtype=np.uint64)))
    own = np.take_along_axis(numbers, positions[:, None], 1)
    return ((numbers < own) & (np.arange(SMALL) < sizes[:, None])).sum(1)


def _walked(positions: np.ndarray, sizes: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """A Feistel network of six rounds over the fewest bits, an even number, that hold
    the range, walked until it falls inside (Black and Rogaway 2002). Too few bits would
    not mix: small ranges are ranked instead.
    """
    half = np.array([(int(size - 1).bit_length() + 1) // 2 for size in sizes.tolist()], np.uint64)
    low = (np.uint64(1) << half) - np.uint64(1)
    values, limits = positions.astype(np.uint64), sizes.astype(np.uint64)
    outside = np.ones(len(values), bool)
    while outside.any():
        shift, mask, key = half[outside], low[outside], keys[outside]
        left, right = values[outside] >> shift, values[outside] & mask
        for turn in range(6):
            turned = mixed(key ^ mixed(right + np.uint64(turn << 32)))
            left, right = right, left ^ (turned & mask)
        values[outside] = left << shift | right
        outside &= values >= limits
    return values.astype(np.int64)
