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
from vocap.finetuning.encoding import encode_pairs, encode_questions, encode_sentences
from vocap.finetuning.features import Features, load_features, save_features
from vocap.finetuning.formats import Example, is_labelled
from vocap.finetuning.input_encoder import DEFINITION, InputEncoder, load_tokenizer
from vocap.finetuning.reading import StandIns
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
_KINDS = {"tokenizer": str, "max_length": int, "stand_ins": dict, "absent": list, "sets": dict}


def encode_training(
    xtreme: Path, training: str, tokenizer: Path, recipe: Recipe, stand_ins: StandIns, output: Path
) -> dict[str, Any]:
    """Encode the files of a training with the tokenizer of a Hugging Face folder; returns the description.

    A development or test file that is missing is named and left out, the others go on. Raises VocapError for a
    training file that is missing, for files that cannot be read, and for a tokenizer that gives no offsets,
    UsageError for an `output` that holds anything else.
    """
    encoder = InputEncoder(load_tokenizer(tokenizer))
    learnt = training_set(training)
    absent = []
    with replacing_directory(
        output, owned=[DESCRIPTION, *(f"{name}/" for name in (*TASKS, *TRAININGS))]
    ) as folder:
        counts = {}

        def keep(found: DataSet, examples: Sequence[Example]) -> None:
            features = encode(found, examples, encoder, recipe)
            save_features(folder / found.name, features)
            labelled = all(is_labelled(example) for example in examples)
            counts[found.name] = {
                "examples": len(examples),
                "inputs": len(features),
                "labelled": labelled,
                "sha256": file_sha256(found.file(xtreme, stand_ins)),
            }
            log.info("%s: %s examples, %s inputs", found.name, f"{len(examples):,}", f"{len(features):,}")

        examples = learnt.read(xtreme, stand_ins)
        keep(learnt, examples)
        chosen = development(training, "english-dev")
        if chosen.split == HELD_OUT:
            kept, held = held_out(examples)
            keep(DataSet(learnt.task, KEPT, ENGLISH), kept)
            keep(DataSet(learnt.task, HELD_OUT, ENGLISH), held)
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
            "stand_ins": named_stand_ins(training, stand_ins),
            "absent": absent,
            "sets": counts,
        }
        write_text(folder / DESCRIPTION, json.dumps(description, indent=2, ensure_ascii=False) + "\n")
    return description


def named_stand_ins(training: str, stand_ins: StandIns) -> dict[str, str]:
    """Those that a training reads, as text."""
    return {key: str(stand_in) for key, stand_in in stand_ins.items() if key in keys_of(training)}


def encode(found: DataSet, examples: Sequence[Example], encoder: InputEncoder, recipe: Recipe) -> Features:
    """The inputs of a set's examples, by the kind of its task."""
    task = found.task
    if task.kind == "pairs":
        return encode_pairs(examples, encoder, task.labels, recipe.max_length)
    if task.kind == "tags":
        return encode_sentences(examples, encoder, task.labels, recipe.max_length)
    question_length, stride = recipe.window
    return encode_questions(examples, encoder, recipe.max_length, stride, question_length)


@dataclass(frozen=True)
class Inputs:
    """Encoded inputs of a training, in a folder."""

    folder: Path
    description: Mapping[str, Any]

    @property
    def sets(self) -> Mapping[str, Mapping[str, Any]]:
        """Of every present set, by name: examples, inputs, labelled."""
        return self.description["sets"]

    def load(self, found: DataSet) -> Features:
        return load_features(self.folder / found.name, found.task.kind)


def open_inputs(folder: Path, training: str) -> Inputs:
    """Raises VocapError for a folder that holds no inputs of this training, or a damaged description of them."""
    path = folder / DESCRIPTION
    description = read_object(path, "make it with: vocap encode")
    if description.get("training") != training:
        raise VocapError(f"{path}: inputs of {description.get('training')}, not of {training}; see --inputs")
    wrong = next((name for name, kind in _KINDS.items() if not isinstance(description.get(name), kind)), None)
    wrong = wrong or next((name for name, one in description["sets"].items() if not _is_set(one)), None)
    if wrong:
        raise VocapError(f"{path}: {wrong!r} is not as vocap encode writes it; run vocap encode again")
    return Inputs(folder, description)


def _is_set(entry: Any) -> bool:
    return isinstance(entry, dict) and {"examples", "labelled"} <= entry.keys()


def check_source(xtreme: Path, found: DataSet, inputs: Inputs, stand_ins: StandIns) -> None:
    """Raise VocapError where a set's file has changed since its inputs were made."""
    path, made = found.file(xtreme, stand_ins), inputs.sets[found.name].get("sha256")  # older inputs have none
    if path is not None and made is not None and file_sha256(path) != made:
        raise VocapError(f"{path}: changed since {inputs.folder} was made of it; run vocap encode again")


def read_examples(xtreme: Path, found: DataSet, inputs: Inputs, stand_ins: StandIns) -> list[Example]:
    """The examples that a set's inputs were made of. Raises VocapError where the file has changed since."""
    check_source(xtreme, found, inputs, stand_ins)
    examples = found.read(xtreme, stand_ins)
    if len(examples) != inputs.sets[found.name]["examples"]:
        raise VocapError(
            f"{found.name}: {len(examples)} examples in {xtreme}, {inputs.sets[found.name]['examples']} in "
            f"{inputs.folder}; run vocap encode again"
        )
    return examples
