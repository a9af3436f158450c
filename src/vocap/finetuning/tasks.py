"""Fine-tuning tasks: one entry each, with its files, labels, measures, settings and known rows.

The seven tasks of Table 1 are registered here; everything else (reading, training, scoring, plan, report) asks the
entry. Kinds of tasks are pairs of texts, tagged words, and questions with answers in a context; a task of one of
these kinds is written in one place:

>>> task = register_task(Task("mine", "tags", ("en",), labels=("A", "O")))
>>> TRAININGS["mine"], task.files["test"]
(('mine',), ('{task}/{split}-{language}.tsv',))
>>> del TASKS["mine"], TRAININGS["mine"]
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from vocap.finetuning.metrics import Words, mlqa_words, squad_words

ENGLISH = "en"  # the language of every training file that is read
Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")
ENTITIES = ("B-LOC", "B-ORG", "B-PER", "I-LOC", "I-ORG", "I-PER", "O")
UPOS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)
TABLE = ("{task}/{split}-{language}.tsv",)
METRICS = {"pairs": ("acc",), "tags": ("f1",), "spans": ("f1", "exact_match")}  # by kind


@dataclass(frozen=True)
class Task:
    """One task: its files, its labels, its measures.

    Parameters
    ----------
    name : of its folder and in the configuration
    kind : pairs (two texts and a label), tags (words with labels) or spans (questions with answers in a context)
    languages : those with a test file
    dev_languages : those with a development file; of xquad, that is the English development set of SQuAD
    labels : in the order of their numbers; none for spans
    training : name of the training that serves the task, with all tasks of the same name; default: `name`
    recipe : settings of that training (`vocap.finetuning.settings.Recipe`), given with its first task
    label : name in the report; default: `name`
    files : split to the paths of a file under the XTREME folder, with {task}, {split} and {language}; the first
        that exists is read
    words : of spans, language to the function that cuts an answer into the words that are compared
    rows : known numbers of rows: split to language to pairs, sentences or questions
    parallel : whether the rows of a split are the same in every language
    chooses : whether its development files choose the state and the settings of its training
    bytes_per_row : mean size of a row of the training file, for the forecast of `vocap plan`
    """

    name: str
    kind: Literal["pairs", "tags", "spans"]
    languages: tuple[str, ...]
    dev_languages: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    training: str = ""
    recipe: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    label: str = ""
    files: Mapping[Split, tuple[str, ...]] = field(
        default_factory=lambda: dict.fromkeys(SPLITS, TABLE), repr=False, compare=False
    )
    words: Callable[[str], Words] = field(default=lambda language: squad_words, repr=False, compare=False)
    rows: Mapping[Split, Mapping[str, int]] = field(default_factory=dict, repr=False, compare=False)
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

    def languages_of(self, split: Split) -> tuple[str, ...]:
        """The languages that have this split."""
        return {"train": (ENGLISH,), "dev": self.dev_languages, "test": self.languages}.get(split, ())


TASKS: dict[str, Task] = {}
TRAININGS: dict[str, tuple[str, ...]] = {}  # each training: the tasks that it serves


def register_task(task: Task) -> Task:
    """Make a task known, after those that are."""
    TASKS[task.name] = task
    TRAININGS[task.training] = (*TRAININGS.get(task.training, ()), task.name)
    return task


def first_task(training: str) -> Task:
    """The task that a training was registered with: its kind, labels, training file and recipe."""
    return TASKS[TRAININGS[training][0]]


def _known_rows() -> dict[str, dict[Split, dict[str, int]]]:
    """The rows of the published files by task, split and language: pairs, sentences or questions."""
    rows: dict[str, dict[Split, dict[str, int]]] = {}
    for line in Path(__file__).with_name("rows.tsv").read_text("utf-8").splitlines()[1:]:
        task, split, language, count = line.split("\t")
        rows.setdefault(task, {}).setdefault(split, {})[language] = int(count)
    return rows


_ROWS = _known_rows()


def _published(name: str, kind: Literal["pairs", "tags", "spans"], **more: Any) -> None:
    """Register a task of Table 1, in the languages of its published files."""
    rows = _ROWS[name]
    register_task(Task(name, kind, tuple(rows["test"]), tuple(rows.get("dev", ())), rows=rows, **more))


# The recipes are the paper's grid; settings that it does not name are from the scripts of xTune, its code base.
_PAIRS = {"learning_rates": [7e-6, 1e-5], "epochs": [10], "max_length": 256}
_TAGS = {"learning_rates": [1e-5, 2e-5], "epochs": [10], "max_length": 128, "warmup": 0.1}
_SPANS = {"learning_rates": [2e-5, 3e-5], "max_length": 384, "warmup": 0.1}

_published(
    "xnli",
    "pairs",
    labels=("contradiction", "entailment", "neutral"),
    recipe={**_PAIRS, "evaluate_every": 5000},
    label="XNLI",
    parallel=True,
    bytes_per_row=190,
)
_published(
    "pawsx",
    "pairs",
    labels=("0", "1"),
    recipe={**_PAIRS, "evaluate_every": 1000},
    label="PAWS-X",
    parallel=True,
    bytes_per_row=240,
)
_published(
    "udpos",
    "tags",
    labels=UPOS,
    recipe={**_TAGS, "evaluate_every": 500, "pooling": "mean"},
    label="POS",
    bytes_per_row=180,
)
_published(
    "panx",
    "tags",
    labels=ENTITIES,
    recipe={**_TAGS, "evaluate_every": 1000},
    label="NER",
    bytes_per_row=75,
)

_SQUAD = ("squad/{split}-v1.1.json",)
_MLQA = ("mlqa/MLQA_V1/{split}/{split}-context-{language}-question-{language}.json",)
_TYDIQA = "tydiqa/tydiqa-goldp-v1.1-{0}/tydiqa.goldp.{{language}}.{0}.json"

_published(
    "xquad",
    "spans",
    training="squad",
    recipe={**_SPANS, "epochs": [4]},
    label="XQuAD",
    files={"train": _SQUAD, "dev": _SQUAD, "test": ("xquad/xquad.{language}.json",)},
    parallel=True,
    chooses=False,  # the development file of SQuAD holds the paragraphs that XQuAD tests on
    bytes_per_row=346,
)
_published(
    "mlqa",
    "spans",
    training="squad",
    label="MLQA",
    files={"train": _SQUAD, "dev": _MLQA, "test": _MLQA},
    words=mlqa_words,
    bytes_per_row=346,
)
_published(
    "tydiqa",
    "spans",
    recipe={**_SPANS, "epochs": [6, 8]},
    label="TyDiQA",
    files={  # xTune drops `goldp.`; the release's development set is the test set
        split: (path, path.replace(".goldp.", "."))
        for split, path in (("train", _TYDIQA.format("train")), ("test", _TYDIQA.format("dev")))
    },
    bytes_per_row=812,
)
