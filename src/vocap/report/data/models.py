"""Pre-trained models with their metrics, and fine-tuned models with their scores."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocap.errors import VocapError
from vocap.files.json_object import read_object
from vocap.files.tsv import read_tsv
from vocap.finetuning.ceiling import COLUMNS
from vocap.finetuning.outcome import AGAIN, ALL, SELECTION, SUMMARY, read_selection
from vocap.finetuning.tasks import TASKS
from vocap.report.data import find

METRICS, DESCRIPTION = "metrics.jsonl", "description.json"
NUMBERS = ("step", "exact_loss", "bits_per_byte")  # that every line must have, or null
AVERAGE = "average.json"


@dataclass(frozen=True)
class Model:
    """One named model: its description as written (empty where the file is not there), and its metrics."""

    name: str
    description: dict[str, Any]
    rows: list[dict[str, Any]]

    def setting(self, *path: str) -> Any:
        """A value of the description by its keys, None where it is not there."""
        return find(self.description, *path)

    @property
    def loss(self) -> str:
        """The kind of its loss, with the settings that distinguish two of a kind."""
        loss = self.setting("settings", "loss")
        if not isinstance(loss, dict):
            return ""
        names = {"k": "k = {}", "tau": "tau = {:,}", "negatives": "{:,} negatives", "uniform": "{:,} uniform"}
        facts = [text.format(loss[key]) for key, text in names.items() if loss.get(key)]
        if loss.get("finish"):
            facts.append(f"last {100 * loss['finish']:.3g} % full")
        return f"{loss.get('kind', '')}" + (f" ({', '.join(facts)})" if facts else "")


def load_models(folder: Path, shown: Callable[[str], bool]) -> dict[str, Model]:
    """The models under `folder` that have metrics and are `shown`, by name.

    Raises VocapError, naming file and line, for metrics that cannot be read.
    """
    models = {}
    for path in sorted(folder.glob(f"*/{METRICS}")):
        name = path.parent.name
        if shown(name):
            described = path.parent / DESCRIPTION
            models[name] = Model(name, read_object(described) if described.exists() else {}, _rows(path))
    return models


def training_bytes(folder: Path) -> dict[str, int]:
    """Bytes of each language's lines under `folder`/tokens, the same for all tokenizers."""
    sizes = {}
    for path in sorted(folder.glob(f"tokens/*/*/{DESCRIPTION}")):
        size = (read_object(path).get("train") or {}).get("bytes")
        if isinstance(size, int):
            sizes[path.parent.name] = size
    return sizes


def _rows(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            usable = all(row[name] is None or isinstance(row[name], int | float) for name in NUMBERS)
        except (ValueError, KeyError, TypeError):
            usable = False
        if not usable:
            raise VocapError(f"{path}, line {number}: no line of metrics; delete the file and run its stage again")
        rows.append(row)
    return rows


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
        """The number of seeds by task."""
        return {task: len(reached.selection["seeds"]) for task, reached in self.tasks.items()}

    @property
    def seed_range(self) -> str:
        """The number of seeds of its tasks, `1 to 5` where it differs."""
        counts = sorted(set(self.seeds.values()))
        return " to ".join(map(str, counts[:1] + counts[1:][-1:]))

    @property
    def languages(self) -> dict[str, int]:
        """The number of scored languages by task."""
        return {task: len(reached.languages) for task, reached in self.tasks.items()}

    @property
    def stand_ins(self) -> dict[str, str]:
        """Files that stood in for others."""
        return {key: value for one in self.tasks.values() for key, value in one.selection["stand_ins"].items()}


def load_ceilings(folder: Path, shown: Callable[[str, str], bool]) -> list[dict[str, Any]]:
    """Upper bounds of span extraction by `tokenizer` and file, in percent (`vocap.finetuning.ceiling`).

    Rows of `folder`/ceilings, of the origins (`tokenizers` or `models`, and a name) that are `shown`.
    Raises VocapError, naming the file, for one that `vocap ceiling` did not write.
    """
    ceilings = []
    for path in sorted((folder / "ceilings").glob("*/*.tsv")):
        if not shown(path.parent.name, path.stem):
            continue
        for number, row in enumerate(read_tsv(path, COLUMNS), start=2):
            try:
                scores = {column: float(row[column]) for column in COLUMNS[4:]}
                ceilings.append({"tokenizer": path.stem, **row, "questions": int(row["questions"]), **scores})
            except ValueError:
                raise VocapError(f"{path}, line {number}: not numbers; make it with: vocap ceiling") from None
    return ceilings


def load_finetuned(folder: Path, shown: Callable[[str], bool]) -> dict[str, Finetuned]:
    """The models under `folder` with the chosen setting of a task that are `shown`, by name.

    Raises VocapError, naming the file, for one that `vocap score` or `vocap average` did not write.
    """
    models = {}
    for name in sorted({path.parents[1].name for path in folder.glob(f"*/*/{SELECTION}")}):
        if shown(name):
            tasks = [task for task in TASKS if (folder / name / task / SELECTION).exists()]
            models[name] = _finetuned(folder / name, tasks)
    return models


def _finetuned(folder: Path, tasks: Sequence[str]) -> Finetuned:
    reached = {task: _reached(folder / task) for task in tasks}
    path = folder / AVERAGE
    if not path.exists():
        missing = tuple(task for task in TASKS if task not in reached or not reached[task].overall)
        return Finetuned(folder.name, reached, None, None, missing)
    try:
        said = read_object(path)
        mean, deviation = (None if said[key] is None else float(said[key]) for key in ("average", "std"))
        return Finetuned(folder.name, reached, mean, deviation, tuple(said["missing"]))
    except (KeyError, TypeError, ValueError):
        raise VocapError(f"{path}: not a file of vocap average; delete it and run its stage again") from None


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
