"""Fine-tuning tasks, one entry each: files, labels, measures, settings, known rows;
their data sets and examples.

The seven tasks of Table 1 are the entries of `tasks.yaml`; everything else (reading,
training, scoring, plan, report) asks the entry. Kinds of tasks are pairs of texts, tagged words,
and questions with answers in a context; a task of one of these kinds is written in one
place:

>>> task = register_task(Task("mine", "tags", ("en",), labels=("A", "O")))
>>> TRAININGS["mine"], task.files["test"]
(('mine',), ('{task}/{split}-{language}.tsv',))
>>> del TASKS["mine"], TRAININGS["mine"]
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from vocap.errors import UsageError, VocapError
from vocap.files.io import read_tsv
from vocap.finetuning.examples import (
    HELD_OUT,
    Examples,
    held_out,
    read_pairs,
    read_questions,
    read_tagged_sentences,
)
from vocap.finetuning.metrics import Words, mlqa_words, squad_words

ENGLISH = "en"  # the language of every training file that is read
SPLITS = ("train", "dev", "test")
TABLE = ("{task}/{split}-{language}.tsv",)
# by the name of the official script, language to the function that cuts an answer
WORDS: dict[str, Callable[[str], Words]] = {
    "squad": lambda language: squad_words,
    "mlqa": mlqa_words,
}
METRICS = {"pairs": ("acc",), "tags": ("f1",), "spans": ("f1", "exact_match")}  # by kind


@dataclass(frozen=True, eq=False)
class Task:
    """One task: its files, its labels, its measures.

    Parameters
    ----------
    name : of its folder and in the configuration
    kind : pairs (two texts and a label), tags (words with labels) or spans (questions
        with answers in a context)
    languages : those with a test file
    dev_languages : those with a development file; of xquad, that is the English
        development set of SQuAD
    labels : in the order of their numbers; none for spans
    training : name of the training that serves the task, with all tasks of the same
        name; default: `name`
    recipe : settings of that training (`vocap.finetuning.settings.Recipe`), given with
        its first task
    label : name in the report; default: `name`
    files : split to the paths of a file under the XTREME folder, with {task}, {split}
        and {language}; the first that exists is read
    words : of spans, language to the function that cuts an answer into the words that
        are compared
    rows : known numbers of rows: split to language to pairs, sentences or questions
    parallel : whether the rows of a split are the same in every language
    chooses : whether its development files choose the state and the settings of its
        training
    bytes_per_row : mean size of a row of the training file, for the forecast of
        `vocap plan`
    """

    name: str
    kind: Literal["pairs", "tags", "spans"]
    languages: tuple[str, ...]
    dev_languages: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    training: str = ""
    recipe: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    files: Mapping[str, Sequence[str]] = field(default_factory=lambda: dict.fromkeys(SPLITS, TABLE))
    words: Callable[[str], Words] = WORDS["squad"]
    rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    parallel: bool = False
    chooses: bool = True
    bytes_per_row: int = 200

    def __post_init__(self) -> None:
        object.__setattr__(self, "training", self.training or self.name)
        object.__setattr__(self, "label", self.label or self.name)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The measures that count, by their names in scores.tsv; the first chooses."""
        return METRICS[self.kind]

    def languages_of(self, split: str) -> tuple[str, ...]:
        """The languages that have this split."""
        return {"train": (ENGLISH,), "dev": self.dev_languages, "test": self.languages}.get(
            split, ()
        )


TASKS: dict[str, Task] = {}
TRAININGS: dict[str, tuple[str, ...]] = {}  # each training: the tasks that it serves


def register_task(task: Task) -> Task:
    """Make a task known, after those that are."""
    TASKS[task.name] = task
    TRAININGS[task.training] = (*TRAININGS.get(task.training, ()), task.name)
    return task


def first_task(training: str) -> Task:
    """The task that a training was registered with: its kind, labels, training file and
    recipe.
    """
    return TASKS[TRAININGS[training][0]]


def _register_published() -> None:
    """Register the tasks of Table 1, each in the languages of its published files."""
    rows: dict[str, dict[str, dict[str, int]]] = {}
    for row in read_tsv(Path(__file__).with_name("rows.tsv")):
        splits = rows.setdefault(row["task"], {})
        splits.setdefault(row["split"], {})[row["language"]] = int(row["rows"])
    for name, entry in yaml.safe_load(Path(__file__).with_name("tasks.yaml").read_bytes()).items():
        task = Task(
            name,
            languages=tuple(rows[name]["test"]),
            dev_languages=tuple(rows[name].get("dev", ())),
            labels=tuple(entry.pop("labels", ())),
            words=WORDS[entry.pop("words", "squad")],
            rows=rows[name],
            **entry,
        )
        register_task(task)


