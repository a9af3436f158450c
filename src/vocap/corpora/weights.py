"""How much each language weighs: n_i, and q_i of Equation 3."""

import math
import os
from collections.abc import Mapping, Sequence

import numpy as np

from vocap.errors import UsageError, VocapError
from vocap.languages import Language
from vocap.options import CODE
from vocap.tsv import read_tsv


def sampling_probabilities(n: Sequence[float] | np.ndarray, alpha: float) -> np.ndarray:
    """q_i = n_i^alpha / sum_j n_j^alpha (Equation 3), float64, in the order of `n`; 0 where n_i is 0.

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


def weigh_languages(
    stats: Sequence[Mapping], by: str, table: Mapping[str, Language], where: str = "the table of languages"
) -> list[tuple[str, float, str]]:
    """Rows `language, n, source` from the contents of `stats.json` files, in their order.

    `by`: `lines` or `bytes` of each corpus, or a numeric column of `table` (called `where` in messages);
    `source` is that name; "extrapolated" where lines or bytes were left unread and n is scaled up to them;
    "incomplete" where it is not, since nobody knows how much there is; "missing" (n = 0) where there is no text.
    Raises VocapError for a column or a cell that has no number above 0, and for a language
    that stands twice.
    """
    rows: list[tuple[str, float, str]] = []
    named: set[str] = set()
    for entry in stats:
        language = entry["language"]
        if language in named:
            raise VocapError(f"language {language!r} has two stats.json; give each language once")
        named.add(language)
        if not entry["kept"]:
            rows.append((language, 0, "missing"))
        elif by in ("lines", "bytes"):
            n = entry["n" if by == "lines" else "n_bytes"]
            part = "incomplete" if entry["total_bytes"] is None else "extrapolated"
            rows.append((language, n, by if entry["complete"] else part))
        else:
            rows.append((language, _cell(table, language, by, where), by))
    return rows


def _cell(table: Mapping[str, Language], language: str, column: str, where: str) -> float:
    if language not in table:
        raise UsageError(f"{where}: no row for {language!r}; add one, or weigh by lines")
    facts = table[language].facts
    if column not in facts:
        raise UsageError(
            f"{where}: no column {column!r} to weigh by; it has: {', '.join(facts)}; or: lines, bytes"
        )
    text = facts[column].strip()
    try:
        n = float(text)
    except ValueError:
        n = math.nan
    if not (0 < n < math.inf):
        found = repr(text) if text else "nothing"
        raise VocapError(
            f"{where}: column {column}, language {language}: {found} where a number above 0 is needed"
        )
    return int(n) if n == int(n) else n


def read_weights(path: str | os.PathLike) -> dict[str, float]:
    """n by language, in the order of a table with columns `language` and `n`; whole numbers are int.

    Raises VocapError, naming file and line, for what is no language code, a language that stands twice, or an n
    that is no number of 0 or more.
    """
    weights: dict[str, float] = {}
    for number, row in enumerate(read_tsv(path, ("language", "n")), start=2):
        language, where = row["language"], f"{path}, line {number}"
        if not CODE.fullmatch(language):
            raise VocapError(f"{where}: {language!r} is not a language code; use letters, digits, - and _")
        if language in weights:
            raise VocapError(f"{where}: language {language!r} stands twice; keep one of the rows")
        try:
            n = float(row["n"])
        except ValueError:
            n = math.nan
        if not (0 <= n < math.inf):
            raise VocapError(f"{where}: n of {language!r} is {row['n']!r}; give a number of 0 or more")
        weights[language] = int(n) if n.is_integer() and n < 2**53 else n
    if not weights:
        raise VocapError(f"{path}: no language in it; make it with: vocap weigh")
    return weights
