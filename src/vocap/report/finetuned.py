"""Fine-tuned models as the report shows them: what each reached on each task, and by which choice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocap.errors import VocapError
from vocap.finetuning.ceiling import COLUMNS
from vocap.finetuning.metrics import MEASURES
from vocap.finetuning.outcome import AGAIN, ALL, SELECTION, SUMMARY, read_selection
from vocap.json_object import read_object
from vocap.tsv import read_tsv

AVERAGE = "average.json"


@dataclass(frozen=True)
class Measured:
    """One measure of one language, or of the mean over languages: percent, over so many seeds."""

    mean: float
    std: float | None  # None for a single seed
    seeds: int


@dataclass(frozen=True)
class Reached:
    """One model on one task: selection.json as written, and summary.tsv by language and measure."""

    selection: dict[str, Any]
    measured: dict[str, dict[str, Measured]]

    @property
    def overall(self) -> dict[str, Measured]:
        """The mean over languages by measure; empty where no test file had labels."""
        return self.measured.get(ALL, {})

    @property
    def languages(self) -> dict[str, dict[str, Measured]]:
        """Each language's measures."""
        return {code: row for code, row in self.measured.items() if code != ALL}


@dataclass(frozen=True)
class Ceiling:
    """What a tokenizer lets span extraction reach in one file, in percent; `vocap.finetuning.ceiling` says how."""

    tokenizer: str
    task: str
    split: str
    language: str
    questions: int
    pieces_exact_match: float
    pieces_f1: float
    exact_match: float
    f1: float


@dataclass(frozen=True)
class Finetuned:
    """One model of the `finetuning` section, its tasks in the paper's order."""

    name: str
    tasks: dict[str, Reached]
    average: float | None  # over the tasks with a score; None where there is none
    average_std: float | None  # over seeds
    missing: tuple[str, ...]  # tasks without a score; where there are none the average is the paper's

    @property
    def scores(self) -> dict[tuple[str, str], float]:
        """Means over languages and seeds, in percent, by (task, metric)."""
        return {
            (task, metric): value.mean
            for task, reached in self.tasks.items()
            for metric, value in reached.overall.items()
        }

    @property
    def seeds(self) -> dict[str, int]:
        """How many, by task."""
        return {task: len(reached.selection["seeds"]) for task, reached in self.tasks.items()}

    @property
    def languages(self) -> dict[str, int]:
        """How many were scored, by task."""
        return {task: len(reached.languages) for task, reached in self.tasks.items()}

    @property
    def stand_ins(self) -> dict[str, str]:
        """Files that stood in for others."""
        return {key: value for one in self.tasks.values() for key, value in one.selection["stand_ins"].items()}


def load_ceilings(folder: Path, mine: Callable[[str, str], bool]) -> list[Ceiling]:
    """The rows of `folder`/ceilings, of the origins (`tokenizers` or `models`, and a name) that are `mine`.

    Raises VocapError, naming the file, for one that `vocap ceiling` did not write.
    """
    ceilings = []
    for path in sorted((folder / "ceilings").glob("*/*.tsv")):
        if not mine(path.parent.name, path.stem):
            continue
        for number, row in enumerate(read_tsv(path, COLUMNS), start=2):
            place = (row["task"], row["split"], row["language"])
            try:
                scores = (float(row[column]) for column in COLUMNS[4:])
                ceilings.append(Ceiling(path.stem, *place, int(row["questions"]), *scores))
            except ValueError:
                raise VocapError(f"{path}, line {number}: not numbers; make it with: vocap ceiling") from None
    return ceilings


def load_finetuned(folder: Path, mine: Callable[[str], bool]) -> dict[str, Finetuned]:
    """The models under `folder` with a task's choice that are `mine`, by name.

    Raises VocapError, naming the file, for one that `vocap score` or `vocap average` did not write.
    """
    models = {}
    for name in sorted({path.parents[1].name for path in folder.glob(f"*/*/{SELECTION}")}):
        if mine(name):
            tasks = [task for task in MEASURES if (folder / name / task / SELECTION).exists()]
            models[name] = _finetuned(folder / name, tasks)
    return models


def _finetuned(folder: Path, tasks: Sequence[str]) -> Finetuned:
    reached = {task: _reached(folder / task) for task in tasks}
    path = folder / AVERAGE
    if not path.exists():
        missing = tuple(task for task in MEASURES if task not in reached or not reached[task].overall)
        return Finetuned(folder.name, reached, None, None, missing)
    try:
        said = read_object(path)
        mean, deviation = (None if said[key] is None else float(said[key]) for key in ("average", "std"))
        return Finetuned(folder.name, reached, mean, deviation, tuple(said["missing"]))
    except (KeyError, TypeError, ValueError):
        raise VocapError(f"{path}: not what vocap average writes; delete it and run its stage again") from None


def _reached(folder: Path) -> Reached:
    measured: dict[str, dict[str, Measured]] = {}
    path = folder / SUMMARY
    for number, row in enumerate(read_tsv(path, ("language", "metric", "mean", "std", "seeds")), start=2):
        try:
            deviation = float(row["std"]) if row["std"] else None
            value = Measured(float(row["mean"]), deviation, int(row["seeds"]))
        except ValueError:
            raise VocapError(f"{path}, line {number}: not numbers; {AGAIN}") from None
        measured.setdefault(row["language"], {})[row["metric"]] = value
    return Reached(read_selection(folder), measured)
