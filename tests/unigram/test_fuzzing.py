"""A few texts of each kind of the fuzzer, which compares the ladder with SentencePiece."""

import random
from functools import partial

import pytest

from benchmarks.fuzzing.ladder import KINDS, Case, differing_sizes, draw_case, draw_sizes, reduced
from vocap.unigram import descent
from vocap.unigram.seeds import find_seeds


@pytest.mark.parametrize("kind", KINDS)
def test_random_texts_give_the_same_bytes(kind):
    models = 0
    for number in range(4):
        draw = random.Random(f"test {kind} {number}")
        case = draw_case(kind, draw)
        sizes = draw_sizes(case, draw, 2)
        made, differing, _ = differing_sizes(case, sizes)
        assert not differing, (number, sizes)
        models += made
    assert models > 3


def test_a_difference_is_found_and_its_text_reduced(monkeypatch):
    lexicon = ["cat", "cats", "catch", "catching", "match", "matching", "mat", "mats", "hat", "hatching"]
    lines = [" ".join(lexicon[at:] + lexicon[:at]) for at in range(10)]
    case = Case(lines, lines[:1], 1.0, 1)
    assert differing_sizes(case, [17, 20]) == (2, [], [])
    limited = partial(find_seeds, limit=9)  # SentencePiece takes more
    monkeypatch.setattr(descent, "find_seeds", limited)
    assert differing_sizes(case, [17])[1] == [17]
    assert 0 < len(reduced(case, 17)) < len(lines)
