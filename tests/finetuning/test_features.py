"""Inputs on the disk: read back equal, and the first examples equal those encoded alone."""

from dataclasses import fields

import numpy as np
import pytest

from tests.finetuning.tiny_models import LENGTH, XTREME, make_model, recipe
from vocap.errors import VocapError
from vocap.finetuning.features import Ragged, first_examples, load_features, save_features
from vocap.finetuning.input_encoder import InputEncoder, load_tokenizer
from vocap.finetuning.inputs import encode
from vocap.finetuning.reading import read
from vocap.finetuning.selection import DataSet
from vocap.finetuning.tasks import TASKS


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> InputEncoder:
    return InputEncoder(load_tokenizer(make_model(tmp_path_factory.mktemp("model"))))


def assert_equal(one, other) -> None:
    assert type(one) is type(other)
    for field in fields(one):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if isinstance(left, Ragged):
            assert len(left) == len(right)
            assert all(np.array_equal(a, b) for a, b in zip(left, right, strict=True)), field.name
        else:
            assert np.array_equal(left, right), field.name


@pytest.mark.parametrize("task", ["xnli", "panx", "tydiqa"])
def test_inputs_return(encoder, tmp_path, task):
    found = DataSet(TASKS[task], "test", "ru")
    examples = read(XTREME, found.task, "test", "ru")
    features = encode(found, examples, encoder, recipe(task))
    assert features.ids.lengths.max() <= LENGTH
    save_features(tmp_path / "kept", features)
    kept = load_features(tmp_path / "kept", found.task.kind)
    assert_equal(kept, features)
    assert isinstance(kept.ids.values, np.memmap)
    assert first_examples(kept, None) is first_examples(kept, len(examples)) is kept
    for count in (1, 5):
        assert_equal(first_examples(kept, count), encode(found, examples[:count], encoder, recipe(task)))


def test_a_folder_without_inputs_says_how_to_make_them(tmp_path):
    with pytest.raises(VocapError, match="vocap encode"):
        load_features(tmp_path / "nowhere", "pairs")


def test_an_empty_array_says_how_to_make_it_again(encoder, tmp_path):
    examples = read(XTREME, TASKS["panx"], "test", "ru")
    save_features(
        tmp_path / "kept", encode(DataSet(TASKS["panx"], "test", "ru"), examples, encoder, recipe("panx"))
    )
    (tmp_path / "kept" / "label.npy").write_bytes(b"")
    with pytest.raises(VocapError, match=r"label\.npy: cannot be read .*vocap encode"):
        load_features(tmp_path / "kept", "tags")
