"""Points of the correlation study, and Pearson's coefficients over them."""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from vocap.correlation.planning import Size
from vocap.errors import VocapError
from vocap.finetuning.outcome import chosen_scores, read_selection

FEWEST = 3  # points of a correlation: with two it is 1 or -1


class Measured(NamedTuple):
    """The score of a model with one monolingual vocabulary in its language."""

    language: str
    size: int  # of the vocabulary, as its curve counts it
    alp: float  # of its training text, nats per line (Equation 1)
    task: str
    split: str  # test, or dev where the test file keeps its labels back
    f1: float  # percent, mean over seeds
    seeds: int
    steps: int  # of pre-training


class Correlation(NamedTuple):
    """Pearson's coefficients over the sizes of one language and task; None where they are not defined."""

    language: str
    task: str
    sizes: int
    holes: int  # sizes that the language's text does not reach, so no part of the coefficients
    rho_alp: float | None  # of ALP with F1
    rho_size: float | None  # of the vocabulary's size with F1


def correlations(points: Iterable[Measured], holes: Mapping[str, Sequence[int]]) -> list[Correlation]:
    """A row for each language and task, in order of first appearance.

    `holes`: the requested sizes of a language without a vocabulary.
    """
    groups: dict[tuple[str, str], list[Measured]] = {}
    for point in points:
        groups.setdefault((point.language, point.task), []).append(point)
    found = []
    for key, group in groups.items():
        f1, alps, sizes = ([float(getattr(one, name)) for one in group] for name in ("f1", "alp", "size"))
        counts = (len(group), len(holes.get(key[0], ())))
        found.append(Correlation(*key, *counts, pearson(alps, f1), pearson(sizes, f1)))
    return found


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's correlation; None for fewer than three pairs, or where all of one side are equal.

    >>> pearson([1, 2, 3], [2, 4, 6]), pearson([1, 1, 1], [1, 2, 3])
    (1.0, None)
    """
    if len(x) < FEWEST or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    return statistics.correlation(x, y)


def measure(sizes: Iterable[Size], folders: Iterable[Path]) -> list[Measured]:
    """The points of the study, from folders LANGUAGE/SIZE/TASK that `vocap score` wrote.

    F1 is that of the chosen setting on the test file, or on the development file where the test labels are
    withheld; ALP is that of `sizes`. Raises VocapError for a folder without a score, and for one of a size that
    has no ALP.
    """
    alps = {(size.language, str(size.size)): size.alp for size in sizes}
    points = []
    for folder in folders:
        language, size, task = ("", "", "", *folder.absolute().parts)[-3:]
        if (alp := alps.get((language, size))) is None:
            raise VocapError(f"{folder}: not LANGUAGE/SIZE/TASK, of a size that has an ALP; leave the folder out")
        scores = chosen_scores(folder, read_selection(folder)).query("metric == 'f1'")
        splits = scores.groupby("split")["value"].apply(list)
        split = next((split for split in ("test", "dev") if split in splits), None)
        if split is None:
            raise VocapError(f"{folder}: no F1 of the chosen setting; score again")
        values, steps = splits[split], _steps(folder.parent / "pretrained" / "metrics.jsonl")
        f1 = sum(values) / len(values)
        points.append(Measured(language, int(size), alp, task, split, f1, len(values), steps))
    return sorted(points, key=lambda point: (point.language, point.task, point.size))


def _steps(path: Path) -> int:
    """The steps of a model's pre-training, from the last line of its metrics."""
    try:
        return int(json.loads(path.read_text("utf-8").splitlines()[-1])["step"])
    except (LookupError, TypeError, ValueError):
        raise VocapError(f"{path}: its last line names no step; delete it and pre-train the model again") from None
