"""Dead pieces, against every segmentation there is."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tokenizers.factories import trained_normalizer
from vocap.tokenizer_files.layout import (
    Contents,
    best_split,
    build_model,
    dead_pieces,
    raise_shadowed,
)

UNKNOWN = -30.0
LETTERS = "abc"
WORDS = [w + v + u for w in LETTERS for v in ["", *LETTERS] for u in ["", "a", "b", "ca", "bab"]]


def splits(piece: str, scores: dict[str, float]) -> list[float]:
    """Scores of all segmentations of `piece` into two parts or more, by enumeration."""
    totals = []
    for count in range(1, len(piece)):
        for cuts in combinations(range(1, len(piece)), count):
            parts = [piece[a:b] for a, b in zip((0, *cuts), (*cuts, len(piece)), strict=True)]
            if all(part in scores or len(part) == 1 for part in parts):
                totals.append(sum(scores.get(part, UNKNOWN) for part in parts))
    return totals


vocabularies = st.dictionaries(
    st.sampled_from(WORDS), st.integers(-12 * 1024, -1024), min_size=1
).map(
    lambda scores: (
        dict.fromkeys(LETTERS, -4.0) | {piece: score / 1024 for piece, score in scores.items()}
    )
)


@settings(max_examples=60, deadline=None)
@given(vocabularies)
def test_the_best_split_is_the_best_of_all(scores):
    for piece in scores:
        best, parts = best_split(piece, scores, UNKNOWN)
        assert "".join(parts) == (piece if len(piece) > 1 else "")
        assert best == max(splits(piece, scores), default=-np.inf)


@settings(max_examples=60, deadline=None)
@given(vocabularies)
def test_after_raising_every_piece_is_alive_and_the_others_keep_their_score(scores):
    contents = Contents(list(scores), np.array(list(scores.values())))
    raised_scores, raised = raise_shadowed(contents)
    after = dict(zip(contents.pieces, raised_scores.tolist(), strict=True))
    for piece, score in after.items():
        best = max(splits(piece, after), default=-np.inf)
        assert score > best
        if piece in raised:
            assert score == best + 2**-10 and scores[piece] < score
        else:
            assert score == scores[piece]
    proto = build_model(Contents(contents.pieces, raised_scores), trained_normalizer())
    assert dead_pieces(proto) == {}


@settings(max_examples=60, deadline=None)
@given(vocabularies)
def test_dead_pieces_equal_enumeration(scores):
    """A tie is not death: SentencePiece takes the whole piece, which starts first."""
    proto = build_model(
        Contents(list(scores), np.array(list(scores.values()))), trained_normalizer()
    )
    expected = {
        piece
        for piece, score in scores.items()
        if max(splits(piece, scores), default=-np.inf) > score
    }
    assert set(dead_pieces(proto)) == expected


def test_a_piece_of_the_word_start_counts_as_it_stands():
    """The dummy prefix and the normaliser would change these strings; the check must
    not let them.
    """
    pieces = ["\u2581", "a", "\u2581a", "a\u2581b", "b", "\u2581\u2581"]
    scores = np.array([-1.0, -2.0, -4.0, -3.5, -2.0, -3.0])
    proto = build_model(Contents(pieces, scores), trained_normalizer())
    assert dead_pieces(proto) == {"\u2581a": ["\u2581", "a"], "\u2581\u2581": ["\u2581", "\u2581"]}


@pytest.mark.parametrize("score", [-1.0, -20.0])
def test_a_piece_that_holds_a_symbol_is_never_raised_over_it(score):
    contents = Contents(["x", "y", "x@y"], np.array([-2.0, -2.0, score]), ["@"])
    scores, raised = raise_shadowed(contents)
    assert scores.tolist() == contents.scores.tolist() and raised == {}
    dead = dead_pieces(build_model(contents, trained_normalizer()))
    assert dead == ({} if score == -1.0 else {"x@y": ["x", "@", "y"]})
