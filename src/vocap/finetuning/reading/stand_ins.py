"""Files that take the place of others, for trials on a folder that lacks some: never silently."""

from collections.abc import Mapping
from dataclasses import dataclass

from vocap.errors import UsageError
from vocap.finetuning.tasks import SPLITS, TASKS, TRAININGS, Split, Task


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
    """What a stand-in is for: `xnli/dev`; of a training file, `squad/train` for both of its tasks."""
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
