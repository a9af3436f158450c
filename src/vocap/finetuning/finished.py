"""Finished runs of one model on one training: their settings, their kept predictions, and the scores of these."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from vocap.errors import VocapError
from vocap.finetuning.examples import Example, is_labelled
from vocap.finetuning.predictions import prediction_path, read_predictions
from vocap.finetuning.reading import StandIns, locate, read
from vocap.finetuning.scoring import score
from vocap.finetuning.selection import HELD_OUT, Rule, held_out
from vocap.finetuning.tasks import ENGLISH, Task

DESCRIPTION = "run.json"
PREDICTIONS = "predictions"
ALIKE = ("training", "model", "weights", "tokenizer_sha256", "max_length", "settings", "selection", "stand_ins")


class Described(BaseModel):
    """What scoring needs of a run's description; it may say more."""

    model_config = ConfigDict(extra="ignore", strict=True)

    learning_rate: float
    epochs: int
    seed: int
    selection: Rule
    stand_ins: dict[str, str]  # as the configuration writes them, see vocap.finetuning.reading.stand_ins
    # runs of older versions do not say all of these
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
        """Learning rate, epochs and seed: what tells runs of one model and training apart."""
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
    """The scores of runs on one task, and the test languages without any: no file, or its labels kept back."""

    scores: list[Score]
    absent: list[str]
    blank: list[str]


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """The runs in these folders, by setting.

    Raises VocapError for a run without its description, two of one setting, and runs that differ in anything else
    than that: model, inputs, recipe, rule, stand-ins.
    """
    runs = sorted((_run(folder) for folder in folders), key=lambda run: run.setting)
    for key in ALIKE:
        saying = [run for run in runs if getattr(run.described, key) is not None]
        for before, run in pairwise(saying):
            if getattr(before.described, key) != getattr(run.described, key):
                raise VocapError(
                    f"{before.folder}, {run.folder}: {key} differ; name runs of one model, fine-tuned in one way"
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


def read_examples(
    folder: Path, task: Task, split: str, language: str, stand_ins: StandIns
) -> list[Example] | None:
    """The labelled or blank examples of one split, the held-out one too; None where its file is not there.

    Raises VocapError as `vocap.finetuning.reading.read` does.
    """
    source = "train" if split == HELD_OUT else split
    if locate(folder, task, source, language, stand_ins) is None:
        return None
    examples = read(folder, task, source, language, stand_ins)
    return held_out(examples)[1] if split == HELD_OUT else examples


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
        examples = read_examples(folder, task, split, language, stand_ins) if having else None
        if examples is None:
            absent += [language] * (split == "test")
        elif not all(map(is_labelled, examples)):
            blank += [language] * (split == "test")
        else:
            _check_all_have(having, runs, task, split, language)
            for run in runs:
                predictions = read_predictions(run.predictions_of(task), task, split, language, examples)
                values = score(task, language, examples, predictions)
                scores += [Score(*run.setting, split, language, name, value) for name, value in values.items()]
    scores.sort()
    return Scored(scores, absent, blank)


def _files(task: Task) -> list[tuple[str, str]]:
    codes = {"dev": task.dev_languages, HELD_OUT: (ENGLISH,), "test": task.languages}
    return [(split, language) for split, languages in codes.items() for language in languages]


def _check_all_have(having: Sequence[Run], runs: Sequence[Run], task: Task, split: str, language: str) -> None:
    for run in runs:
        if run not in having:
            path = prediction_path(run.predictions_of(task), task, split, language)
            raise VocapError(f"{path}: no such file, though other runs have it; fine-tune this run again")
