"""What the study's models reached."""

import json
from collections.abc import Iterable
from pathlib import Path

from vocap.correlation.points import Measured
from vocap.errors import VocapError
from vocap.finetuning.outcome import SCORES, read_selection
from vocap.tsv import read_tsv
from vocap.vocabularies.curve import read_points

MODEL = "pretrained"  # a model's folder beside those of its tasks


def measure(vocabularies: Path, folders: Iterable[Path]) -> list[Measured]:
    """The points of the study, from folders LANGUAGE/SIZE/TASK that `vocap score` wrote.

    F1 is that of the chosen setting on the test file, or on the development file where the test labels are kept
    back; ALP is that of LANGUAGE/curve.tsv under `vocabularies`. Raises VocapError for a folder without a score,
    and for a size that its curve does not have.
    """
    curves: dict[str, dict[int, float]] = {}
    points = []
    for folder in folders:
        language, size, task = folder.parts[-3], int(folder.parts[-2]), folder.parts[-1]
        if language not in curves:
            path = vocabularies / language / "curve.tsv"
            curves[language] = {point.size: point.alp for point in read_points(path) if point.ok}
        if size not in curves[language]:
            raise VocapError(f"{vocabularies / language / 'curve.tsv'}: no size {size}, which {folder} is of")
        values, split = _scores(folder)
        mean = sum(values) / len(values)
        steps = _steps(folder.parent / MODEL / "metrics.jsonl")
        points.append(Measured(language, size, curves[language][size], task, split, mean, len(values), steps))
    return sorted(points, key=lambda point: (point.language, point.task, point.size))


def _scores(folder: Path) -> tuple[list[float], str]:
    """F1 of each seed, and the split that it is of."""
    chosen = read_selection(folder)
    rows = [
        row
        for row in read_tsv(folder / SCORES, ("split", "learning_rate", "epochs", "metric", "value"))
        if row["metric"] == "f1"
        and (float(row["learning_rate"]), int(row["epochs"])) == (chosen["learning_rate"], chosen["epochs"])
    ]
    for split in ("test", "dev"):
        if values := [float(row["value"]) for row in rows if row["split"] == split]:
            return values, split
    raise VocapError(
        f"{folder / SCORES}: no F1 of {chosen['learning_rate']}, {chosen['epochs']} epochs; score again"
    )


def _steps(path: Path) -> int:
    return int(json.loads(path.read_text("utf-8").splitlines()[-1])["step"])
