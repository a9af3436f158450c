"""Which files a training reads: the one it learns from, those it predicts, and those that choose."""

from collections.abc import Collection
from dataclasses import dataclass

from vocap.finetuning.reading import key_of
from vocap.finetuning.selection import HELD_OUT, Rule, development
from vocap.finetuning.tasks import ENGLISH, TASKS, TRAININGS, Task

KEPT = "kept"  # split: what `held_out` leaves of a training file


@dataclass(frozen=True)
class DataSet:
    """One file of one task, or a part of it; `split` is train, dev, test, kept or heldout."""

    task: Task
    split: str
    language: str

    @property
    def name(self) -> str:
        """
        >>> DataSet(TASKS["panx"], "dev", "ja").name
        'panx/dev-ja'
        """
        return f"{self.task.name}/{self.split}-{self.language}"


def training_set(training: str, rule: Rule = "paper") -> DataSet:
    """What a training learns from: the English file, without what the rule holds out of it."""
    task = TASKS[TRAININGS[training][0]]
    held_out = development(training, rule).split == HELD_OUT
    return DataSet(task, KEPT if held_out else "train", ENGLISH)


def predicted_sets(training: str) -> list[DataSet]:
    """Every development and test file of the tasks of a training."""
    return [
        DataSet(TASKS[task], split, language)
        for task in TRAININGS[training]
        for split in ("dev", "test")
        for language in TASKS[task].languages_of(split)
    ]


def keys_of(training: str) -> set[str]:
    """What stand-ins for the files of a training are named by."""
    return {key_of(found.task, found.split) for found in [training_set(training), *predicted_sets(training)]}


def choosing_sets(training: str, rule: Rule, present: Collection[str]) -> list[DataSet]:
    """The sets whose mean score chooses a run's state, of those that are `present` (by name)."""
    chosen = development(training, rule)
    sets = [DataSet(TASKS[chosen.task], chosen.split, language) for language in chosen.languages]
    return [found for found in sets if found.name in present]
