"""The check of an XTREME folder; models, trainings and tasks that a configuration can run."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from vocap.errors import UsageError, VocapError
from vocap.finetuning.published import collection_of, place
from vocap.finetuning.reading import (
    HELD_OUT,
    NONE,
    DataSet,
    StandIn,
    StandIns,
    choosing_sets,
    development,
    is_labelled,
    key_of,
    locate,
    parse,
    predicted_sets,
    read,
)
from vocap.finetuning.settings import Finetuning, Recipe, Tuned
from vocap.finetuning.tasks import ENGLISH, SPLITS, TASKS, TRAININGS, Split, Task, first_task
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

    def find(self, task: Task, split: Split, language: str, assume: bool = False) -> Path | None:
        """The present or future path of the file; None where nothing provides it.

        With `assume`, files that the user has to provide are assumed to exist.
        """
        if path := locate(self.xtreme, task, split, language, self.stand_ins):
            return path
        stand_in = self.stand_ins.get(key_of(task, split), StandIn(task, split))
        path = place(stand_in.task, stand_in.split, language)
        if path is None:
            return None
        for packed in ("", ".xz"):  # of training files `locate` knows the English ones
            if (found := self.xtreme / f"{path}{packed}").is_file():
                return found
        if self.download and collection_of(path):
            self.fetched.add(path)
        elif assume:
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
    stand_ins = parse(settings.stand_ins)
    wanted = settings.tuned(own)
    if not wanted:
        return Grid(None)
    if settings.xtreme is None or not (settings.download or assume or Path(settings.xtreme).is_dir()):
        why = "finetuning.xtreme names none" if settings.xtreme is None else f"no folder {settings.xtreme}"
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
        found = _files(grid.supply, training, assume)
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


def _files(supply: Supply, training: str, assume: bool) -> dict[DataSet, Path]:
    """The present and future files of a training, the training file first."""
    learnt = DataSet(first_task(training), "train", ENGLISH)
    absent = supply.find(learnt.task, "train", ENGLISH) is None
    sets = [learnt, *predicted_sets(training)]
    paths = {each: supply.find(each.task, each.split, each.language, assume and absent) for each in sets}
    return {each: path for each, path in paths.items() if path is not None}


def _untrainable(supply: Supply, training: str, settings: Finetuning, found: Mapping[DataSet, Path]) -> str | None:
    """Why a training cannot run, if it cannot: no file to learn from, or none that can choose."""
    learnt = DataSet(first_task(training), "train", ENGLISH)
    if learnt not in found:
        return f"no file {learnt.name} in {supply.xtreme}; bring it, or name another under finetuning.stand_ins"
    names = {each.name for each in [*found, DataSet(learnt.task, HELD_OUT, ENGLISH)]}
    choosing = choosing_sets(training, settings.selection, names)
    if not choosing:
        return f"no development file to choose by in {supply.xtreme}; bring one, or change finetuning.selection"
    if blank := next((each for each in choosing if each in found and _is_blank(supply, each)), None):
        return (
            f"{blank.name}, on which the paper's rule selects, lacks its labels in {supply.xtreme}; bring "
            "xTune's files, or write finetuning: selection: english-dev"
        )
    return None


def _is_blank(supply: Supply, found: DataSet) -> bool:
    """Whether a test file lacks its labels; False for an unreadable file, which its own job reports."""
    if found.split != "test":
        return False
    try:
        return not all(map(is_labelled, found.read(supply.xtreme, supply.stand_ins)))
    except VocapError:
        return False


def input_length(recipe: Recipe, longest: int | None) -> int:
    """Ids of an input: the recipe's, or fewer where the model reads fewer."""
    return recipe.max_length if longest is None else min(recipe.max_length, longest)


COLUMNS = ("task", "split", "language", "status", "rows", "known_rows", "labelled", "file", "note")
OK, MISSING, BROKEN = "ok", "missing", "broken"


@dataclass
class File:
    """One file that a task reads: a row of the check's table.

    `status`: `ok`, `missing` (left out of the run), or `broken` (no run may start; reason in `note`).
    `file` is relative to the folder; of a stand-in, it is the file read in the place of the other.
    """

    task: Task
    split: Split
    language: str
    status: str = OK
    rows: int | None = None
    labelled: bool | None = None
    file: str | None = None
    note: str = ""

    @property
    def known_rows(self) -> int | None:
        """Rows of the published file, where they are known."""
        return self.task.rows.get(self.split, {}).get(self.language)

    def row(self) -> tuple:
        """The cells of `COLUMNS`."""
        return self.task.name, *(getattr(self, column) for column in COLUMNS[1:])


