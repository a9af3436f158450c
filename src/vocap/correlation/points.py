"""Sizes and points of the correlation study, and Pearson's coefficients over them."""

import json
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from vocap.errors import UsageError, VocapError
from vocap.files.tsv import read_tsv, write_tsv
from vocap.finetuning.outcome import chosen_scores, read_selection
from vocap.tables.curve import OK
from vocap.tables.curve import read_points as read_curve

FEWEST = 3  # points of a correlation: with two it is 1 or -1
MODEL = "pretrained"  # a model's folder beside those of its tasks


@dataclass(frozen=True)
class Size:
    """A size of the study: the ALP of its vocabulary, or in `status` the reason for a missing one."""

    language: str
    size: int  # as its curve counts it
    alp: float | None  # of the training text, nats per line (Equation 1)
    status: str  # ok, or the reason, as in the curve

    @property
    def hole(self) -> bool:
        return self.status != OK


SIZE_COLUMNS = tuple(field.name for field in fields(Size))


def find_sizes(vocabularies: Path, languages: Iterable[str], sizes: Sequence[int]) -> list[Size]:
    """The points of LANGUAGE/curve.tsv under `vocabularies` at these sizes; VocapError for a missing one."""
    found = []
    for language in languages:
        path = vocabularies / language / "curve.tsv"
        curve = {point.size: point for point in read_curve(path)}
        for size in sizes:
            if size not in curve:
                raise VocapError(
                    f"{path}: no size {size}; add it to vocabularies.sizes, or take it out of the study"
                )
            found.append(Size(language, size, curve[size].alp, curve[size].status))
    return found


def write_sizes(path: str | os.PathLike, sizes: Iterable[Size]) -> None:
    """Write the sizes as a table, whole or not at all."""
    write_tsv(path, SIZE_COLUMNS, map(astuple, sizes))


def read_sizes(path: str | os.PathLike) -> list[Size]:
    """The sizes of a table of `write_sizes`. Raises VocapError, with file and line, for a malformed number."""
    return _read(path, Size)


def holes(sizes: Iterable[Size]) -> dict[str, list[int]]:
    """The sizes that a language's text does not reach; a language without one is left out."""
    found: dict[str, list[int]] = {}
    for size in sizes:
        if size.hole:
            found.setdefault(size.language, []).append(size.size)
    return found


def reached_sizes(
    path: str | os.PathLike, languages: Iterable[str], sizes: Sequence[int]
) -> list[tuple[str, int]]:
    """The pairs of these languages and sizes but the holes of the table `path`; all where there is none yet."""
    absent = holes(read_sizes(path)) if Path(path).exists() else {}
    return [(language, size) for language in languages for size in sizes if size not in absent.get(language, ())]


@dataclass(frozen=True)
class Measured:
    """The score of a model with one monolingual vocabulary in its language."""

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


POINT_COLUMNS = tuple(field.name for field in fields(Measured))


def correlations(points: Iterable[Measured], holes: Mapping[str, Sequence[int]]) -> list[Correlation]:
    """A row for each language and task, in order of first appearance.

    `holes`: the requested sizes of a language without a vocabulary.
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
    write_tsv(path, POINT_COLUMNS, map(astuple, points))


def read_points(path: str | os.PathLike) -> list[Measured]:
    """The points of a table of `write_points`. Raises VocapError, with file and line, for a malformed number."""
    return _read(path, Measured)


_PARSERS = {str: str, int: int, float: float, float | None: lambda cell: float(cell) if cell else None}


def _read(path: str | os.PathLike, kind: type) -> list:
    """The rows of a table whose columns are the fields of the dataclass `kind`."""
    parsers = {field.name: _PARSERS[field.type] for field in fields(kind)}
    found = []
    for line, row in enumerate(read_tsv(path, tuple(parsers)), start=2):
        try:
            found.append(kind(**{name: parse(row[name]) for name, parse in parsers.items()}))
        except ValueError as error:
            raise VocapError(f"{path}, line {line}: {error}; delete the file and run its stage again") from None
    return found


def measure(sizes: Iterable[Size], folders: Iterable[Path]) -> list[Measured]:
    """The points of the study, from folders LANGUAGE/SIZE/TASK that `vocap score` wrote.

    F1 is that of the chosen setting on the test file, or on the development file where the test labels are
    withheld; ALP is that of `sizes`. Raises UsageError for a folder of another name, VocapError for one without a
    score, and for one of a size that has no ALP.
    """
    alps = {(size.language, size.size): size.alp for size in sizes}
    points = []
    for folder in folders:
        *_, language, size, task = ("", "", *folder.resolve().parts)
        if not (size.isascii() and size.isdigit()):
            raise UsageError(f"{folder}: not LANGUAGE/SIZE/TASK, a folder that vocap score wrote in the study")
        if (alp := alps.get((language, int(size)))) is None:
            raise VocapError(f"{folder}: no vocabulary of {language} has size {size}; leave the folder out")
        split, values = _f1_of_seeds(folder)
        steps = _steps(folder.parent / MODEL / "metrics.jsonl")
        f1 = sum(values) / len(values)
        points.append(Measured(language, int(size), alp, task, split, f1, len(values), steps))
    return sorted(points, key=lambda point: (point.language, point.task, point.size))


def _f1_of_seeds(folder: Path) -> tuple[str, list[float]]:
    """The split with scores, test before dev, and the F1 of each seed on it."""
    chosen = read_selection(folder)
    found: dict[str, list[float]] = {}
    for score in chosen_scores(folder, chosen):
        if score.metric == "f1":
            found.setdefault(score.split, []).append(score.value)
    for split in ("test", "dev"):
        if split in found:
            return split, found[split]
    raise VocapError(f"{folder}: no F1 of {chosen['learning_rate']}, {chosen['epochs']} epochs; score again")


def _steps(path: Path) -> int:
    """The steps of a model's pre-training, from the last line of its metrics."""
    try:
        return int(json.loads(path.read_text("utf-8").splitlines()[-1])["step"])
    except (IndexError, KeyError, TypeError, ValueError):
        raise VocapError(f"{path}: its last line names no step; delete it and pre-train the model again") from None
