"""Predictions as files, in the form of an XTREME submission; their scores, and those of a model's finished runs.

`{split}-{language}.tsv` holds a label a line for pairs, for sentences a tag a line and a blank line after each
sentence; `{split}-{language}.json` an object of question id to answer.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vocap.errors import VocapError
from vocap.files.atomic import replacing
from vocap.files.plain_data import read_object
from vocap.finetuning import metrics
from vocap.finetuning.reading import HELD_OUT, DataSet, Example, Question, Sentence, StandIns, is_labelled
from vocap.finetuning.tasks import ENGLISH, Task

Labels = list[str]  # of pairs, one an example
Tags = list[list[str]]  # of sentences, one a word
Answers = dict[str, str]  # question id to text
Predictions = Labels | Tags | Answers

DESCRIPTION = "run.json"
PREDICTIONS = "predictions"
SETTING = ("learning_rate", "epochs", "seed")  # identify a run of one model and training
ALIKE = ("training", "model", "weights", "tokenizer_sha256", "max_length", "settings", "selection", "stand_ins")
AGAIN = "delete the file and run its command again"


def prediction_path(folder: Path, found: DataSet) -> Path:
    """The path of a set's predictions in the folder of its task."""
    return folder / f"{found.split}-{found.language}.{'json' if found.task.kind == 'spans' else 'tsv'}"


def write_predictions(folder: Path, found: DataSet, predictions: Predictions) -> Path:
    """Write one file, whole or not at all: labels, tags of each sentence, or id to answer by the task's kind."""
    path = prediction_path(folder, found)
    with replacing(path) as file:
        if found.task.kind == "spans":
            json.dump(predictions, file, indent=1)  # in ASCII: an answer may hold half a surrogate pair
            file.write("\n")
        elif found.task.kind == "tags":
            file.writelines("".join(f"{tag}\n" for tag in sentence) + "\n" for sentence in predictions)
        else:
            file.writelines(f"{label}\n" for label in predictions)
    return path


def read_predictions(folder: Path, found: DataSet, examples: Sequence[Example]) -> Predictions:
    """Read a file of `write_predictions`, or a foreign submission, for exactly these examples.

    Raises VocapError naming file, line and remedy for a file that is missing or malformed, a label that
    the task does not have, and for examples left out, or predictions of others.
    """
    path = prediction_path(folder, found)
    if found.task.kind == "spans":
        return _answers(path, examples)
    try:
        labels = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; predict {found.split} of {found.language} first") from None
    except UnicodeDecodeError as error:
        raise VocapError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); {AGAIN}") from None
    tagging = found.task.kind == "tags"
    known = {*found.task.labels, *(("", "O") if tagging else ())}  # O is one of every tagging task, as of xTune's
    for number, label in enumerate(labels, 1):
        if label not in known:
            expected = ", ".join(found.task.labels)
            raise VocapError(f"{path}, line {number}: {label!r} is no label of {found.task.name}: {expected}")
    if tagging:
        return _tags(path, labels, examples)
    if len(labels) != len(examples):
        raise VocapError(f"{path}: {len(labels)} labels for {len(examples)} pairs; {AGAIN}")
    return labels


def _tags(path: Path, lines: Sequence[str], examples: Sequence[Sentence]) -> Tags:
    ends = [number for number, line in enumerate(lines) if not line]
    if lines and lines[-1]:
        ends.append(len(lines))  # without a blank line at the end
    sentences = [list(lines[start + 1 : end]) for start, end in pairwise([-1, *ends])]
    if len(sentences) != len(examples):
        raise VocapError(f"{path}: tags of {len(sentences)} sentences for {len(examples)}; {AGAIN}")
    for end, tags, example in zip(ends, sentences, examples, strict=True):
        if len(tags) != len(example.words):
            raise VocapError(f"{path}, line {end}: {len(tags)} tags for {len(example.words)} words; {AGAIN}")
    return sentences


def _answers(path: Path, examples: Sequence[Question]) -> Answers:
    answers = read_object(path, AGAIN)
    if not all(isinstance(answer, str) for answer in answers.values()):
        raise VocapError(f"{path}: not an object of question id to text; {AGAIN}")
    asked = {example.id for example in examples}
    if wrong := asked ^ answers.keys():
        raise VocapError(f"{path}: {len(wrong)} questions without an answer or not asked: {min(wrong)}; {AGAIN}")
    return answers


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


@dataclass(frozen=True)
class Run:
    """One finished run: its folder, and run.json as written."""

    folder: Path
    described: Mapping[str, Any]

    @property
    def setting(self) -> tuple[float, int, int]:
        """Learning rate, epochs and seed."""
        return tuple(self.described[key] for key in SETTING)

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
    runs = []
    for folder in folders:
        path = folder / DESCRIPTION
        described = read_object(path, "fine-tune again", "the run is not finished, or the folder is no run's")
        if lacking := {*SETTING, *ALIKE} - described.keys():
            raise VocapError(f"{path}: no {min(lacking)}; delete it and fine-tune again")
        runs.append(Run(folder, described))
    runs.sort(key=lambda run: run.setting)
    for before, run in pairwise(runs):
        differing = [key for key in ALIKE if before.described[key] != run.described[key]]
        if differing:
            raise VocapError(
                f"{before.folder}, {run.folder}: {differing[0]} differ; name runs of one model and one recipe"
            )
        if before.setting == run.setting:
            raise VocapError(f"{before.folder}, {run.folder}: runs of one setting; name each once")
    return runs


def score_runs(
    folder: Path, task: Task, runs: Sequence[Run], stand_ins: StandIns, splits: Sequence[str] | None = None
) -> Scored:
    """Score every prediction that the runs hold of a task, or of some of its splits, on the files of `folder`.

    Raises VocapError for files that cannot be read, and predictions that do not fit or only some runs have.
    """
    codes = {"dev": task.dev_languages, HELD_OUT: (ENGLISH,), "test": task.languages}
    sets = [DataSet(task, split, code) for split in splits or codes for code in codes[split]]
    scores, absent, blank = [], [], []
    for found in sets:
        paths = [prediction_path(run.predictions_of(task), found) for run in runs]
        if not any(map(Path.exists, paths)) or found.file(folder, stand_ins) is None:
            absent += [found.language] * (found.split == "test")
            continue
        examples = found.read(folder, stand_ins)
        if not all(map(is_labelled, examples)):
            blank += [found.language] * (found.split == "test")
            continue
        for run, path in zip(runs, paths, strict=True):
            if not path.exists():
                raise VocapError(f"{path}: no such file, though other runs have it; fine-tune this run again")
            predictions = read_predictions(path.parent, found, examples)
            for name, value in score(task, found.language, examples, predictions).items():
                scores.append(Score(*run.setting, found.split, found.language, name, value))
    return Scored(sorted(scores), absent, blank)