def check(folder: Path, tasks: Collection[str] = tuple(TASKS), stand_ins: StandIns = NONE) -> list[File]:
    """Every file of these tasks, read completely, in the order of tasks, splits and languages.

    Raises UsageError where `folder` does not exist, or has no file of any task.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name the one that XTREME's scripts call download")
    paper = natural(read_languages())
    files: list[File] = []
    for task in [TASKS[name] for name in TASKS if name in tasks]:
        for split in SPLITS:
            found = [File(task, split, language) for language in task.languages_of(split)]
            for file in found:
                _look(folder, file, stand_ins)
                if file.language not in paper and file.status != BROKEN:
                    file.note += "; not among the paper's 86 languages, kept"
                file.note = file.note.removeprefix("; ")
            if task.parallel:
                _compare_rows(found)
            files += found
    if all(file.status == MISSING for file in files):
        inside = folder / "download"
        remedy = f"did you mean {inside}?" if inside.is_dir() else "see docs/finetuning.md"
        raise UsageError(f"{folder}: holds no file of {', '.join(tasks)}; {remedy}")
    return files


def _look(folder: Path, file: File, stand_ins: StandIns) -> None:
    """Read a file, and fill in what was found."""
    task, split, language = file.task, file.split, file.language
    path = locate(folder, task, split, language, stand_ins)
    stand_in = stand_ins.get(key_of(task, split))
    if stand_in:
        file.note = f"; stand-in: {stand_in}"
        if stand_in.parts == 1 and locate(folder, task, split, language):
            file.note += "; the file itself is there and is not read"
    if path is None:
        file.status = MISSING
        return
    file.file = str(path.relative_to(folder))
    try:
        examples = read(folder, task, split, language, stand_ins)
    except VocapError as error:
        file.status, file.note = BROKEN, str(error)
        return
    file.rows, file.labelled = len(examples), is_labelled(examples[0])
    if not file.labelled:
        file.note += "; test labels withheld, predicted and never scored"
    if stand_in is None and file.known_rows not in (None, file.rows):
        file.note += "; not the known number of rows"


def _compare_rows(files: Sequence[File]) -> None:
    """Mark those of a split's translations that differ in rows from the known number, or else from most others."""
    counts = Counter(file.rows for file in files if file.status == OK)
    if not counts:
        return
    known = files[0].known_rows
    usual = known if known in counts else max(sorted(counts), key=counts.get)
    model = next(file for file in files if file.rows == usual)
    for file in files:
        if file.status == OK and file.rows != usual:
            file.status = BROKEN
            file.note = (
                f"{file.file}: {file.rows} rows, {model.file} has {usual}, and they are translations of one "
                f"another: row {min(file.rows, usual) + 1} has no counterpart; download the file again"
            )


def described(files: Sequence[File]) -> Iterator[str]:
    """A summary in lines: present and missing files of each split, then each note with its languages."""
    noted: dict[str, list[str]] = {}
    for task, split in dict.fromkeys((file.task, file.split) for file in files):
        own = [file for file in files if (file.task, file.split) == (task, split)]
        there = [file for file in own if file.status == OK]
        missing = " ".join(file.language for file in own if file.status == MISSING)
        left_out = f"; left out: {missing}" if missing else ""
        if missing and split == "train":
            left_out = f"; no {key_of(task, split)} file: the task cannot be trained"
        rows = sum(file.rows for file in there)
        yield f"{task.name} {split}: {len(there)} of {len(own)} files ({rows:,} rows){left_out}"
        chosen = development(task.training, "paper")
        for file in there:
            notes = file.note.split("; ") if file.note else []
            if split == chosen.split == "test" and file.language in chosen.languages and not file.labelled:
                notes.append(
                    "cannot be trained by the paper's rule, which selects on this file: bring xTune's files, or "
                    "write finetuning: selection: english-dev"
                )
            for note in notes:
                noted.setdefault(f"{task.name} {split}: {note}", []).append(file.language)
    yield from (f"{note}: {' '.join(languages)}" for note, languages in noted.items())
