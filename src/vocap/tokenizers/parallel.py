"""Fairness on parallel text: what the same sentences cost in each language."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from vocap.errors import UsageError, VocapError
from vocap.vocabularies.encoders import Encoder
from vocap.vocabularies.text import read_blocks

COLUMNS = ("language", "lines", "tokens", "ratio_to_english")
ENGLISH = "en"


def gini(values: Sequence[float]) -> float:
    """Gini coefficient: the mean absolute difference of all pairs, over twice the mean; 0 is equality.

    Computed from the sorted values. Raises ValueError for no values, a negative one, or all zero.

    >>> gini([1, 1, 1]), gini([0, 1])
    (0.0, 0.5)
    """
    ordered = sorted(values)
    total = math.fsum(ordered)
    if not ordered or ordered[0] < 0 or not total > 0:
        raise ValueError(f"the Gini coefficient is of values that are not negative nor all 0, not {ordered[:5]}")
    count = len(ordered)
    ranked = math.fsum(rank * value for rank, value in enumerate(ordered, start=1))
    return max(0.0, (2 * ranked - (count + 1) * total) / (count * total))


def premiums(tokens: Mapping[str, int]) -> dict[str, float | None]:
    """Tokens of each language over those of English on the same text; None where there is no English."""
    english = tokens.get(ENGLISH)
    return {language: count / english if english else None for language, count in tokens.items()}


def find_files(pattern: str, languages: Sequence[str]) -> tuple[dict[str, Path], list[str]]:
    """Language to its file of `pattern`, which holds {lang}; and the languages that have none."""
    if "{lang}" not in pattern:
        raise UsageError(f"--parallel {pattern}: no {{lang}} in it; put it where the language code stands")
    paths = {language: Path(pattern.replace("{lang}", language)) for language in languages}
    found = {language: path for language, path in paths.items() if path.exists()}
    return found, [language for language in languages if language not in found]


def count_tokens(encoder: Encoder, path: Path) -> tuple[int, int]:
    """Lines and tokens of one file (plain, .gz, .xz, .zst), empty lines counted: they keep the alignment."""
    lines = tokens = 0
    for block in read_blocks(path):
        lines += len(block)
        tokens += sum(map(len, encoder.encode_batch(block)))
    return lines, tokens


def check_aligned(lines: Mapping[str, int], paths: Mapping[str, Path]) -> None:
    """Raise VocapError, naming both files, unless all have as many lines as the first."""
    first = next(iter(lines), None)
    for language, count in lines.items():
        if count != lines[first]:
            raise VocapError(
                f"{paths[first]} has {lines[first]} lines and {paths[language]} has {count}; "
                "parallel files hold the same sentences, one a line: align them or leave one out"
            )
