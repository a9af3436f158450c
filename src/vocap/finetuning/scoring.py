"""Scores of predictions, and of all finished runs of one model on one training."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from vocap.errors import VocapError
from vocap.finetuning import metrics
from vocap.finetuning.formats import Example, is_labelled
from vocap.finetuning.predictions import Predictions, prediction_path, read_predictions
from vocap.finetuning.reading import StandIns
from vocap.finetuning.selection import HELD_OUT, DataSet, Rule
from vocap.finetuning.tasks import ENGLISH, Task

DESCRIPTION = "run.json"
PREDICTIONS = "predictions"
ALIKE = ("training", "model", "weights", "tokenizer_sha256", "max_length", "settings", "selection", "stand_ins")


def score(task: Task, language: str, examples: Sequence[Example], predictions: Predictions) -> dict[str, float]:
    """All measures of one language in percent, by their names in scores.tsv.

    Pairs: acc. Tags: precision, recall, f1. Spans: exact_match, f1. Raises ScoringError where an example has no
    label, or predictions do not fit.
    """
    _check_labelled(examples)
    if task.kind == "pairs":
        return {"acc": metrics.accuracy([example.label for example in examples], predictions)}
    if task.kind == "tags":
        return metrics.chunk_f1([example.tags for example in examples], predictions)
    return metrics.span_score(predictions, _references(examples), task.words(language))


def parts(
    task: Task, language: str, examples: Sequence[Example], predictions: Predictions
) -> dict[str, np.ndarray]:
    """Contribution of each example to the measures: float64 [examples, 2], numerators and denominators.

    The measure of any multiset of examples is 100 times the ratio of the two sums, 0 where both are 0. Raises
    ScoringError as `score`.
    """
    _check_labelled(examples)
    if task.kind == "tags":
        counts = metrics.chunk_counts([example.tags for example in examples], predictions)
        correct, predicted, expected = counts.T
        return {"f1": np.stack([2.0 * correct, 1.0 * predicted + expected], axis=1)}
    if task.kind == "pairs":
        columns = {"acc": metrics.label_hits([example.label for example in examples], predictions)}
    else:
        scores = metrics.answer_scores(predictions, _references(examples), task.words(language))
        columns = {"exact_match": scores[:, 0], "f1": scores[:, 1]}
    return {name: np.stack([values, np.ones(len(values))], axis=1) for name, values in columns.items()}


def ratio(sums: np.ndarray) -> np.ndarray:
    """Percent from summed `parts`: float64 [..., 2] to [...]."""
    numerator, denominator = sums[..., 0], sums[..., 1]
    return 100 * np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def _check_labelled(examples: Sequence[Example]) -> None:
    blank = sum(not is_labelled(example) for example in examples)
    if blank or not examples:
        raise metrics.ScoringError(
            f"{blank} of {len(examples)} examples have no label: XTREME withholds those of its test files; "
            "score files with all labels (as of xTune's scripts)"
        )


def _references(examples: Sequence[Example]) -> dict[str, list[str]]:
    references = {example.id: [answer.text for answer in example.answers] for example in examples}
    if len(references) < len(examples):
        raise metrics.ScoringError(
            f"{len(examples) - len(references)} questions share an id with another; answers need distinct ids"
        )
    return references


class Described(BaseModel):
    """The entries of run.json that scoring needs; others are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)

    learning_rate: float
    epochs: int
    seed: int
    selection: Rule
    stand_ins: dict[str, str]  # as the configuration writes them, see vocap.finetuning.reading
    # None in runs of older versions
    training: str | None = None
    model: str | None = None  # digest of its weights
    weights: str | None = None
    tokenizer_sha256: str | None = None
    max_length: int | None = None
    settings: dict[str, Any] | None = None


@dataclass(frozen=True)
class Run:
    """One finished run."""

    folder: Path
    described: Described

    @property
    def setting(self) -> tuple[float, int, int]:
        """Learning rate, epochs and seed, which identify a run of one model and training."""
        return self.described.learning_rate, self.described.epochs, self.described.seed

    def predictions_of(self, task: Task) -> Path:
        """The folder with the predictions of one of the tasks that the run serves."""
        return self.folder / PREDICTIONS / task.name


class Score(NamedTuple):
    """A row of scores.tsv, its columns in another order; `value` in percent."""

    learning_rate: float
    epochs: int
    seed: int
    split: str
    language: str
    metric: str
    value: float


class Scored(NamedTuple):
    """The scores of runs on one task, and the test languages without any: no file, or no labels in it."""

    scores: list[Score]
    absent: list[str]
    blank: list[str]


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """The runs in these folders, by setting.

    Raises VocapError for a run without its description, two of one setting, and runs that differ in
    model, inputs, recipe, rule, stand-ins.
    """
    runs = sorted((_run(folder) for folder in folders), key=lambda run: run.setting)
    for key in ALIKE:
        for before, run in pairwise(run for run in runs if getattr(run.described, key) is not None):
            if getattr(before.described, key) != getattr(run.described, key):
                raise VocapError(
                    f"{before.folder}, {run.folder}: {key} differ; name runs of one model and one recipe"
                )
    for before, run in pairwise(runs):
        if before.setting == run.setting:
            raise VocapError(f"{before.folder}, {run.folder}: runs of one setting; name each once")
    return runs


def _run(folder: Path) -> Run:
    path = folder / DESCRIPTION
    try:
        return Run(folder, Described.model_validate_json(path.read_bytes()))
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; the run is not finished, or the folder is no run's") from None
    except ValidationError as error:
        detail = error.errors()[0]
        where = ".".join(map(str, detail["loc"])) or "the file"
        raise VocapError(f"{path}: {where}: {detail['msg']}; delete it and fine-tune again") from None


def score_runs(
    folder: Path, task: Task, runs: Sequence[Run], stand_ins: StandIns, splits: Sequence[str] | None = None
) -> Scored:
    """Score every prediction that the runs hold of a task, or of some of its splits, on the files of `folder`.

    Raises VocapError for files that cannot be read, and predictions that do not fit or only some runs have.
    """
    scores, absent, blank = [], [], []
    for split, language in _files(task):
        if splits is not None and split not in splits:
            continue
        having = [run for run in runs if prediction_path(run.predictions_of(task), task, split, language).exists()]
        found = DataSet(task, split, language)
        if not having or found.file(folder, stand_ins) is None:
            absent += [language] * (split == "test")
            continue
        examples = found.read(folder, stand_ins)
        if not all(map(is_labelled, examples)):
            blank += [language] * (split == "test")
            continue
        for run in runs:
            if run not in having:
                path = prediction_path(run.predictions_of(task), task, split, language)
                raise VocapError(f"{path}: no such file, though other runs have it; fine-tune this run again")
            predictions = read_predictions(run.predictions_of(task), task, split, language, examples)
            values = score(task, language, examples, predictions)
            scores += [Score(*run.setting, split, language, name, value) for name, value in values.items()]
    scores.sort()
    return Scored(scores, absent, blank)


def _files(task: Task) -> list[tuple[str, str]]:
    codes = {"dev": task.dev_languages, HELD_OUT: (ENGLISH,), "test": task.languages}
    return [(split, language) for split, languages in codes.items() for language in languages]
