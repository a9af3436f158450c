"""Which parts of a text's files are read where not all are, and the estimate of the
whole from them.

A part is drawn with a probability in proportion to its stored bytes, so that the sample
of lines is as even as the text, and each part estimates the whole (Hansen and Hurwitz;
Cochran, Sampling Techniques, 3rd edition, section 9A.3).
"""

import math
from collections.abc import Iterable, Iterator
from statistics import NormalDist

import numpy as np

QUOTA = 1 << 20  # bytes read of a file for each position in it
LEAST_POSITIONS = 8  # so many, where the limit allows fewer of that size
# of a compressed file less is a block or two, whose text is not that of as many bytes:
# then fewer positions, but this number
LEAST_QUOTA, FEWEST = 1 << 18, 4
MISSES = 1000  # positions in a row that bring nothing new: nearly all is read
_GOLDEN = (math.sqrt(5) - 1) / 2
_COVERED = 0.975  # Student's t below the upper end of the interval of 95 %
_FEW = (12.706, 4.303, 3.182, 2.776)  # that quantile for 1 to 4 degrees of freedom


def positions(seed: int) -> Iterator[float]:
    """Positions in [0, 1) without end, of which every prefix is spread evenly: steps of
    the golden ratio from a random start (Kronecker's sequence).
    """
    place = float(np.random.Generator(np.random.PCG64([seed, 3])).random())
    while True:
        yield place
        place = (place + _GOLDEN) % 1.0


def part_at(sizes: np.ndarray, place: float) -> tuple[int, float]:
    """The part at a position in [0, 1) of all bytes, and the position in that part."""
    bounds = np.cumsum(sizes)
    offset = place * bounds[-1]
    index = min(int(np.searchsorted(bounds, offset, side="right")), len(sizes) - 1)
    return index, 1 - float(bounds[index] - offset) / float(sizes[index])


def quota_of(limit: int) -> int:
    """Bytes read for each position, by the limit for all."""
    return max(1, min(LEAST_QUOTA, limit // FEWEST), min(QUOTA, limit // LEAST_POSITIONS))


def spread_quotas(sizes: np.ndarray, limit: int, quota: int, places: Iterable[float]) -> np.ndarray:
    """The number of positions in each file, int64, until the beginnings of `quota` bytes
    for each of them amount to `limit`.

    >>> spread_quotas(np.array([100, 300]), 40, 10, positions(1))
    array([1, 3])
    """
    counts = np.zeros(len(sizes), np.int64)
    left, misses = limit, 0
    for place in places:
        index, _ = part_at(sizes, place)
        brought = max(0, min(quota, int(sizes[index] - counts[index] * quota)))
        misses = 0 if brought else misses + 1
        if brought > left or misses == MISSES:
            break
        counts[index] += 1
        left -= brought
    return counts


def estimate_total(
    total: int, drawn: np.ndarray, spans: np.ndarray, values: np.ndarray
) -> tuple[float, tuple[float, float] | None]:
    """The sum of a value over all parts of a text, and its interval of 95 %, None of
    fewer than two parts.

    Parameters
    ----------
    total
        Stored bytes of the text.
    drawn, spans, values
        Of each part that was read: the positions in it, the stored bytes that its value
        is of, and the value.

    Notes
    -----
    The interval is Student's; its variance, with replacement, is taken times the share
    of bytes that were not read, so it closes where everything was. Within a text that
    drifts it is too wide: the positions are spread more evenly than random ones.
    """
    ratios, shares = values / spans, drawn / drawn.sum()
    mean = float(shares @ ratios)
    count = len(ratios)
    if count < 2:
        return total * mean, None
    unread = max(0.0, 1 - float(spans.sum()) / total)
    variance = unread * count / (count - 1) * float(shares**2 @ (ratios - mean) ** 2)
    width = student_quantile(count - 1) * math.sqrt(variance)
    return total * mean, (total * max(0.0, mean - width), total * (mean + width))


def student_quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's t: Fisher's expansion from 5 degrees of freedom on,
    within 0.2 %.

    >>> round(student_quantile(5), 2), round(student_quantile(1000), 2)
    (2.57, 1.96)
    """
    if freedom <= len(_FEW):
        return _FEW[freedom - 1]
    z = NormalDist().inv_cdf(_COVERED)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
