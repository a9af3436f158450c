"""The check of an XTREME folder; models, trainings and tasks that a configuration can run."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby, product
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from vocap.errors import UsageError, VocapError
from vocap.finetuning import reading
from vocap.finetuning.published import collection_of
from vocap.finetuning.reading import NONE, DataSet, StandIns, key_of
from vocap.finetuning.settings import Finetuning, Recipe, Tuned
from vocap.finetuning.tasks import ENGLISH, SPLITS, TASKS, TRAININGS, first_task
from vocap.languages import natural, read_languages
from vocap.model_folder import CONFIG


@dataclass
class Supply:
    """The files of one XTREME folder; missing files are recorded, as paths under the folder.

    `download`: free files are fetched. `fetched`: files to fetch; `assumed`: files that a plan assumes.
    """

    xtreme: Path
    stand_ins: StandIns = field(default_factory=lambda: NONE)
    download: bool = False
    fetched: set[str] = field(default_factory=set)
    assumed: set[str] = field(default_factory=set)

    def find(self, wanted: DataSet, assume: bool = False) -> Path | None:
        """The present or future path of a file; None where nothing provides it.

        With `assume`, files that the user has to provide are assumed to exist.
        """
        if path := wanted.file(self.xtreme, self.stand_ins):
            return path
        path = next(iter(wanted.candidates(self.stand_ins)), None)
        if path and self.download and collection_of(path):
            self.fetched.add(path)
        elif path and assume:
            self.assumed.add(path)
        else:
            return None
        return self.xtreme / path

    def to_bring(self) -> list[str]:
        """The folders under `xtreme` that the user has to provide."""
        return sorted({path.partition("/")[0] for path in self.assumed})

    def is_made(self, path: Path) -> bool:
        """Whether a file exists, or a job fetches it."""
        return path.exists() or str(path.relative_to(self.xtreme)) in self.fetched


class Setting(NamedTuple):
    """The hyper-parameters that distinguish the runs of one model and training."""

    learning_rate: float
    epochs: int
    seed: int

    @property
    def name(self) -> str:
        """The run's folder; a rate has all its digits, and 1e-5 and 0.00001 are one.

        >>> Setting(1e-5, 10, 3).name
        '1e-05-10-3'
        """
        return f"{self.learning_rate!r}-{self.epochs}-{self.seed}"


def settings_of(recipe: Recipe, seeds: Collection[int]) -> list[Setting]:
    """Every run of one model on one training.

    >>> from vocap.finetuning.settings import make_recipes
    >>> len(settings_of(make_recipes({})["tydiqa"], range(5)))  # 2 rates, 6 or 8 epochs
    20
    """
    return [
        Setting(rate, epochs, seed) for rate in recipe.learning_rates for epochs in recipe.epochs for seed in seeds
    ]


@dataclass(frozen=True)
class Grid:
    """The runnable part of a configuration: models, trainings, and tasks with files.

    `files`: of each training, the files of the XTREME folder that it reads, those that are fetched too; `planned`:
    missing sets that are fetched or assumed (see `supply`). `left_out`: (part, reason).
    """

    xtreme: Path | None
    models: dict[str, Tuned] = field(default_factory=dict)
    files: dict[str, list[Path]] = field(default_factory=dict)
    tasks: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    planned: set[DataSet] = field(default_factory=set)
    supply: Supply | None = None

    def tasks_for(self, model: str) -> list[str]:
        """The tasks that a model is fine-tuned on."""
        wanted = self.models[model].tasks
        return [task for task in self.tasks if wanted is None or task in wanted]


def make_grid(settings: Finetuning, own: Collection[str], assume: bool = False) -> Grid:
    """The runnable part of a configuration; `own`: the models of the pretraining stage.

    With `assume`, the plan of a run: a training without its training file is planned from the table of tasks, as
    if all its files existed. Raises UsageError for stand-ins that are none.
    """
    stand_ins = reading.parse(settings.stand_ins)
    wanted = settings.tuned(own)
    if not wanted:
        return Grid(None)
    if why := settings.folder_lacks(assume):
        return Grid(None, left_out=[("fine-tuning", f"{why}; bring XTREME's download/ folder")])
    xtreme = Path(settings.xtreme)
    grid = Grid(xtreme, supply=Supply(xtreme, stand_ins, settings.download))

    # models that are there, or made by this run
    for name, entry in wanted.items():
        if entry.path is not None and not Path(entry.path, CONFIG).is_file():
            why = f"no {CONFIG} in {entry.path}; bring the model, or change its path"
        elif entry.path is None and (entry.model or name) not in own:
            why = f"model {entry.model or name} of pretraining is left out"
        else:
            grid.models[name] = entry
            continue
        grid.left_out.append((f"fine-tuning of {name}", why))

    # trainings with their files, and their tasks that can be tested
    for training in settings.trainings():
        learnt = DataSet(first_task(training), "train", ENGLISH)
        absent = grid.supply.find(learnt) is None  # so nothing of it is brought yet
        sets = [learnt, *reading.predicted_sets(training)]
        paths = {one: grid.supply.find(one, assume and absent) for one in sets}
        found = {one: path for one, path in paths.items() if path is not None}
        if why := _untrainable(grid.supply, training, settings, found):
            grid.left_out.append((f"fine-tuning on {training}", why))
            continue
        tested = {each.task.name for each in found if each.split == "test"}
        for task in [task for task in TRAININGS[training] if task in settings.chosen()]:
            if task in tested:
                grid.tasks.append(task)
                grid.files[training] = sorted({path for path in found.values() if grid.supply.is_made(path)})
            else:
                grid.left_out.append((f"task {task}", f"no test file in {xtreme}"))
        grid.planned.update(each for each, path in found.items() if not path.exists())
    grid.tasks.sort(key=list(TASKS).index)

    # models without any of their tasks
    for name, entry in list(grid.models.items()):
        if entry.tasks is not None and not grid.tasks_for(name):
            grid.left_out.append(
                (f"fine-tuning of {name}", f"none of its tasks, {', '.join(entry.tasks)}, can run")
            )
            del grid.models[name]
    return grid


def _untrainable(supply: Supply, training: str, settings: Finetuning, found: Mapping[DataSet, Path]) -> str | None:
    """Why a training cannot run, if it cannot: no file to learn from, or none that can choose."""
    learnt = DataSet(first_task(training), "train", ENGLISH)
    if learnt not in found:
        return f"no file {learnt.name} in {supply.xtreme}; bring it, or name another under finetuning.stand_ins"
    names = {each.name for each in [*found, DataSet(learnt.task, reading.HELD_OUT, ENGLISH)]}
    choosing = reading.choosing_sets(training, settings.selection, names)
    if not choosing:
        return f"no development file to choose by in {supply.xtreme}; bring one, or change finetuning.selection"
    for each in [each for each in choosing if each.split == "test" and each in found]:
        with suppress(VocapError):  # of an unreadable file, which its own job reports
            if not all(map(reading.is_labelled, each.read(supply.xtreme, supply.stand_ins))):
                return (
                    f"{each.name}, on which the paper's rule selects, lacks its labels in {supply.xtreme}; bring "
                    "xTune's files, or write finetuning: selection: english-dev"
                )
    return None


def input_length(recipe: Recipe, longest: int | None) -> int:
    """Ids of an input: the recipe's, or fewer where the model reads fewer."""
    return recipe.max_length if longest is None else min(recipe.max_length, longest)


