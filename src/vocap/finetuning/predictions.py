"""Files of predictions, in the form of an XTREME submission.

`{split}-{language}.tsv` holds a label a line for pairs, for sentences a tag a line and
a blank line after each; `{split}-{language}.json` an object of question id to answer.
"""

import json
from pathlib import Path

from vocap.files.io import replacing
from vocap.files.written import written_by
from vocap.finetuning.examples import Examples
from vocap.finetuning.tasks import DataSet

# labels, tags of each sentence, question id to answer
Predictions = list[str] | list[list[str]] | dict[str, str]


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
    """Read a file of `write_predictions`. Raises VocapError for another file, and for one
    that is not of exactly these examples.
    """
    path, task = prediction_path(folder, found), found.task
    with written_by("finetune", path):
        text = path.read_bytes().decode()
        if task.kind == "spans":
            answers: dict[str, str] = json.loads(text)
            if answers.keys() != {example.id for example in examples}:
                raise ValueError("answers to other questions")
            return answers
        *parts, rest = text.split("\n\n" if task.kind == "tags" else "\n")
        rows = [part.split("\n") for part in parts]
        wanted = [len(example.words) if task.kind == "tags" else 1 for example in examples]
        if rest or list(map(len, rows)) != wanted:
            raise ValueError("labels of other examples, or a part of them")
        return rows if task.kind == "tags" else parts
