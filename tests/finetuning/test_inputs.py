"""Inputs as features, and those that no model can read: refused before anything is
trained.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.cases import edit
from tests.finetuning.tiny_models import LENGTH, XTREME, make_bert, make_inputs, make_model, recipe
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_object, write_json
from vocap.finetuning.encoding import (
    InputEncoder,
    encode_examples,
    encode_training,
    load_fast_tokenizer,
)
from vocap.finetuning.features import Features, load_features, save_features
from vocap.finetuning.run import finetune_model
from vocap.finetuning.tasks import TASKS, DataSet


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def inputs(model, tmp_path_factory) -> Path:
    return make_inputs(tmp_path_factory.mktemp("inputs") / "tydiqa", model, "tydiqa")


def run(model: Path, inputs: Path, out: Path, xtreme: Path = XTREME) -> None:
    setting = {"learning_rate": 1e-3, "epochs": 1, "seed": 1}
    own = recipe("tydiqa", epochs=(1,))
    finetune_model(
        model, "tydiqa", out, xtreme=xtreme, inputs=inputs, settings=own, threads=1, **setting
    )


def test_inputs_of_another_tokenizer_are_refused(model, inputs, tmp_path):
    """Of the same size, so that only its bytes differ."""
    other = tmp_path / "other"
    shutil.copytree(model, other)
    content = read_object(other / "tokenizer.json")
    pieces = content["model"]["vocab"]
    pieces[10], pieces[11] = pieces[11], pieces[10]
    write_json(other / "tokenizer.json", content)
    with pytest.raises(
        UsageError, match=r"another tokenizer than .*other/tokenizer\.json.*--tokenizer .*other"
    ):
        run(other, inputs, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_model_holds_its_own_tokenizer_byte_for_byte(model, tmp_path):
    """So inputs of the tokenizer's own folder, as the workflow makes them, are right
    for the model.
    """
    encode_training(
        XTREME, "tydiqa", model.parent / "tokenizer/huggingface", recipe("tydiqa"), tmp_path / "in"
    )
    run(model, tmp_path / "in", tmp_path / "run")
    assert (tmp_path / "run/run.json").exists()


def test_ids_that_a_model_has_no_embedding_of_are_refused(inputs, tmp_path):
    bert = make_bert(tmp_path / "bert")  # without a tokenizer
    edit(bert / "config.json", vocab_size=50)
    with pytest.raises(
        UsageError, match=r"tydiqa/train-en holds the id \d+, the model has 50 embeddings"
    ):
        run(bert, inputs, tmp_path / "run")


@pytest.mark.parametrize("name", ["dev-en.tsv", "test-ja.tsv"])
def test_translations_of_unequal_rows_are_refused(model, tmp_path, name):
    """A file that was cut between two lines, which its own rows do not show."""
    folder = tmp_path / "xtreme"
    shutil.copytree(XTREME / "pawsx", folder / "pawsx")
    path = folder / "pawsx" / name
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(
        VocapError, match=r"\.tsv: \d+ rows, .*has \d+, and they are translations .*cut again"
    ):
        encode_training(folder, "pawsx", model, recipe("pawsx"), tmp_path / "in")
    assert not (tmp_path / "in").exists()


@pytest.mark.parametrize("name", ["tydiqa.goldp.en.dev.json", "tydiqa.goldp.en.train.json"])
def test_a_file_that_changed_after_encoding_is_noticed_with_as_many_rows(
    model, inputs, tmp_path, name
):
    folder = tmp_path / "xtreme"
    shutil.copytree(XTREME / "tydiqa", folder / "tydiqa")
    (path,) = folder.rglob(name)
    content = read_object(path)
    content["data"][0]["paragraphs"][0]["qas"][0]["question"] += "?"
    write_json(path, content)
    with pytest.raises(VocapError, match=rf"{name}: changed since .*vocap encode again"):
        run(model, inputs, tmp_path / "run", folder)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> InputEncoder:
    return InputEncoder(load_fast_tokenizer(make_model(tmp_path_factory.mktemp("model"))))


def assert_equal(one: Features, other: Features) -> None:
    assert np.array_equal(one.starts, other.starts)
    for left, right in ((one.inputs, other.inputs), (one.tokens, other.tokens)):
        assert left.keys() == right.keys()
        assert all(np.array_equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("task", ["xnli", "panx", "tydiqa"])
def test_inputs_return(encoder, tmp_path, task):
    found = DataSet(TASKS[task], "test", "ru")
    examples = found.read(XTREME)
    features = encode_examples(found, examples, encoder, recipe(task))
    assert features.lengths.max() <= LENGTH and features.examples == len(examples)
    folder = tmp_path / "inputs" / found.name
    save_features(folder, features)
    kept = load_features(folder)
    assert_equal(kept, features)
    assert isinstance(kept.tokens["ids"], np.memmap)
    assert_equal(kept.of_first_examples(None), features)
    for count in (1, 5):
        assert_equal(
            kept.of_first_examples(count),
            encode_examples(found, examples[:count], encoder, recipe(task)),
        )
