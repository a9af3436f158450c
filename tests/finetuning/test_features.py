"""Inputs on the disk: read back equal, and the first examples equal those encoded alone."""

import numpy as np
import pytest

from tests.finetuning.tiny_models import LENGTH, XTREME, make_model, recipe
from vocap.errors import VocapError
from vocap.finetuning.encoding import InputEncoder, encode, load_tokenizer
from vocap.finetuning.features import Features, load_features, save_features
from vocap.finetuning.tasks import TASKS, DataSet


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> InputEncoder:
    return InputEncoder(load_tokenizer(make_model(tmp_path_factory.mktemp("model"))))


def assert_equal(one: Features, other: Features) -> None:
    assert np.array_equal(one.starts, other.starts)
    for left, right in ((one.inputs, other.inputs), (one.tokens, other.tokens)):
        assert left.keys() == right.keys()
        assert all(np.array_equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("task", ["xnli", "panx", "tydiqa"])
def test_inputs_return(encoder, tmp_path, task):
    found = DataSet(TASKS[task], "test", "ru")
    examples = found.read(XTREME)
    features = encode(found, examples, encoder, recipe(task))
    assert features.lengths.max() <= LENGTH and features.examples == len(examples)
    folder = tmp_path / "inputs" / found.name
    save_features(folder, features)
    kept = load_features(folder)
    assert_equal(kept, features)
    assert isinstance(kept.tokens["ids"], np.memmap)
    assert_equal(kept.of_first_examples(None), features)
    for count in (1, 5):
        assert_equal(kept.of_first_examples(count), encode(found, examples[:count], encoder, recipe(task)))
    for damage in ("tokens/ids.npy", "starts.npy"):
        (folder / damage).write_bytes(b"")
        with pytest.raises(VocapError, match=r"cannot be read .*delete .*inputs and run: vocap encode"):
            load_features(folder)
