"""Fine-tuned models as the report shows them: what each reached, over how many seeds, and on what."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocap.errors import VocapError

AVERAGE, SELECTION = "average.json", "selection.json"
Reader = Callable[[Path], dict[str, Any]]


@dataclass(frozen=True)
class Finetuned:
    """One model of the `finetuning` section: means over languages and seeds, in percent."""

    name: str
    scores: dict[tuple[str, str], float]  # by (task, metric)
    seeds: dict[str, int]  # by task
    languages: dict[str, int]  # scored, by task
    average: float
    missing: tuple[str, ...]  # tasks without a score; where there are none the average is the paper's
    stand_ins: dict[str, str]  # files that stood in for others


def load_finetuned(folder: Path, mine: Callable[[str], bool], read_json: Reader) -> dict[str, Finetuned]:
    """The models under `folder` that have an average and are `mine`, by name.

    Raises VocapError, naming the file, for one that `vocap average` or `vocap score` did not write.
    """
    found = {}
    for path in sorted(folder.glob(f"*/{AVERAGE}")):
        name = path.parent.name
        if not mine(name):
            continue
        try:
            found[name] = _finetuned(path, read_json)
        except (KeyError, TypeError, AttributeError):
            raise VocapError(f"{path}: not what vocap average writes; delete it and run its stage again") from None
    return found


def _finetuned(path: Path, read_json: Reader) -> Finetuned:
    said = read_json(path)
    tasks = said["tasks"]
    selections = {task: path.parent / task / SELECTION for task in tasks}
    return Finetuned(
        path.parent.name,
        {(task, metric): float(value) for task, means in tasks.items() for metric, value in means.items()},
        {task: len(read_json(file)["seeds"]) for task, file in selections.items() if file.exists()},
        {task: int(count) for task, count in said["languages"].items()},
        float(said["average"]),
        tuple(said["missing"]),
        dict(said["stand_ins"]),
    )
