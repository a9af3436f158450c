"""Weights of languages: n_i, q_i of Equation 3, whole numbers in proportion, factors
that follow parallel text.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np

from vocap.errors import SettingError, UsageError, VocapError
from vocap.files.io import number, read_tsv
from vocap.languages import CODE, Language

STEP = 4  # times that a line of the smallest weight counts
EXACT = Context(prec=40)  # decimal powers are the same on every machine


def sampling_probabilities(n: Sequence[float] | np.ndarray, alpha: float) -> np.ndarray:
    """q_i = n_i^alpha / sum_j n_j^alpha (Equation 3), float64, in the order of `n`; 0
    where n_i is 0.

    Raises ValueError for a negative or infinite n_i, or where all are 0.

    >>> sampling_probabilities([1, 4, 0], 0.5).tolist()
    [0.3333333333333333, 0.6666666666666666, 0.0]
    """
    sizes = np.asarray(n, np.float64)
    if not np.isfinite(sizes).all() or (sizes < 0).any():
        raise ValueError("every n must be a number of 0 or more")
    if not sizes.any():
        raise ValueError("every n is 0: no language has any text")
    powers = np.zeros_like(sizes)
    present = sizes > 0
    powers[present] = (sizes[present] / sizes.max()) ** alpha
    return powers / powers.sum()


def language_shares(n: Mapping[str, float], alpha: float) -> dict[str, float]:
    """q by language of n by language, as `sampling_probabilities`."""
    q = sampling_probabilities(list(n.values()), alpha)
    return dict(zip(n, q.tolist(), strict=True))


def quotas(sentences: int, q: Sequence[float] | np.ndarray) -> np.ndarray:
    """Whole numbers near `sentences * q` that add up to `sentences`, by largest
    remainder (earlier ones first).

    >>> quotas(10, [0.5, 0.25, 0.25, 0]).tolist()
    [5, 3, 2, 0]
    """
    exact = np.asarray(q, np.float64) * sentences
    counts = np.floor(exact).astype(np.int64)
    short = sentences - int(counts.sum())
    present = np.flatnonzero(np.asarray(q) > 0)
    order = present[np.argsort((counts - exact)[present], kind="stable")]
    counts[order[:short]] += 1
    return counts


def line_weights(q: Sequence[float], lines: Sequence[int], step: int = STEP) -> np.ndarray:
    """The weight of a line of each language, int64, so that its lines have about the
    share q_l of the text.

    w_l = round(step r_l), r_l = (q_l / lines_l) / min_k (q_k / lines_k) over the
    languages with q above 0; 0 for the others. The lines that count least count `step`
    times, so a weight is off by at most 1 / (2 step) of itself, and a share by at most
    2 / (2 step - 1). Each language with a share has lines.

    >>> line_weights([0.5, 0.25, 0.25, 0], [10, 10, 2, 5], 4).tolist()
    [8, 4, 20, 0]
    """
    shares, counts = np.asarray(q, np.float64), np.asarray(lines, np.int64)
    present = shares > 0
    rates = shares[present] / counts[present]
    weights = np.zeros(len(shares), np.int64)
    weights[present] = np.rint(step * (rates / rates.min()))
    return weights


def share_error(q: Sequence[float], lines: Sequence[int], weights: Sequence[int]) -> float:
    """The largest relative difference between a language's share of the weighted lines
    and its q_l.
    """
    shares = np.asarray(q, np.float64)
    given = np.asarray(lines, np.float64) * np.asarray(weights)
    present = shares > 0
    return float(np.abs((given / given.sum())[present] / shares[present] - 1).max())


def weigh_languages(
    stats: Sequence[Mapping[str, Any]],
    by: str,
    table: Mapping[str, Language],
    where: str = "the table of languages",
) -> list[tuple[str, float, str]]:
    """Rows `language, n, source` from the contents of `stats.json` files, in their order.

    `by`: `lines` or `bytes` of each corpus, or a numeric column of `table` (called
    `where` in messages); `source` is that name; "extrapolated" where lines or bytes
    were left unread and n is scaled up to them; "incomplete" where it is not, since the
    amount of text is unknown; "missing" (n = 0) where there is no text. Raises
    VocapError for a column or a cell that has no number above 0.
    """
    rows: list[tuple[str, float, str]] = []
    for entry in stats:
        language = entry["language"]
        if not entry["kept"]:
            rows.append((language, 0, "missing"))
        elif by in ("lines", "bytes"):
            n = entry["n" if by == "lines" else "n_bytes"]
            part = "incomplete" if entry["total_bytes"] is None else "extrapolated"
            rows.append((language, n, by if entry["complete"] else part))
        else:
            rows.append((language, column_weight(table, language, by, where), by))
    return rows


def column_weight(table: Mapping[str, Language], language: str, column: str, where: str) -> float:
    """The number above 0 of a language in a column of the table; raises VocapError
    where there is none.
    """
    if language not in table:
        raise UsageError(f"{where}: no row for {language!r}; add one, or weigh by lines")
    facts = table[language].facts
    if column not in facts:
        raise UsageError(
            f"{where}: no column {column!r} to weigh by; it has: {', '.join(facts)}; or: lines, "
            "bytes"
        )
    n = number(facts[column])
    if not (0 < n < math.inf):
        raise VocapError(
            f"{where}: column {column}, language {language}: {facts[column]!r} where a number "
            "above 0 is needed"
        )
    return _without_fraction(n)


def read_weights(path: str | Path) -> dict[str, float]:
    """n by language, in the order of a table with columns `language` and `n`; whole
    numbers are int.

    Raises VocapError, naming file and line, for an invalid language code, a duplicate
    language, or an n that is not a number of 0 or more.
    """
    weights: dict[str, float] = {}
    for line, row in enumerate(read_tsv(path, ("language", "n")), start=2):
        language = row["language"]
        where = f"{path}, line {line}"
        n = number(row["n"])
        if not CODE.fullmatch(language) or not 0 <= n < math.inf:
            raise VocapError(
                f"{where}: n of {language!r} is {row['n']!r}; give a language's code (letters, "
                "digits, - and _) a number of 0 or more"
            )
        if language in weights:
            raise VocapError(f"{where}: duplicate language {language!r}; keep one of the rows")
        weights[language] = _without_fraction(n)
    if not weights:
        raise VocapError(f"{path}: no language in it; make it with: vocap weigh")
    return weights


Weights = str | Path | Mapping[str, float]  # n by language, or a table with both


def weights_without(weights: Mapping[str, float], without: Collection[str]) -> dict[str, float]:
    """The weights of the other languages. Raises UsageError for one to leave out that
    has none.

    >>> weights_without({"de": 2, "ru": 1}, ["ru"])
    {'de': 2}
    """
    if unknown := [language for language in without if language not in weights]:
        raise SettingError(
            "without",
            f"{', '.join(map(repr, unknown))} are not among the weights, which have: "
            f"{', '.join(sorted(weights))}",
        )
    return {language: n for language, n in weights.items() if language not in without}


def load_weights(weights: Weights) -> dict[str, float]:
    """n by language: `read_weights` of a table, or the numbers that are given; whole
    numbers are int.

    Raises UsageError for an n that is not a number of 0 or more.
    """
    if isinstance(weights, str | Path):
        return read_weights(weights)
    if not isinstance(weights, Mapping):
        raise UsageError(f"weights: a {type(weights).__name__}; give n by language, or a table")
    for language, n in weights.items():
        if not 0 <= n < math.inf:
            raise UsageError(f"weights: n of {language!r} is {n!r}; give a number of 0 or more")
    return {language: _without_fraction(n) for language, n in weights.items()}


def _without_fraction(n: float) -> float:
    """A whole number as int, so that tables show it so."""
    return int(n) if n < 2**53 and n == int(n) else n


def fair_factors(tokens: Sequence[int], references: Sequence[int], power: float) -> list[Decimal]:
    """(x / mean of x)^power of each language, x = tokens a byte of the reference; 1 for
    one without either.

    `tokens` of each language's lines of `reference_lines`, `references` their bytes.

    >>> [int(factor * 8) for factor in fair_factors([2, 6, 0], [10, 10, 0], 1)]
    [4, 12, 8]
    """
    rates = [
        EXACT.divide(Decimal(count), Decimal(size)) if count and size else None
        for count, size in zip(tokens, references, strict=True)
    ]
    known = [rate for rate in rates if rate]
    mean = EXACT.divide(sum(known, Decimal(0)), Decimal(max(1, len(known))))
    exponent = Decimal(str(power))
    return [
        EXACT.power(EXACT.divide(rate, mean), exponent) if rate else Decimal(1) for rate in rates
    ]
