"""Predictions as files, in the form of an XTREME submission.

`{split}-{language}.tsv` holds a label a line for pairs, for sentences a tag a line and a blank line after each
sentence; `{split}-{language}.json` an object of question id to answer.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from vocap.errors import VocapError
from vocap.files.atomic import replacing
from vocap.files.json_object import read_object
from vocap.finetuning.formats import Example, Question, Sentence
from vocap.finetuning.tasks import Task

Labels = list[str]  # of pairs, one an example
Tags = list[list[str]]  # of sentences, one a word
Answers = dict[str, str]  # question id to text
Predictions = Labels | Tags | Answers

AGAIN = "delete the file and run its command again"


def prediction_path(folder: Path, task: Task, split: str, language: str) -> Path:
    """The path of a language's predictions in the folder of its task."""
    return folder / f"{split}-{language}.{'json' if task.kind == 'spans' else 'tsv'}"


def write_predictions(
    folder: Path, task: Task, split: str, language: str, predictions: Sequence | Mapping[str, str]
) -> Path:
    """Write one file, whole or not at all: labels, tags of each sentence, or id to answer by the task's kind."""
    path = prediction_path(folder, task, split, language)
    with replacing(path) as file:
        if task.kind == "spans":
            json.dump(dict(predictions), file, indent=1)  # in ASCII: an answer may hold half a surrogate pair
            file.write("\n")
        elif task.kind == "tags":
            file.writelines("".join(f"{tag}\n" for tag in sentence) + "\n" for sentence in predictions)
        else:
            file.writelines(f"{label}\n" for label in predictions)
    return path


def read_predictions(
    folder: Path, task: Task, split: str, language: str, examples: Sequence[Example]
) -> Predictions:
    """Read a file of `write_predictions`, or a foreign submission, for exactly these examples.

    Raises VocapError naming file, line and remedy for a file that is missing or malformed, a label that
    the task does not have, and for examples left out, or predictions of others.
    """
    path = prediction_path(folder, task, split, language)
    try:
        if task.kind == "spans":
            return _answers(path, examples)
        if task.kind == "tags":
            return _tags(path, task, examples)
        return _labels(path, task, examples)
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; predict {split} of {language} first") from None
    except UnicodeDecodeError as error:
        raise VocapError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); {AGAIN}") from None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with open(path, encoding="utf-8", newline="\n") as file:
        yield from ((number, line.rstrip("\r\n")) for number, line in enumerate(file, start=1))


def _known(path: Path, number: int, label: str, task: Task) -> str:
    """The label; O is one of every tagging task, as of the models of xTune."""
    if label not in task.labels and not (task.kind == "tags" and label == "O"):
        raise VocapError(
            f"{path}, line {number}: {label!r} is no label of {task.name}; it has {', '.join(task.labels)}"
        )
    return label


def _labels(path: Path, task: Task, examples: Sequence[Example]) -> Labels:
    labels = [_known(path, number, label, task) for number, label in _lines(path)]
    if len(labels) != len(examples):
        raise VocapError(f"{path}: {len(labels)} labels for {len(examples)} pairs; {AGAIN}")
    return labels


def _tags(path: Path, task: Task, examples: Sequence[Sentence]) -> Tags:
    sentences: Tags = [[]]
    starts = [1]
    for number, tag in _lines(path):
        if tag:
            sentences[-1].append(_known(path, number, tag, task))
        else:
            sentences.append([])
            starts.append(number + 1)
    if not sentences[-1]:
        sentences.pop()  # text after the last blank line
    if len(sentences) != len(examples):
        raise VocapError(f"{path}: tags of {len(sentences)} sentences for {len(examples)}; {AGAIN}")
    for start, tags, example in zip(starts, sentences, examples, strict=False):
        if len(tags) != len(example.words):
            raise VocapError(f"{path}, line {start}: {len(tags)} tags for {len(example.words)} words; {AGAIN}")
    return sentences


def _answers(path: Path, examples: Sequence[Question]) -> Answers:
    answers = read_object(path, AGAIN)
    if not all(isinstance(answer, str) for answer in answers.values()):
        raise VocapError(f"{path}: not an object of question id to text; {AGAIN}")
    asked = {example.id for example in examples}
    for names, problem in ((asked - answers.keys(), "without an answer"), (answers.keys() - asked, "not asked")):
        if names:
            raise VocapError(
                f"{path}: {len(names)} of {len(asked)} questions {problem}, among them {min(names)}; {AGAIN}"
            )
    return answers
