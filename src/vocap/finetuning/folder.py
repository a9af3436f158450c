"""The files of an XTREME folder, checked before training: present, missing and damaged ones."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vocap.errors import UsageError, VocapError
from vocap.finetuning.reading import NONE, StandIns, is_labelled, key_of, locate, read
from vocap.finetuning.selection import development
from vocap.finetuning.tasks import SPLITS, TASKS, Split, Task
from vocap.languages import natural, read_languages

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
        for file in there:
            for note in filter(None, file.note.split("; ")):
                noted.setdefault(f"{task.name} {split}: {note}", []).append(file.language)
        chosen = development(task.training, "paper")
        if split == chosen.split == "test" and any(
            f.labelled is False and f.language in chosen.languages for f in own
        ):
            yield (
                f"{task.name}: cannot be trained by the paper's rule, which selects on the test file of "
                f"{chosen.languages[0]}: bring xTune's files, or write finetuning: selection: english-dev"
            )
    yield from (f"{note}: {' '.join(languages)}" for note, languages in noted.items())