COLUMNS = ("task", "split", "language", "status", "rows", "known_rows", "labelled", "file", "note")
OK, MISSING, BROKEN = "ok", "missing", "broken"


def check(folder: Path, tasks: Collection[str] = tuple(TASKS), stand_ins: StandIns = NONE) -> list[dict[str, Any]]:
    """Rows of `COLUMNS`: every file of these tasks, read completely, in the order of tasks, splits and languages.

    `status`: `ok`, `missing` (left out of the run), or `broken` (no run may start; reason in `note`). `file` is
    relative to the folder; of a stand-in, it is the file read in the place of the other. Raises UsageError where
    `folder` does not exist, or has no file of any task.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name the one that XTREME's scripts call download")
    rows: list[dict[str, Any]] = []
    for task, split in product([TASKS[name] for name in TASKS if name in tasks], SPLITS):
        sets = [DataSet(task, split, language) for language in task.languages_of(split)]
        found = [_look(folder, one, stand_ins) for one in sets]
        if task.parallel:
            _compare_rows([row for row in found if row["status"] == OK])
        rows += found
    if all(row["status"] == MISSING for row in rows):
        inside = folder / "download"
        remedy = f"did you mean {inside}?" if inside.is_dir() else "see docs/finetuning.md"
        raise UsageError(f"{folder}: holds no file of {', '.join(tasks)}; {remedy}")
    return rows


def _look(folder: Path, found: DataSet, stand_ins: StandIns) -> dict[str, Any]:
    """The row of one file."""
    known = found.task.rows.get(found.split, {}).get(found.language)
    row = dict.fromkeys(COLUMNS) | {"task": found.task.name, "split": found.split, "language": found.language}
    row |= {"status": MISSING, "known_rows": known, "note": ""}
    path = found.file(folder, stand_ins)
    if path is None:
        return row
    row["file"] = str(path.relative_to(folder))
    try:
        examples = found.read(folder, stand_ins)
    except VocapError as error:
        return row | {"status": BROKEN, "note": str(error)}
    notes, labelled = [], reading.is_labelled(examples[0])
    if stand_in := stand_ins.get(key_of(found.task, found.split)):
        notes.append(f"stand-in: {stand_in}")
        if stand_in.parts == 1 and found.file(folder):
            notes.append("the file itself is there and is not read")
    elif known not in (None, len(examples)):
        notes.append("not the known number of rows")
    if not labelled:
        notes.append("test labels withheld, predicted and never scored")
    if found.language not in natural(read_languages()):
        notes.append("not among the paper's 86 languages, kept")
    return row | {"status": OK, "rows": len(examples), "labelled": labelled, "note": "; ".join(notes)}


def _compare_rows(rows: Sequence[dict[str, Any]]) -> None:
    """Mark those of a split's translations that differ in rows from the known number, or else from most others."""
    counts = Counter(row["rows"] for row in rows)
    usual = max(sorted(counts), key=lambda count: (count == rows[0]["known_rows"], counts[count]), default=None)
    model = next((row["file"] for row in rows if row["rows"] == usual), None)
    for row in rows:
        if row["rows"] != usual:
            row["status"] = BROKEN
            row["note"] = (
                f"{row['file']}: {row['rows']} rows, {model} has {usual}, and they are translations of one "
                f"another: row {min(row['rows'], usual) + 1} has no counterpart; download the file again"
            )


def described(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A summary in lines: present and missing files of each split, then each note with its languages."""
    noted: dict[str, list[str]] = {}
    for (task, split), group in groupby(rows, key=itemgetter("task", "split")):
        own = list(group)
        there = [row for row in own if row["status"] == OK]
        missing = " ".join(row["language"] for row in own if row["status"] == MISSING)
        left_out = f"; left out: {missing}" if missing else ""
        if missing and split == "train":
            left_out = f"; no {key_of(TASKS[task], split)} file: the task cannot be trained"
        count = sum(row["rows"] for row in there)
        yield f"{task} {split}: {len(there)} of {len(own)} files ({count:,} rows){left_out}"
        for row in there:
            for note in filter(None, row["note"].split("; ")):
                noted.setdefault(f"{task} {split}: {note}", []).append(row["language"])
    yield from (f"{note}: {' '.join(languages)}" for note, languages in noted.items())
