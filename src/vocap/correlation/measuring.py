"""What the study's models reached."""

import json
from collections.abc import Iterable
from pathlib import Path

from vocap.correlation.points import Measured
from vocap.correlation.sizes import Size
from vocap.errors import UsageError, VocapError
from vocap.finetuning.outcome import SCORES, number_of, read_selection
from vocap.tsv import read_tsv

MODEL = "pretrained"  # a model's folder beside those of its tasks


def measure(sizes: Iterable[Size], folders: Iterable[Path]) -> list[Measured]:
    """The points of the study, from folders LANGUAGE/SIZE/TASK that `vocap score` wrote.

    F1 is that of the chosen setting on the test file, or on the development file where the test labels are kept
    back; ALP is that of `sizes`. Raises UsageError for a folder of another name, VocapError for one without a
    score, and for one of a size that has no ALP.
    """
    alps = {(size.language, size.size): size.alp for size in sizes}
    points = []
    for folder in folders:
        language, size, task = _place(folder)
        if (alp := alps.get((language, size))) is None:
            raise VocapError(f"{folder}: no vocabulary of {language} has size {size}; leave the folder out")
        values, split = _scores(folder)
        mean = sum(values) / len(values)
        steps = _steps(folder.parent / MODEL / "metrics.jsonl")
        points.append(Measured(language, size, alp, task, split, mean, len(values), steps))
    return sorted(points, key=lambda point: (point.language, point.task, point.size))


def _place(folder: Path) -> tuple[str, int, str]:
    """Language, size and task, from the last names of a path."""
    *_, language, size, task = ("", "", *folder.resolve().parts)
    if not (size.isascii() and size.isdigit()):
        raise UsageError(f"{folder}: not LANGUAGE/SIZE/TASK, a folder that vocap score wrote in the study")
    return language, int(size), task


def _scores(folder: Path) -> tuple[list[float], str]:
    """F1 of each seed, and the split that it is of."""
    chosen, path = read_selection(folder), folder / SCORES
    setting = (chosen["learning_rate"], chosen["epochs"])
    rows = [
        row
        for row in read_tsv(path, ("split", "learning_rate", "epochs", "metric", "value"))
        if row["metric"] == "f1"
        and (number_of(row, "learning_rate", path), number_of(row, "epochs", path)) == setting
    ]
    for split in ("test", "dev"):
        if values := [number_of(row, "value", path) for row in rows if row["split"] == split]:
            return values, split
    raise VocapError(f"{path}: no F1 of {chosen['learning_rate']}, {chosen['epochs']} epochs; score again")


def _steps(path: Path) -> int:
    """The steps of a model's pre-training, from the last line of its metrics."""
    try:
        return int(json.loads(path.read_text("utf-8").splitlines()[-1])["step"])
    except (IndexError, KeyError, TypeError, ValueError):
        raise VocapError(f"{path}: its last line names no step; delete it and pre-train the model again") from None
