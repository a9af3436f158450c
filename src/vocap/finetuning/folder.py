"""The files of an XTREME folder, checked before training: present, missing and damaged ones."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vocap.errors import UsageError, VocapError
from vocap.finetuning.formats import is_labelled
from vocap.finetuning.reading import StandIns, find, key_of, locate, read
from vocap.finetuning.selection import development
from vocap.finetuning.tasks import ENGLISH, SPLITS, TASKS, Split, Task
from vocap.languages import natural, read_languages

COLUMNS = ("task", "split", "language", "status", "rows", "known_rows", "labelled", "file", "note")


@dataclass(frozen=True)
class File:
    """One file that a task reads: a row of the check's table.

    `status`: `ok`, `missing` (left out of the run), or `broken` (no run may start; reason in `note`).
    `file` is relative to the folder; of a stand-in, it is the file read in the place of the other.
    """

    task: Task
    split: Split
    language: str
    status: str
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


def check(
    folder: Path,
    tasks: Collection[str] = tuple(TASKS),
    stand_ins: StandIns | None = None,
    progress: Callable[[Task], None] = lambda task: None,
) -> list[File]:
    """Every file of these tasks, read completely, in the order of tasks, splits and languages.

    Raises UsageError where `folder` does not exist, or has no file of any task.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name the one that XTREME's scripts call download")
    stand_ins = stand_ins or {}
    paper = set(natural(read_languages()))
    files: list[File] = []
    for name in TASKS:
        if name in tasks:
            progress(TASKS[name])
            for split in SPLITS:
                languages = TASKS[name].languages_of(split)
                found = [_look(folder, TASKS[name], split, code, stand_ins, paper) for code in languages]
                files += _equal_rows(found)
    if all(file.status == "missing" for file in files):
        inside = folder / "download"
        remedy = f"did you mean {inside}?" if inside.is_dir() else "see docs/finetuning.md"
        raise UsageError(f"{folder}: holds no file of {', '.join(tasks)}; {remedy}")
    return files


def _look(folder: Path, task: Task, split: Split, language: str, stand_ins: StandIns, paper: set[str]) -> File:
    path = locate(folder, task, split, language, stand_ins)
    stand_in = stand_ins.get(key_of(task, split))
    notes = [f"stand-in: {stand_in}"] if stand_in else []
    if stand_in and stand_in.parts == 1 and find(folder, task, split, language):
        notes.append("the file itself is there and is not read")
    if language not in paper:
        notes.append("not among the paper's 86 languages, kept")
    if path is None:
        return File(task, split, language, "missing", note="; ".join(notes))
    name = str(path.relative_to(folder))
    try:
        examples = read(folder, task, split, language, stand_ins)
    except VocapError as error:
        return File(task, split, language, "broken", file=name, note=str(error))
    labelled = is_labelled(examples[0])
    if labelled is False:
        notes.append("test labels withheld, predicted and never scored")
    known = task.rows.get(split, {}).get(language)
    if stand_in is None and known not in (None, len(examples)):
        notes.append("not the known number of rows")
    return File(task, split, language, "ok", len(examples), labelled, name, "; ".join(notes))


def _equal_rows(files: Sequence[File]) -> list[File]:
    """The files of one split; where they are translations of one another, those of other lengths are broken."""
    read_ones = [file for file in files if file.status == "ok"]
    if not read_ones or not read_ones[0].task.parallel:
        return list(files)
    counts = [file.rows for file in read_ones]
    known = read_ones[0].known_rows
    usual = known if known in counts else max(sorted(set(counts)), key=counts.count)
    model = next(file for file in read_ones if file.rows == usual)
    checked = []
    for file in files:
        if file.status == "ok" and file.rows != usual:
            note = (
                f"{file.file}: {file.rows} rows, {model.file} has {usual}, and they are translations of one "
                f"another: row {min(file.rows, usual) + 1} has no counterpart; download the file again"
            )
            file = File(file.task, file.split, file.language, "broken", file.rows, file.labelled, file.file, note)
        checked.append(file)
    return checked


def described(files: Sequence[File]) -> Iterator[str]:
    """A summary in lines: present and missing files of each task."""
    for task in dict.fromkeys(file.task for file in files):
        own = [file for file in files if file.task is task]
        counts = []
        for split in SPLITS:
            of_split = [file for file in own if file.split == split]
            there = [file for file in of_split if file.status == "ok"]
            if of_split:
                rows = sum(file.rows or 0 for file in there)
                counts.append(f"{split} {len(there)} of {len(of_split)} files ({rows:,} rows)")
        yield f"{task.name}: {', '.join(counts)}"
        yield from (f"  {line}" for line in _left_out(own))


def _left_out(files: Sequence[File]) -> Iterator[str]:
    task = files[0].task
    for split in SPLITS:
        missing = [file.language for file in files if file.split == split and file.status == "missing"]
        if missing and split == "train":
            yield f"no {key_of(task, split)} file ({ENGLISH}): the task cannot be trained"
        elif missing:
            yield f"no {split} file, left out: {' '.join(missing)}"
    noted: dict[str, dict[str, None]] = {}  # by note, the languages of its files
    for file in files:
        for note in file.note.split("; ") if file.status == "ok" and file.note else ():
            note = note.replace("stand-in:", f"stand-in for {key_of(task, file.split)}:")
            noted.setdefault(note, {})[file.language] = None
    yield from (f"{note}: {' '.join(languages)}" for note, languages in noted.items())
    blank = [file.language for file in files if file.labelled is False]
    chosen = development(task.training, "paper")
    if chosen.split == "test" and set(chosen.languages) & set(blank):
        yield (
            "cannot be trained by the paper's rule, which selects on the test file of "
            f"{chosen.languages[0]}: bring xTune's files, or write finetuning: selection: english-dev"
        )
