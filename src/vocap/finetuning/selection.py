"""Data sets of a training: training, predicted and selecting ones."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vocap.errors import UsageError, VocapError
from vocap.finetuning.reading import Example, Question, StandIns, key_of, locate, read
from vocap.finetuning.tasks import ENGLISH, TASKS, TRAININGS, Task, first_task

Selection = Literal["paper", "english-dev"]
SELECTIONS: tuple[Selection, ...] = ("paper", "english-dev")
HELD_OUT = "heldout"  # split of the questions that `held_out` keeps from training
HELD_OUT_SHARE = 0.1  # of the contexts
KEPT = "kept"  # split: a training file without its held-out part


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

    @property
    def source(self) -> str:
        """The split of its file: the training file for its parts."""
        return "train" if self.split in (KEPT, HELD_OUT) else self.split

    def file(self, xtreme: Path, stand_ins: StandIns) -> Path | None:
        """Its file, or that of its stand-in; None if missing."""
        return locate(xtreme, self.task, self.source, self.language, stand_ins)

    def read(self, xtreme: Path, stand_ins: StandIns) -> list[Example]:
        """Its examples. Raises VocapError as `vocap.finetuning.reading.read` does."""
        examples = read(xtreme, self.task, self.source, self.language, stand_ins)
        return examples if self.split == self.source else held_out(examples)[self.split == HELD_OUT]


@dataclass(frozen=True)
class Development:
    """The selecting files: one split of one task in some languages, and the measure whose mean over them counts.

    `label`: the name of the choice in outputs.
    """

    task: str
    split: str
    languages: tuple[str, ...]
    metric: str
    label: str


def development(training: str, rule: Selection) -> Development:
    """The development files of a training under a selection rule.

    `paper` (appendix C): the mean over all languages' development files; XQuAD by MLQA's; TyDiQA, which has none,
    by its English test file. `english-dev`, XTREME's own rule: the English development file, and never a test
    file: for SQuAD that of MLQA, as SQuAD's own holds the paragraphs that XQuAD tests on; for TyDiQA questions
    held out of its English training file. Raises UsageError for other names.
    """
    if training not in TRAININGS or rule not in SELECTIONS:
        raise UsageError(
            f"{training}, {rule}: the trainings are {', '.join(TRAININGS)}, the rules {', '.join(SELECTIONS)}"
        )
    task = next(TASKS[name] for name in TRAININGS[training] if TASKS[name].chooses)
    split, languages = "dev", (ENGLISH,)
    if task.dev_languages and rule == "paper":
        languages, files = task.dev_languages, f"the development files of all languages of {task.name}"
    elif task.dev_languages:
        files = f"the English development file of {task.name}"
    elif rule == "paper":
        split, files = "test", "the English test file"
    else:
        split, files = HELD_OUT, "questions held out of the English training file"
    return Development(task.name, split, languages, task.metrics[0], f"chosen on {files}")


def held_out(questions: Sequence[Question]) -> tuple[list[Question], list[Question]]:
    """Split questions into training and held-out ones (a tenth of the contexts), both in their order.

    A context's questions stay together; the contexts with the lowest hashes are held out, independent of order.
    Held-out questions get new ids, as those of XTREME's training files repeat. Raises VocapError for fewer than
    two contexts.
    """
    contexts = sorted(
        {question.context for question in questions},
        key=lambda text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(),
    )
    if len(contexts) < 2:
        raise VocapError(
            f"{len(contexts)} contexts are too few to hold one out of training; give more, or choose by the "
            "paper's rule (finetuning: selection: paper)"
        )
    chosen = set(contexts[: max(1, round(HELD_OUT_SHARE * len(contexts)))])
    kept = [question for question in questions if question.context not in chosen]
    held = [
        question._replace(id=f"{HELD_OUT}-{number}")
        for number, question in enumerate(questions)
        if question.context in chosen
    ]
    return kept, held


def training_set(training: str, rule: Selection = "paper") -> DataSet:
    """The training set: the English file, without the part that the rule holds out."""
    kept = development(training, rule).split == HELD_OUT
    return DataSet(first_task(training), KEPT if kept else "train", ENGLISH)


def predicted_sets(training: str) -> list[DataSet]:
    """Every development and test file of the tasks of a training."""
    return [
        DataSet(TASKS[task], split, language)
        for task in TRAININGS[training]
        for split in ("dev", "test")
        for language in TASKS[task].languages_of(split)
    ]


def keys_of(training: str) -> set[str]:
    """Keys of the stand-ins for the files of a training."""
    return {key_of(found.task, found.split) for found in [training_set(training), *predicted_sets(training)]}


def choosing_sets(training: str, rule: Selection, present: Collection[str]) -> list[DataSet]:
    """The sets whose mean score chooses a run's state, of those that are `present` (by name)."""
    chosen = development(training, rule)
    sets = [DataSet(TASKS[chosen.task], chosen.split, language) for language in chosen.languages]
    return [found for found in sets if found.name in present]
