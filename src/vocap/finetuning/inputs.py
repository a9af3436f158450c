"""The inputs of one training, made once for a tokenizer: every present file, encoded, on the disk."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocap.errors import VocapError
from vocap.files import file_sha256
from vocap.files.atomic import replacing_directory, write_text
from vocap.files.json_object import read_object
from vocap.finetuning.encoding import (
    DEFINITION,
    InputEncoder,
    encode_pairs,
    encode_questions,
    encode_sentences,
    load_tokenizer,
)
from vocap.finetuning.features import Features, load_features, save_features
from vocap.finetuning.reading import Example, StandIns, is_labelled, parse
from vocap.finetuning.selection import (
    HELD_OUT,
    KEPT,
    DataSet,
    development,
    held_out,
    keys_of,
    predicted_sets,
    training_set,
)
from vocap.finetuning.settings import Recipe
from vocap.finetuning.tasks import ENGLISH, TASKS, TRAININGS

log = logging.getLogger(__name__)

DESCRIPTION = "description.json"
KEYS = {"tokenizer", "max_length", "stand_ins", "absent", "sets"}  # of a description that are read


def encode_training(
    xtreme: Path, training: str, tokenizer: Path, recipe: Recipe, stand_ins: StandIns, output: Path
) -> dict[str, Any]:
    """Encode the files of a training with the tokenizer of a Hugging Face folder; returns the description.

    A development or test file that is missing is named and left out, the others go on. Raises VocapError for a
    training file that is missing, for files that cannot be read, and for a tokenizer that gives no offsets,
    UsageError for an `output` that holds anything else.
    """
    encoder = InputEncoder(load_tokenizer(tokenizer))
    absent, counts = [], {}

    def keep(found: DataSet, examples: Sequence[Example]) -> None:
        features = encode(found, examples, encoder, recipe)
        save_features(folder / found.name, features)
        counts[found.name] = {
            "examples": len(examples),
            "inputs": len(features),
            "labelled": all(map(is_labelled, examples)),
            "sha256": file_sha256(found.file(xtreme, stand_ins)),
        }
        log.info("%s: %s examples, %s inputs", found.name, f"{len(examples):,}", f"{len(features):,}")

    owned = [DESCRIPTION, *(f"{name}/" for name in (*TASKS, *TRAININGS))]
    with replacing_directory(output, owned=owned) as folder:
        # the training file, and its parts where a rule holds one out
        learnt = training_set(training)
        examples = learnt.read(xtreme, stand_ins)
        keep(learnt, examples)
        if development(training, "english-dev").split == HELD_OUT:
            for split, part in zip((KEPT, HELD_OUT), held_out(examples), strict=True):
                keep(DataSet(learnt.task, split, ENGLISH), part)

        # every development and test file
        for found in predicted_sets(training):
            if found.file(xtreme, stand_ins) is None:
                log.warning("%s: no file in %s; left out", found.name, xtreme)
                absent.append(found.name)
            else:
                keep(found, found.read(xtreme, stand_ins))

        description = {
            "training": training,
            "tokenizer": file_sha256(tokenizer / DEFINITION),
            "max_length": recipe.max_length,
            "window": recipe.window,
            "stand_ins": {key: str(one) for key, one in stand_ins.items() if key in keys_of(training)},
            "absent": absent,
            "sets": counts,
        }
        write_text(folder / DESCRIPTION, json.dumps(description, indent=2, ensure_ascii=False) + "\n")
    return description


def encode(found: DataSet, examples: Sequence[Example], encoder: InputEncoder, recipe: Recipe) -> Features:
    """The inputs of a set's examples, by the kind of its task."""
    task = found.task
    if task.kind == "spans":
        question_length, stride = recipe.window
        return encode_questions(examples, encoder, recipe.max_length, stride, question_length)
    encode_examples = encode_pairs if task.kind == "pairs" else encode_sentences
    return encode_examples(examples, encoder, task.labels, recipe.max_length)


@dataclass(frozen=True)
class Inputs:
    """Encoded inputs of a training, in a folder."""

    folder: Path
    description: Mapping[str, Any]

    @property
    def sets(self) -> Mapping[str, Mapping[str, Any]]:
        """Of every present set, by name: examples, inputs, labelled, sha256 of its file."""
        return self.description["sets"]

    def load(self, found: DataSet) -> Features:
        return load_features(self.folder / found.name)

    @property
    def stand_ins(self) -> StandIns:
        """The files that stood in for others."""
        return parse(self.description["stand_ins"])

    def check_source(self, xtreme: Path, found: DataSet) -> None:
        """Raise VocapError where a set's file has changed since its inputs were made."""
        path = found.file(xtreme, self.stand_ins)
        if path is None or file_sha256(path) != self.sets[found.name]["sha256"]:
            raise VocapError(
                f"{path or found.name}: changed since {self.folder} was made of it; run vocap encode again"
            )

    def read_examples(self, xtreme: Path, found: DataSet) -> list[Example]:
        """The examples that a set's inputs were made of. Raises VocapError where the file has changed since."""
        self.check_source(xtreme, found)
        return found.read(xtreme, self.stand_ins)


def open_inputs(folder: Path, training: str) -> Inputs:
    """Raises VocapError for a folder that holds no inputs of this training."""
    path = folder / DESCRIPTION
    description = read_object(path, "make it with: vocap encode")
    if description.get("training") != training:
        raise VocapError(f"{path}: inputs of {description.get('training')}, not of {training}; see --inputs")
    if lacking := KEYS - description.keys():
        raise VocapError(f"{path}: no {min(lacking)!r}, which vocap encode writes; run it again")
    return Inputs(folder, description)
