"""Clipping: the pieces that are dropped, and the characters that stay."""

import pytest
from sentencepiece import sentencepiece_model_pb2

from tests.vocabularies.factories import make_text
from vocap.allocation.solution import clip
from vocap.errors import UsageError
from vocap.unigram.sentencepiece_trainer import Unreachable, train
from vocap.unigram.training_text import character_counts, required_in_sample


def test_equal_scores_go_by_code_point():
    assert clip(["bb", "aa", "cc"], 1, iter([{"cc": -1.0, "bb": -1.0, "aa": -1.0}])) == (["cc"], ["aa", "bb"])


def test_nothing_is_dropped_below_the_capacity():
    assert clip(["bb", "a"], 2, iter([])) == (["bb", "a"], [])


def test_exactly_the_characters_fit_and_one_less_does_not():
    everything = iter([{}, {"ab": -1.0, "a": -1.0, "b": -1.0}])
    assert clip(["a", "ab", "b", "z"], 3, everything) == (["a", "b", "z"], ["ab"])
    with pytest.raises(
        UsageError,
        match=r"total of 7 .* 2 pieces .* 3 single characters \(1 of them required\).*at least 8, or leave out",
    ):
        clip(["a", "ab", "b", "z"], 2, iter([{}, {"ab": -1.0}]), ["z"])


def test_a_long_line_counts_more_than_a_short_one():
    """Ten lines by Equation 3: 5 of 9 s and 1 r, 5 of 1 l and 1 m; 60 characters, of which s makes 45."""
    short, long = {"l": 1.0, "m": 1.0}, {"s": 9.0, "r": 1.0}
    assert required_in_sample([short, long], [0.5, 0.5], 0.75) == ["s"]
    assert required_in_sample([short, long], [0.5, 0.5], 0.76) == ["l", "s"]  # equal ones by code point
    # a hundredth as many long lines: 99 l, 99 m, 9 s, 1 r of 208
    assert required_in_sample([short, long], [0.99, 0.01], 0.95) == ["l", "m"]
    assert required_in_sample([short, long], [0.99, 0.01], 0.99) == ["l", "m", "s"]


@pytest.mark.parametrize("coverage", [0.98, 0.99, 0.9995, 1.0])
def test_they_are_those_of_a_sample_that_is_drawn(coverage):
    """A sample with each language's lines in proportion to q, counted by SentencePiece's trainer."""
    texts = {
        "latin": make_text("latin", 300),
        "kana": make_text("kana", 200),
        "cyrillic": make_text("cyrillic", 100),
    }
    times = {"latin": 1, "kana": 3, "cyrillic": 2}  # each line so often: 300, 600 and 200 lines
    sample = [line for name, lines in texts.items() for line in lines * times[name]]
    per_line = [
        {character: count / len(lines) for character, count in character_counts([lines]).items()}
        for lines in texts.values()
    ]
    with pytest.raises(Unreachable) as below:
        train(sample, 4, coverage)
    proto = sentencepiece_model_pb2.ModelProto.FromString(train(sample, below.value.least, coverage))
    expected = {entry.piece for entry in proto.pieces[3:]}
    found = required_in_sample(per_line, [300 / 1100, 600 / 1100, 200 / 1100], coverage)
    assert set(found) == expected and found == sorted(found)
    assert (len(found) < len(character_counts([sample]))) == (coverage < 1)


def test_no_counts_require_nothing():
    assert required_in_sample([], []) == []
