"""Files of an XTREME folder as examples: their paths, stand-ins for them, their content."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vocap.errors import UsageError, VocapError
from vocap.finetuning.formats import Example, read_pairs, read_questions, read_sentences
from vocap.finetuning.tasks import SPLITS, TASKS, TRAININGS, Split, Task


def candidates(task: Task, split: Split, language: str) -> list[str]:
    """The possible paths of a file under the folder; none where the task has no such file."""
    if language not in task.languages_of(split):
        return []
    paths = [pattern.format(task=task.name, split=split, language=language) for pattern in task.files[split]]
    return [path + packed for path in paths for packed in ("", ".xz")]


def find(folder: Path, task: Task, split: Split, language: str) -> Path | None:
    """The file, plain or with `.xz`, or None."""
    return next((folder / path for path in candidates(task, split, language) if (folder / path).is_file()), None)


@dataclass(frozen=True)
class StandIn:
    """Another file's rows, or the `part`th of `parts` equal parts of them (from 1)."""

    task: Task
    split: Split
    part: int = 1
    parts: int = 1

    def cut(self, examples: list) -> list:
        """Its part of the examples, in order.

        >>> StandIn(TASKS["xnli"], "dev", 2, 2).cut([1, 2, 3])
        [2, 3]
        """
        count = len(examples)
        return examples[count * (self.part - 1) // self.parts : count * self.part // self.parts]

    def __str__(self) -> str:
        name = self.task.training if self.split == "train" else self.task.name
        return f"{name}/{self.split}" + (f":{self.part}/{self.parts}" if self.parts > 1 else "")


StandIns = Mapping[str, StandIn]  # by key_of
NONE: StandIns = {}


def key_of(task: Task, split: Split) -> str:
    """The key of a stand-in: `xnli/dev`; of a training file, `squad/train` for both of its tasks."""
    return f"{task.training if split == 'train' else task.name}/{split}"


def parse(entries: Mapping[str, str]) -> dict[str, StandIn]:
    """Stand-ins from text: `{"xnli/train": "xnli/dev:1/2", "squad/train": "tydiqa/train"}`.

    Raises UsageError for a name that does not exist, files of another kind, or other labels.
    """
    found = {}
    for key, value in entries.items():
        replaced, _, _ = _parts(key, key)
        task, split, slices = _parts(value, key)
        if ":" in key:
            raise UsageError(f"stand_ins: {key}: name a whole split, such as xnli/train")
        if (task.kind, task.labels) != (replaced.kind, replaced.labels):
            raise UsageError(f"stand_ins: {key}: {value} is a file of another task; take one with the same labels")
        found[key] = StandIn(task, split, *slices)
    return found


def _parts(text: str, key: str) -> tuple[Task, Split, tuple[int, int]]:
    name, _, slices = text.partition(":")
    owner, _, split = name.partition("/")
    part, _, parts = slices.partition("/") if slices else ("1", "", "1")
    named = TASKS.get(owner) or TASKS.get(TRAININGS.get(owner, ("",))[0])
    right = named is not None and split in SPLITS and (owner in TRAININGS if split == "train" else owner in TASKS)
    if not right or not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise UsageError(
            f"stand_ins: {key}: {text!r} is no file; write TASK/dev, TASK/test or TRAINING/train "
            f"({', '.join(TRAININGS)}), and :1/2 for the first half of one"
        )
    if not named.languages_of(split):
        raise UsageError(f"stand_ins: {key}: {named.name} has no {split} file; take another")
    return named, split, (int(part), int(parts))


def locate(folder: Path, task: Task, split: Split, language: str, stand_ins: StandIns = NONE) -> Path | None:
    """The file that `read` would read, or None if missing."""
    stand_in = stand_ins.get(key_of(task, split))
    if stand_in is None:
        return find(folder, task, split, language)
    return find(folder, stand_in.task, stand_in.split, language)


def read(folder: Path, task: Task, split: Split, language: str, stand_ins: StandIns = NONE) -> list[Example]:
    """The examples of one file, in its order: `Pair`, `Sentence` or `Question`, by the task's kind.

    Only examples of `test` may lack labels, and then all of a file do. Raises VocapError, naming the file, the
    line and the remedy, for a file that is missing or not as it should be.
    """
    stand_in = stand_ins.get(key_of(task, split), StandIn(task, split))
    path = find(folder, stand_in.task, stand_in.split, language)
    if path is None:
        names = [name for name in candidates(stand_in.task, stand_in.split, language) if not name.endswith(".xz")]
        if not names:
            raise VocapError(f"{stand_in.task.name} has no {stand_in.split} file of language {language!r}")
        raise VocapError(f"{folder / names[0]}: no such file, nor one with .xz; download it into this folder")
    blank = split == "test"
    if task.kind == "pairs":
        examples: list = read_pairs(path, task.labels, blank)
    elif task.kind == "tags":
        examples = read_sentences(path, task.labels, blank)
    else:
        examples = read_questions(path, blank, unique=stand_in.split != "train")
    part = stand_in.cut(examples)
    if not part:
        raise VocapError(f"{path}: {stand_in} of {len(examples)} rows is none of them; correct the stand-in")
    return part
