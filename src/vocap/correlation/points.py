"""One point for each language, vocabulary size and task: ALP and F1; and how they go together."""

import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields

from vocap.errors import VocapError
from vocap.tsv import read_tsv, write_tsv

FEWEST = 3  # points of a correlation: of two it is 1 or -1 whatever they say


@dataclass(frozen=True)
class Measured:
    """What a model with one monolingual vocabulary reached in its language."""

    language: str
    size: int  # of the vocabulary, as its curve counts it
    alp: float  # of its training text, nats per line (Equation 1)
    task: str
    split: str  # test, or dev where the test file keeps its labels back
    f1: float  # percent, mean over seeds
    seeds: int
    steps: int  # of pre-training


@dataclass(frozen=True)
class Correlation:
    """Pearson's coefficients over the sizes of one language and task; None where they are not defined."""

    language: str
    task: str
    sizes: int
    holes: int  # sizes that the language's text does not reach, so no part of the coefficients
    rho_alp: float | None  # of ALP with F1
    rho_size: float | None  # of the vocabulary's size with F1


COLUMNS = tuple(field.name for field in fields(Measured))


def correlations(points: Iterable[Measured], holes: Mapping[str, Sequence[int]]) -> list[Correlation]:
    """A row for each language and task, in the order in which they first stand.

    `holes`: of a language, the sizes that were asked for and have no vocabulary.
    """
    groups: dict[tuple[str, str], list[Measured]] = {}
    for point in points:
        groups.setdefault((point.language, point.task), []).append(point)
    return [
        Correlation(
            *key,
            len(group),
            len(holes.get(key[0], ())),
            pearson([point.alp for point in group], [point.f1 for point in group]),
            pearson([float(point.size) for point in group], [point.f1 for point in group]),
        )
        for key, group in groups.items()
    ]


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's correlation; None for fewer than three pairs, or where all of one side are equal.

    >>> pearson([1, 2, 3], [2, 4, 6]), pearson([1, 1, 1], [1, 2, 3])
    (1.0, None)
    """
    if len(x) < FEWEST or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    return statistics.correlation(x, y)


def write_points(path: str | os.PathLike, points: Iterable[Measured]) -> None:
    """Write the points as a table, whole or not at all."""
    write_tsv(path, COLUMNS, map(astuple, points))


def read_points(path: str | os.PathLike) -> list[Measured]:
    """What `write_points` wrote. Raises VocapError, naming file and line, for what is no number."""
    found = []
    for line, row in enumerate(read_tsv(path, COLUMNS), start=2):
        try:
            numbers = int(row["size"]), float(row["alp"]), row["task"], row["split"], float(row["f1"])
            found.append(Measured(row["language"], *numbers, int(row["seeds"]), int(row["steps"])))
        except ValueError as error:
            raise VocapError(f"{path}, line {line}: {error}; delete the file and run its stage again") from None
    return found
