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
from typing import Any, Literal

from vocap.finetuning.metrics import Words, mlqa_words, squad_words

ENGLISH = "en"  # the language of every training file that is read
Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")
ENTITIES = ("B-LOC", "B-ORG", "B-PER", "I-LOC", "I-ORG", "I-PER", "O")


TABLE = ("{task}/{split}-{language}.tsv",)
METRICS = {"pairs": ("acc",), "tags": ("f1",), "spans": ("f1", "exact_match")}  # by kind


@dataclass(frozen=True)
class Task:
    """One task: its files, its labels, its limits.

    Parameters
    ----------
    name : of its folder and in the configuration
    kind : pairs (two texts and a label), tags (words with labels) or spans (questions with answers in a context)
    languages : those with a test file
    dev_languages : those with a development file; of xquad, that is the English development set of SQuAD
    labels : in the order of their numbers; none for spans
    max_length : ids of an input, special tokens included
    training : name of the training that serves the task, with all tasks of the same name; default: `name`
    recipe : settings of that training (`vocap.finetuning.settings.Recipe`), given with its first task
    label : name in the report; default: `name`
    files : split to the paths of a file under the XTREME folder, with {task}, {split} and {language}; the first
        that exists is read
    words : of spans, language to the function that cuts an answer into the words that are compared
    rows : known numbers of rows: split to language to pairs, sentences or questions
    parallel : whether the rows of a split are the same in every language
    chooses : whether its development files choose the state and the settings of its training
    averaged : whether it enters the average of Table 1
    bytes_per_row : mean size of a row of the training file, for the forecast of `vocap plan`
    """

    name: str
    kind: Literal["pairs", "tags", "spans"]
    languages: tuple[str, ...]
    dev_languages: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    max_length: int = 128
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
    averaged: bool = False
    bytes_per_row: int = 200

    def __post_init__(self) -> None:
        object.__setattr__(self, "training", self.training or self.name)
        object.__setattr__(self, "label", self.label or self.name)

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The measures that count, by their names in scores.tsv; the first chooses."""
        return METRICS[self.kind]

    def languages_of(self, split: Split) -> tuple[str, ...]:
        """The languages that have this split."""
        return {"train": (ENGLISH,), "dev": self.dev_languages, "test": self.languages}.get(split, ())


def _codes(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _rows(languages: tuple[str, ...], counts: str) -> dict[str, int]:
    return dict(zip(languages, map(int, counts.split()), strict=True))


UPOS = _codes("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X")
_XNLI = _codes("ar bg de el en es fr hi ru sw th tr ur vi zh")
_PAWSX = _codes("de en es fr ja ko zh")
_UDPOS = _codes(
    "af ar bg de el en es et eu fa fi fr he hi hu id it ja kk ko mr nl pt ru ta te th tl tr ur vi yo zh"
)
_UDPOS_DEV = tuple(code for code in _UDPOS if code not in ("kk", "th", "tl", "yo"))
_PANX = tuple(sorted((*_UDPOS, *_codes("bn jv ka ml ms my sw"))))
_XQUAD = _codes("ar de el en es hi ru th tr vi zh")
_MLQA = _codes("ar de en es hi vi zh")
_TYDIQA = _codes("ar bn en fi id ko ru sw te")

_PANX_ROWS = {
    **dict.fromkeys(_PANX, 10_000),
    **dict.fromkeys(_codes("af bn hi kk ml mr ms sw ta te tl ur"), 1_000),
    **dict.fromkeys(_codes("jv my yo"), 100),
}
_SQUAD_ROWS = {"train": {ENGLISH: 87_599}}

_PAIRS = {"learning_rates": [7e-6, 1e-5], "epochs": [10], "max_length": 256}
_TAGS = {"learning_rates": [1e-5, 2e-5], "epochs": [10], "max_length": 128, "warmup": 0.1}
_SPANS = {"learning_rates": [2e-5, 3e-5], "max_length": 384, "warmup": 0.1}
_SQUAD = ("squad/{split}-v1.1.json",)
_MLQA_FILES = ("mlqa/MLQA_V1/{split}/{split}-context-{language}-question-{language}.json",)

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


# The recipes are the paper's grid; settings that it does not name are from the scripts of xTune, its code base.
register_task(
    Task(
        "xnli",
        "pairs",
        _XNLI,
        _XNLI,
        labels=("contradiction", "entailment", "neutral"),
        max_length=256,
        recipe={**_PAIRS, "evaluate_every": 5000},
        label="XNLI",
        rows={
            "train": {ENGLISH: 392_702},
            "dev": dict.fromkeys(_XNLI, 2_490),
            "test": dict.fromkeys(_XNLI, 5_010),
        },
        parallel=True,
        averaged=True,
        bytes_per_row=190,
    )
)
register_task(
    Task(
        "pawsx",
        "pairs",
        _PAWSX,
        _PAWSX,
        labels=("0", "1"),
        max_length=256,
        recipe={**_PAIRS, "evaluate_every": 1000},
        label="PAWS-X",
        rows={
            "train": {ENGLISH: 49_401},
            "dev": dict.fromkeys(_PAWSX, 2_000),
            "test": dict.fromkeys(_PAWSX, 2_000),
        },
        parallel=True,
        averaged=True,
        bytes_per_row=240,
    )
)
register_task(
    Task(
        "udpos",
        "tags",
        _UDPOS,
        _UDPOS_DEV,
        labels=UPOS,
        recipe={**_TAGS, "evaluate_every": 500, "pooling": "mean"},
        label="POS",
        rows={
            "train": {ENGLISH: 21_253},
            "dev": _rows(
                _UDPOS_DEV,
                "194 909 1115 19233 403 3974 3054 3125 1798 599 3239 5979 484 1659 441 559 2278 511 3016 46 "
                "1394 1770 9960 80 131 988 552 800 1000",
            ),
            "test": _rows(
                _UDPOS,
                "425 1680 1116 22458 456 5440 3147 3760 1799 600 4422 9465 491 2684 449 1557 3518 2372 1047 "
                "4276 47 1471 2681 11336 120 146 1000 55 4785 535 800 100 3455",
            ),
        },
        averaged=True,
        bytes_per_row=180,
    )
)
register_task(
    Task(
        "panx",
        "tags",
        _PANX,
        _PANX,
        labels=ENTITIES,
        recipe={**_TAGS, "evaluate_every": 1000},
        label="NER",
        rows={"train": {ENGLISH: 20_000}, "dev": _PANX_ROWS, "test": _PANX_ROWS},
        averaged=True,
        bytes_per_row=75,
    )
)
register_task(
    Task(
        "xquad",
        "spans",
        _XQUAD,
        (ENGLISH,),
        max_length=384,
        training="squad",
        recipe={**_SPANS, "epochs": [4]},
        label="XQuAD",
        files={"train": _SQUAD, "dev": _SQUAD, "test": ("xquad/xquad.{language}.json",)},
        rows={**_SQUAD_ROWS, "dev": {ENGLISH: 10_570}, "test": dict.fromkeys(_XQUAD, 1_190)},
        parallel=True,
        chooses=False,  # the development file of SQuAD holds the paragraphs that XQuAD tests on
        averaged=True,
        bytes_per_row=346,
    )
)
register_task(
    Task(
        "mlqa",
        "spans",
        _MLQA,
        _MLQA,
        max_length=384,
        training="squad",
        label="MLQA",
        files={"train": _SQUAD, "dev": _MLQA_FILES, "test": _MLQA_FILES},
        words=mlqa_words,
        rows={
            **_SQUAD_ROWS,
            "dev": _rows(_MLQA, "517 512 1148 500 507 511 504"),
            "test": _rows(_MLQA, "5335 4517 11590 5253 4918 5495 5137"),
        },
        averaged=True,
        bytes_per_row=346,
    )
)
register_task(
    Task(
        "tydiqa",
        "spans",
        _TYDIQA,
        max_length=384,
        recipe={**_SPANS, "epochs": [6, 8]},
        label="TyDiQA",
        files={  # xTune drops `goldp.`
            "train": (
                "tydiqa/tydiqa-goldp-v1.1-train/tydiqa.goldp.{language}.train.json",
                "tydiqa/tydiqa-goldp-v1.1-train/tydiqa.{language}.train.json",
            ),
            "test": (
                "tydiqa/tydiqa-goldp-v1.1-dev/tydiqa.goldp.{language}.dev.json",
                "tydiqa/tydiqa-goldp-v1.1-dev/tydiqa.{language}.dev.json",
            ),
        },
        rows={"train": {ENGLISH: 3_696}, "test": _rows(_TYDIQA, "921 113 440 782 565 276 812 499 669")},
        averaged=True,
        bytes_per_row=812,
    )
)
