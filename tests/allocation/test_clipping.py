"""Which pieces go, and which characters must stay."""

import random

import pytest
import sentencepiece

from vocap.allocation.characters import required_characters
from vocap.allocation.clipping import clip
from vocap.errors import UsageError
from vocap.vocabularies.model_file import read_pieces


def test_last_slice_goes_first_lowest_score_first():
    union = ["a", "b", "ab", "abc", "new1", "new2", "new3", "x"]
    last = {"new1": -9.0, "new2": -8.0, "new3": -9.5, "x": -30.0}
    kept, dropped = clip(union, 6, iter([last]))
    assert dropped == ["new3", "new1"]
    assert kept == ["a", "b", "ab", "abc", "new2", "x"]


def test_then_the_lowest_of_all_and_never_a_character():
    union = ["a", "ab", "abc", "b", "new1", "x", "z"]
    everything = {"a": -99.0, "b": -99.0, "ab": -3.0, "abc": -7.0, "new1": -1.0, "x": -99.0}
    kept, dropped = clip(union, 5, iter([{"new1": -2.0}, everything]))
    assert dropped == ["new1", "abc"]
    assert kept == ["a", "ab", "b", "x", "z"]


def test_equal_scores_go_by_code_point():
    assert clip(["bb", "aa", "cc"], 1, iter([{"cc": -1.0, "bb": -1.0, "aa": -1.0}])) == (["cc"], ["aa", "bb"])


def test_nothing_goes_where_there_is_room():
    assert clip(["bb", "a"], 2, iter([])) == (["bb", "a"], [])


def test_exactly_the_characters_fit_and_one_less_does_not():
    everything = iter([{}, {"ab": -1.0, "a": -1.0, "b": -1.0}])
    assert clip(["a", "ab", "b", "z"], 3, everything) == (["a", "b", "z"], ["ab"])
    with pytest.raises(
        UsageError, match=r"total of 7 .* 2 pieces .* below the 3 required characters; use at least 8"
    ):
        clip(["a", "ab", "b", "z"], 2, iter([{}, {"ab": -1.0}]))


@pytest.mark.parametrize("coverage", [0.98, 0.99, 0.9995, 1.0])
def test_one_language_is_what_sentencepiece_requires(tmp_path, coverage):
    rng = random.Random(5)
    letters = [chr(0x3042 + k) for k in range(80)]
    weights = [1 / (k + 1) ** 2.5 for k in range(80)]
    lines = ["".join(rng.choices(letters, weights, k=30)) for _ in range(300)]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_prefix=str(tmp_path / "m"),
        model_type="char",
        character_coverage=coverage,
        vocab_size=200,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    expected = sorted(set(read_pieces(tmp_path / "m.model").pieces) - {"<unk>", "<s>", "</s>"})
    counts = {}
    for character in "".join("▁" + line for line in lines):
        counts[character] = counts.get(character, 0) + 1
    assert required_characters([counts], [1.0], coverage) == expected


def test_languages_count_by_q_and_not_by_their_text():
    small, large = {"s": 9, "r": 1}, {"l": 900_000, "m": 100_000}
    # shares 0.45, 0.05, 0.45, 0.05: at 0.9 two are enough
    assert required_characters([small, large], [0.5, 0.5], 0.9) == ["l", "s"]
    # shares 0.009, 0.001, 0.891, 0.099: l and m make 0.99
    assert required_characters([small, large], [0.01, 0.99], 0.99) == ["l", "m"]
    assert required_characters([small, large], [0.01, 0.99], 0.9901) == ["l", "m", "s"]


def test_no_counts_require_nothing():
    assert required_characters([], []) == []
