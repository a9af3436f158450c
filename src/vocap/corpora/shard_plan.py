"""Which parts of a text's files are read where not all are, and the estimate of the
whole from them.

Every line is to have the same chance. A file is drawn with a probability, of a drawn one
a share of its bytes is read, and the product of both is the same for all files, the
share of the text that is read (`draw_lengths`). Row groups of Parquet are drawn from
the files that are drawn, each with the probability that is that share, so that all of
the text have the same one, whatever their bytes and rows (two-stage sampling; Särndal,
Swensson and Wretman, Model Assisted Survey Sampling, section 4.3). Of other files the
beginning is read: they cannot be entered in the middle where they are compressed, so of
a file whose text drifts from its beginning to its end the sample is of its beginning.
"""

import math

import numpy as np

QUOTA = 1 << 18  # bytes read of a file at least; less is a block or two of compressed data
BZIP2_QUOTA = 1 << 19  # of bzip2, whose blocks hold up to 900,000 bytes of text
# standard deviation, of a value by byte, between the beginnings of files and what follows:
# of even text it differs by up to 4 % (xz; zstd of level 19 without the length of the text)
BEGINNING = 0.025
FEWEST = 4  # files, where the limit allows fewer of a quota
# starts that are tried for the most that a draw costs; by how much its chances are lowered,
# and how often at most, to half of them: one item may cost more than the limit by itself
_STARTS, _LOWER, _LOWERINGS = 32, 0.97, 23
# the quantile of 97.5 % of the normal distribution, 1.96, with Fisher's terms for Student's t,
# the last first
_FISHER = (2.555850, 2.822499, 2.372271, 1.959964)
_FEW = (12.706, 4.303, 3.182, 2.776)  # that quantile for 1 to 4 degrees of freedom


def draw_items(chances: np.ndarray, start: float) -> np.ndarray:
    """Whether each item is drawn, by its probability (at most 1), for a `start` drawn from
    [0, 1): systematic sampling (Madow 1949), spread evenly over the items in their order.

    >>> draw_items(np.array([0.5, 0.25, 0.25, 1.0]), 0.3)
    array([False,  True, False,  True])
    """
    return np.diff(np.floor(np.cumsum(chances) + start), prepend=0.0) > 0


def draw_lengths(sizes: np.ndarray, rate: float, quota: float, start: float) -> np.ndarray:
    """The bytes to read of each file, float64, 0 of those that are not drawn.

    Parameters
    ----------
    sizes
        Bytes of the files, int64.
    rate
        Share of the text that is read on average, at most 1.
    quota
        Bytes read of a drawn file at least, or all that it has.
    start
        As of `draw_items`.

    Notes
    -----
    Of a file of S bytes `max(quota, rate * S)` are read, at most S, with a probability
    of `rate * S` over them: `rate * S` bytes on average of every file.
    """
    lengths = np.clip(rate * sizes, np.minimum(quota, sizes), sizes)
    drawn = draw_items(rate * sizes / np.maximum(lengths, 1), start)
    return np.where(drawn, lengths, 0.0)


def fit_chances(chances: np.ndarray, costs: np.ndarray, limit: float) -> np.ndarray:
    """The chances of items, all lowered by one factor until what is drawn costs no more
    than `limit` together, from whichever start.

    Leaving out what goes beyond the limit after the draw would lower the chance of
    costly items alone.
    """
    starts = (np.arange(_STARTS) + 0.5) / _STARTS
    for _ in range(_LOWERINGS):
        if all(costs[draw_items(chances, start)].sum() <= limit for start in starts):
            break
        chances = chances * _LOWER
    return chances


def estimate_total(
    total: int, spans: np.ndarray, values: np.ndarray, unlike: float = 0.0
) -> tuple[float, tuple[float, float] | None]:
    """The sum of a value over all parts of a text, and its interval of 95 %, None of
    fewer than two parts.

    Parameters
    ----------
    total
        Stored bytes of the text.
    spans, values
        Of each part that was read: the stored bytes that its value is of, and the value.
    unlike
        Standard deviation, as a share of the estimate, between all parts and what was
        not read: `BEGINNING` for parts that are the beginnings of files.

    Notes
    -----
    The values by byte of the parts, times `total` (a ratio estimate; Cochran, Sampling
    Techniques, 3rd edition, section 6.3). The interval is Student's; its variance, with
    replacement, is taken times the share of bytes that were not read, so it closes
    where everything was. Within a text that drifts it is too wide: the parts are spread
    more evenly than random ones.
    """
    mean = float(values.sum() / spans.sum())
    count = len(spans)
    if count < 2:
        return total * mean, None
    unread = max(0.0, 1 - float(spans.sum()) / total)
    residuals = (values - mean * spans) / spans.sum()
    variance = count / (count - 1) * float(residuals @ residuals) + (unlike * mean) ** 2
    width = student_quantile(count - 1) * math.sqrt(unread * variance)
    return total * mean, (total * max(0.0, mean - width), total * (mean + width))


def student_quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's t: Fisher's expansion from 5 degrees of freedom on,
    within 0.2 %.

    >>> round(student_quantile(5), 2), round(student_quantile(1000), 2)
    (2.57, 1.96)
    """
    if freedom <= len(_FEW):
        return _FEW[freedom - 1]
    return float(np.polyval(_FISHER, 1 / freedom))
