"""The seven tasks of Table 1, what their files hold, and which of them share one training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ENGLISH = "en"  # the language of every training file that is read
Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")
ENTITIES = ("B-LOC", "B-ORG", "B-PER", "I-LOC", "I-ORG", "I-PER", "O")


@dataclass(frozen=True)
class Task:
    """One task: its files, its labels, its limits.

    `training` names what is trained once for all tasks of that training. `dev_languages` are those with a `dev`
    split: of xquad, that is the English development set of SQuAD. `labels` are in the order of their numbers.
    `max_length` counts the ids of an input, special tokens included. `metrics` are the names of contract.md.
    `rows` are the known numbers of rows: split to language to pairs, sentences or questions. `parallel`: the
    same rows in every language of a split.
    """

    name: str
    kind: Literal["pairs", "tags", "spans"]
    training: str
    languages: tuple[str, ...]
    dev_languages: tuple[str, ...]
    labels: tuple[str, ...]
    max_length: int
    metrics: tuple[str, ...]
    rows: Mapping[Split, Mapping[str, int]] = field(repr=False, compare=False)
    parallel: bool = False

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

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            name="xnli",
            kind="pairs",
            training="xnli",
            languages=_XNLI,
            dev_languages=_XNLI,
            labels=("contradiction", "entailment", "neutral"),
            max_length=256,
            metrics=("acc",),
            rows={
                "train": {ENGLISH: 392_702},
                "dev": dict.fromkeys(_XNLI, 2_490),
                "test": dict.fromkeys(_XNLI, 5_010),
            },
            parallel=True,
        ),
        Task(
            name="pawsx",
            kind="pairs",
            training="pawsx",
            languages=_PAWSX,
            dev_languages=_PAWSX,
            labels=("0", "1"),
            max_length=256,
            metrics=("acc",),
            rows={
                "train": {ENGLISH: 49_401},
                "dev": dict.fromkeys(_PAWSX, 2_000),
                "test": dict.fromkeys(_PAWSX, 2_000),
            },
            parallel=True,
        ),
        Task(
            name="udpos",
            kind="tags",
            training="udpos",
            languages=_UDPOS,
            dev_languages=_UDPOS_DEV,
            labels=UPOS,
            max_length=128,
            metrics=("f1",),
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
        ),
        Task(
            name="panx",
            kind="tags",
            training="panx",
            languages=_PANX,
            dev_languages=_PANX,
            labels=ENTITIES,
            max_length=128,
            metrics=("f1",),
            rows={"train": {ENGLISH: 20_000}, "dev": _PANX_ROWS, "test": _PANX_ROWS},
        ),
        Task(
            name="xquad",
            kind="spans",
            training="squad",
            languages=_XQUAD,
            dev_languages=(ENGLISH,),
            labels=(),
            max_length=384,
            metrics=("f1", "exact_match"),
            rows={**_SQUAD_ROWS, "dev": {ENGLISH: 10_570}, "test": dict.fromkeys(_XQUAD, 1_190)},
            parallel=True,
        ),
        Task(
            name="mlqa",
            kind="spans",
            training="squad",
            languages=_MLQA,
            dev_languages=_MLQA,
            labels=(),
            max_length=384,
            metrics=("f1", "exact_match"),
            rows={
                **_SQUAD_ROWS,
                "dev": _rows(_MLQA, "517 512 1148 500 507 511 504"),
                "test": _rows(_MLQA, "5335 4517 11590 5253 4918 5495 5137"),
            },
        ),
        Task(
            name="tydiqa",
            kind="spans",
            training="tydiqa",
            languages=_TYDIQA,
            dev_languages=(),
            labels=(),
            max_length=384,
            metrics=("f1", "exact_match"),
            rows={"train": {ENGLISH: 3_696}, "test": _rows(_TYDIQA, "921 113 440 782 565 276 812 499 669")},
        ),
    )
}

# what is trained once, to the tasks that it serves
TRAININGS: dict[str, tuple[str, ...]] = {
    training: tuple(task.name for task in TASKS.values() if task.training == training)
    for training in dict.fromkeys(task.training for task in TASKS.values())
}
