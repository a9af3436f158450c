"""Batches by length: each input once an epoch, a function of the step alone; places of
words by brute force.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocap.finetuning.features import (
    IGNORED,
    Features,
    LengthBatches,
    assemble_inputs,
    evaluation_batches,
)

PAD = 1


def padding_share(lengths: np.ndarray, batches: list[np.ndarray]) -> float:
    """The part of the ids of these batches that is padding."""
    held = sum(len(numbers) * int(lengths[numbers].max()) for numbers in batches)
    return 1 - int(lengths[np.concatenate(batches)].sum()) / held


def pairs(count: int, seed: int = 0) -> Features:
    random = np.random.default_rng(seed)
    rows = [random.integers(5, 99, length) for length in random.integers(3, 60, count)]
    labels = random.integers(0, 3, count)
    columns = zip(range(count), [2] * count, labels, rows, strict=True)
    return Features.of(("example", "second", "label"), ("ids",), columns)


@pytest.mark.parametrize(("count", "batch"), [(1, 4), (64, 4), (1000, 4), (1001, 8)])
def test_each_input_comes_once_in_an_epoch(count, batch):
    batches = LengthBatches(pairs(count), batch, seed=3, pad=PAD)
    assert batches.steps_per_epoch == -(-count // batch)
    for epoch in range(2):
        steps = range(epoch * batches.steps_per_epoch, (epoch + 1) * batches.steps_per_epoch)
        seen = np.concatenate([batches.members(step) for step in steps])
        assert sorted(seen.tolist()) == list(range(count))


def test_a_step_is_the_same_whatever_was_asked_before():
    features = pairs(500)
    forward = LengthBatches(features, 8, seed=1, pad=PAD)
    expected = [forward.members(step).tolist() for step in range(200)]
    backward = LengthBatches(features, 8, seed=1, pad=PAD)
    assert [backward.members(step).tolist() for step in reversed(range(200))] == expected[::-1]
    other = LengthBatches(features, 8, seed=2, pad=PAD)
    assert other.members(0).tolist() != expected[0]
    assert (
        expected[: forward.steps_per_epoch]
        != expected[forward.steps_per_epoch : 2 * forward.steps_per_epoch]
    )


def test_inputs_of_a_batch_are_of_like_length():
    features = pairs(4000)
    batches = LengthBatches(features, 8, seed=1, pad=PAD)
    lengths = features.lengths
    shuffled = np.random.default_rng(0).permutation(4000).reshape(-1, 8)
    by_length = padding_share(
        lengths, [batches.members(step) for step in range(batches.steps_per_epoch)]
    )
    assert by_length < 0.03 < 0.3 < padding_share(lengths, shuffled)


def test_a_batch_is_its_inputs_side_by_side():
    features = pairs(9)
    numbers = np.array([4, 0, 7])
    for width in (None, 64):
        batch = assemble_inputs(features, numbers, PAD, width)
        for place, number in enumerate(numbers):
            row = features.row("ids", number).tolist()
            padding = batch.input_ids.shape[1] - len(row)
            assert batch.input_ids[place].tolist() == row + [PAD] * padding
            assert batch.attention[place].tolist() == [True] * len(row) + [False] * padding
            assert batch.segments[place].tolist() == [0, 0] + [1] * (len(row) - 2) + [0] * padding
        assert batch.targets["label"].tolist() == features.inputs["label"][numbers].tolist()
        assert batch.tokens == features.lengths[numbers].sum()


def test_the_subwords_of_every_word_are_found():
    words = [[1, 3, 2], [1], [2, 2]]  # subwords of each word of three inputs
    rows = []
    for number, lengths in enumerate(words):
        frame = [1, *lengths, 1]
        word = np.repeat([-1, *range(len(lengths)), -1], frame)
        label = np.repeat([IGNORED, IGNORED, *range(1, len(lengths)), IGNORED], frame)
        rows.append((number, sum(frame), np.arange(sum(frame)), word, label))
    features = Features.of(("example", "second"), ("ids", "word", "label"), rows)
    batch = assemble_inputs(features, np.array([2, 0]), PAD)
    width = batch.input_ids.shape[1]
    expected = [
        [1, 2],
        [3, 4],
        [width + 1],
        [width + 2, width + 3, width + 4],
        [width + 5, width + 6],
    ]
    place, of_word = batch.targets["place"], batch.targets["word"]
    assert [place[of_word == word].tolist() for word in range(5)] == expected
    assert batch.targets["label"].tolist() == [IGNORED, 1, IGNORED, 1, 2]


def test_the_ends_of_an_answer_are_targets():
    rows = [(0, 0, 1, 2, [0, 5, 6]), (1, 1, 0, 0, [0, 7])]
    features = Features.of(("example", "second", "start", "end"), ("ids",), rows)
    batch = assemble_inputs(features, np.array([1, 0]), PAD)
    assert (batch.targets["start"].tolist(), batch.targets["end"].tolist()) == ([0, 1], [0, 2])


@given(st.lists(st.integers(1, 50), max_size=60), st.integers(1, 200))
def test_evaluation_takes_every_input_once_within_the_limit(lengths, most):
    lengths = np.array(lengths, np.int64)
    batches = list(evaluation_batches(lengths, most))
    assert sorted(np.concatenate(batches).tolist() if batches else []) == list(range(len(lengths)))
    for numbers in batches:
        assert len(numbers) == 1 or len(numbers) * lengths[numbers].max() <= most