_register_published()


Selection = Literal["paper", "english-dev"]
SELECTIONS: tuple[Selection, ...] = ("paper", "english-dev")
KEPT = "kept"  # split: a training file without its held-out part


@dataclass(frozen=True)
class DataSet:
    """One file of one task, or a part of it; `split` is train, dev, test, kept or
    heldout.
    """

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

    def candidates(self) -> list[str]:
        """The possible paths of this file under the folder; none where the task has no such file.

        Parts of a training file are in that file. Training files of tagging tasks have
        a place in every language of the task, for the correlation study.
        """
        task = self.task
        split = "train" if self.split in (KEPT, HELD_OUT) else self.split
        own = split == "train" and task.kind == "tags" and self.language in task.languages
        if not own and self.language not in task.languages_of(split):
            return []
        paths = [
            one.format(task=task.name, split=split, language=self.language)
            for one in task.files[split]
        ]
        return [path + packed for path in paths for packed in ("", ".xz")]

    def file(self, xtreme: Path) -> Path | None:
        """Its file under the XTREME folder, plain or with `.xz`; None if missing."""
        return next(filter(Path.is_file, map(xtreme.joinpath, self.candidates())), None)

    def present_file(self, xtreme: Path) -> Path:
        """As `file`; raises VocapError, with the remedy, for one that is missing."""
        path = self.file(xtreme)
        if path is None:
            name = next(iter(self.candidates()), self.name)
            raise VocapError(
                f"{xtreme / name}: no such file, nor one with .xz; download it into this folder"
            )
        return path

    def read(self, xtreme: Path) -> Examples:
        """Its examples, in the order of the file: `Pair`, `TaggedSentence` or `Question`, by
        the task's kind.

        Only examples of `test` may lack labels, and then all of a file do. Raises
        VocapError, naming the file, the line and the remedy, for a file that is missing
        or not as it should be.
        """
        path = self.present_file(xtreme)
        blank = self.split == "test"
        if self.task.kind != "spans":
            read = read_pairs if self.task.kind == "pairs" else read_tagged_sentences
            return read(path, self.task.labels, blank)
        questions = read_questions(path, blank, unique=self.split in ("dev", "test"))
        return (
            held_out(questions)[self.split == HELD_OUT]
            if self.split in (KEPT, HELD_OUT)
            else questions
        )


@dataclass(frozen=True)
class Development:
    """The selecting files: one split of one task in some languages, and the measure
    whose mean over them counts.

    `label`: the name of the choice in outputs.
    """

    task: str
    split: str
    languages: tuple[str, ...]
    metric: str
    label: str

    @property
    def sets(self) -> list[DataSet]:
        return [DataSet(TASKS[self.task], self.split, code) for code in self.languages]


def development(training: str, rule: Selection) -> Development:
    """The development files of a training under a selection rule.

    `paper` (appendix C): the mean over all languages' development files; XQuAD by
    MLQA's; TyDiQA, which has none, by its English test file. `english-dev`, XTREME's
    own rule: the English development file, and never a test file: for SQuAD that of
    MLQA, as SQuAD's own holds the paragraphs that XQuAD tests on; for TyDiQA questions
    held out of its English training file. Raises UsageError for other names.
    """
    if training not in TRAININGS or rule not in SELECTIONS:
        raise UsageError(
            f"{training}, {rule}: the trainings are {', '.join(TRAININGS)}, the rules "
            f"{', '.join(SELECTIONS)}"
        )
    task = next(TASKS[name] for name in TRAININGS[training] if TASKS[name].chooses)
    split = "dev"
    languages: tuple[str, ...] = (ENGLISH,)
    if task.dev_languages and rule == "paper":
        languages = task.dev_languages
        files = f"the development files of all languages of {task.name}"
    elif task.dev_languages:
        files = f"the English development file of {task.name}"
    elif rule == "paper":
        split, files = "test", "the English test file"
    else:
        split = HELD_OUT
        files = "questions held out of the English training file"
    return Development(
        task=task.name,
        split=split,
        languages=languages,
        metric=task.metrics[0],
        label=f"chosen on {files}",
    )


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
