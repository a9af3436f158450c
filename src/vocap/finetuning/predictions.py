"""Files of predictions, in the form of an XTREME submission.

`{split}-{language}.tsv` holds a label a line for pairs, for sentences a tag a line and
a blank line after each; `{split}-{language}.json` an object of question id to answer.
"""

import json
from itertools import pairwise
from pathlib import Path

from vocap.errors import VocapError
from vocap.files.io import read_object, replacing
from vocap.finetuning.examples import Examples
from vocap.finetuning.tasks import DataSet

# labels, tags of each sentence, question id to answer
Predictions = list[str] | list[list[str]] | dict[str, str]
AGAIN = "delete the file and run its command again"


def prediction_path(folder: Path, found: DataSet) -> Path:
    """The path of a set's predictions in the folder of its task."""
    return (
        folder / f"{found.split}-{found.language}.{'json' if found.task.kind == 'spans' else 'tsv'}"
    )


def write_predictions(folder: Path, found: DataSet, predictions: Predictions) -> Path:
    """Write one file, whole or not at all: labels, tags of each sentence, or id to
    answer by the task's kind.
    """
    path = prediction_path(folder, found)
    with replacing(path) as file:
        if found.task.kind == "spans":
            # in ASCII: an answer may hold half a surrogate pair
            json.dump(predictions, file, indent=1)
            file.write("\n")
        elif found.task.kind == "tags":
            for sentence in predictions:
                file.writelines(f"{tag}\n" for tag in sentence)
                file.write("\n")
        else:
            file.writelines(f"{label}\n" for label in predictions)
    return path


def read_predictions(folder: Path, found: DataSet, examples: Examples) -> Predictions:
    """Read a file of `write_predictions`, or a foreign submission, for exactly these examples.

    Raises VocapError naming file, line and remedy for a file that is missing or
    malformed, a label that the task does not have, and for examples left out, or
    predictions of others.
    """
    path = prediction_path(folder, found)
    if found.task.kind == "spans":
        return _read_answers(path, examples)
    labels = _read_labels(path, found)
    if found.task.kind == "tags":
        return _sentences(path, labels, examples)
    if len(labels) != len(examples):
        raise VocapError(f"{path}: {len(labels)} labels for {len(examples)} pairs; {AGAIN}")
    return labels


def _read_answers(path: Path, examples: Examples) -> dict[str, str]:
    answers = read_object(path, AGAIN)
    if wrong := {example.id for example in examples} ^ answers.keys():
        raise VocapError(
            f"{path}: {len(wrong)} questions without an answer or not asked: {min(wrong)}; {AGAIN}"
        )
    if not all(isinstance(answer, str) for answer in answers.values()):
        raise VocapError(f"{path}: not an object of question id to text; {AGAIN}")
    return answers


def _read_labels(path: Path, found: DataSet) -> list[str]:
    """The lines of a file, each a label of the task, or of tags blank."""
    try:
        labels = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise VocapError(
            f"{path}: no such file; predict {found.split} of {found.language} first"
        ) from None
    except UnicodeDecodeError as error:
        raise VocapError(
            f"{path}: not UTF-8 ({error.reason} at byte {error.start}); {AGAIN}"
        ) from None
    # O is a label of every tagging task, as of xTune's
    known = {*found.task.labels, *(("", "O") if found.task.kind == "tags" else ())}
    for number, label in enumerate(labels, 1):
        if label not in known:
            expected = ", ".join(found.task.labels)
            raise VocapError(
                f"{path}, line {number}: {label!r} is no label of {found.task.name}: {expected}"
            )
    return labels


def _sentences(path: Path, labels: list[str], examples: Examples) -> list[list[str]]:
    """The tags between blank lines, as many as the words of each example."""
    ends = [number for number, line in enumerate(labels) if not line]
    if labels and labels[-1]:
        ends.append(len(labels))  # without a blank line at the end
    sentences = [labels[start + 1 : end] for start, end in pairwise([-1, *ends])]
    if len(sentences) != len(examples):
        raise VocapError(f"{path}: tags of {len(sentences)} sentences for {len(examples)}; {AGAIN}")
    for end, tags, example in zip(ends, sentences, examples, strict=True):
        if len(tags) != len(example.words):
            raise VocapError(
                f"{path}, line {end}: {len(tags)} tags for {len(example.words)} words; {AGAIN}"
            )
    return sentences
