"""The Avg column of Table 1 for one model, from what it reached on each task."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocap.errors import VocapError
from vocap.finetuning.metrics import MEASURES, paper_average
from vocap.finetuning.outcome import ALL, SCORES, SUMMARY, number_of, read_selection, spread
from vocap.tsv import read_tsv


@dataclass(frozen=True)
class Reached:
    """What a model reached on a task: measure to mean over languages and seeds, and to each seed's mean."""

    task: str
    means: dict[str, float]
    by_seed: dict[int, dict[str, float]]
    selection: dict[str, Any]


def read_reached(folder: Path) -> Reached | None:
    """What `vocap score` left in a folder; None where no test file of the task had labels.

    Raises VocapError for tables that it did not write.
    """
    selection = read_selection(folder)
    means = {
        row["metric"]: number_of(row, "mean", folder / SUMMARY)
        for row in read_tsv(folder / SUMMARY, ("language", "metric", "mean"))
        if row["language"] == ALL
    }
    if not means:
        return None
    values: dict[int, dict[str, list[float]]] = {}
    path = folder / SCORES
    chosen = (selection["learning_rate"], selection["epochs"])
    for row in read_tsv(path, ("split", "seed", "learning_rate", "epochs", "metric", "value")):
        setting = (number_of(row, "learning_rate", path), number_of(row, "epochs", path))
        if row["split"] == "test" and setting == chosen:
            of_seed = values.setdefault(int(number_of(row, "seed", path)), {})
            of_seed.setdefault(row["metric"], []).append(number_of(row, "value", path))
    by_seed = {
        seed: {metric: sum(one) / len(one) for metric, one in of_seed.items()} for seed, of_seed in values.items()
    }
    return Reached(selection["task"], means, by_seed, selection)


def average(folders: Sequence[Path]) -> dict[str, Any]:
    """The content of average.json for one model's folders, one a task.

    `average` is over `tasks`, and the paper's only where `missing` is empty: the tasks without a score; null
    where no task has one. `std` is the sample standard deviation of the seeds' averages, null where tasks differ
    in seeds or there is only one. `stand_ins` took the place of files of the data sets; `languages` counts those
    of each task that were scored. Raises VocapError as `read_reached` does, and for a task that is there twice.
    """
    found: dict[str, Reached] = {}
    for folder in folders:
        reached = read_reached(folder)
        if reached is None:
            continue
        if reached.task in found:
            raise VocapError(f"{folder}: {reached.task} is there twice; give the folders of one model")
        found[reached.task] = reached
    reached = [found[task] for task in MEASURES if task in found]
    seeds = {tuple(sorted(one.by_seed)) for one in reached}
    deviation = None
    if len(seeds) == 1:
        by_seed = [paper_average({one.task: one.by_seed[seed] for one in reached}) for seed in min(seeds)]
        deviation = spread(by_seed)[1]
    stand_ins = {key: value for one in reached for key, value in one.selection["stand_ins"].items()}
    return {
        "average": paper_average({one.task: one.means for one in reached}) if reached else None,
        "std": deviation,
        "tasks": {one.task: one.means for one in reached},
        "missing": [task for task in MEASURES if task not in found],
        "languages": {one.task: len(one.selection["languages"]) for one in reached},
        "stand_ins": stand_ins,
    }
