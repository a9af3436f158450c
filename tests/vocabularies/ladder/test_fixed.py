"""The engine on given pieces against sums over all segmentations, and against SentencePiece."""

import math
import random
from collections import Counter

import numpy as np
import pytest

from tests.vocabularies.hostile import train_model
from tests.vocabularies.made import ALPHABETS, made_text
from vocap.vocabularies.ladder import fixed
from vocap.vocabularies.ladder.trie import build_trie, child
from vocap.vocabularies.ladder.word_table import WordTable


def table(words: Counter) -> WordTable:
    result = WordTable(1)
    for word, count in words.items():
        for _ in range(count):
            result.add([word], cut=False, trained=False, text=0)
    return result


def segmentations(word: str, known: set[str]):
    if not word:
        yield []
    for end in range(1, len(word) + 1):
        if word[:end] in known or end == 1:
            for rest in segmentations(word[end:], known):
                yield [word[:end], *rest]


@pytest.fixture(scope="module")
def made():
    """Pieces, scores, and words that hold characters without a piece."""
    chooser = random.Random(3)
    pieces = sorted(
        {"".join(chooser.choices("abc\u0928\U0001f600", k=chooser.randint(1, 5))) for _ in range(70)} - {"c"}
    )
    scores = np.random.default_rng(3).uniform(-9, -1, len(pieces)).astype(np.float32)
    words = Counter(
        {
            "".join(chooser.choices("abcd\u0928\U0001f600", k=chooser.randint(1, 9))): chooser.randint(1, 40)
            for _ in range(300)
        }
    )
    return pieces, scores, words


@pytest.mark.parametrize("batch", [40, 1 << 21])
def test_expected_counts_are_sums_over_all_segmentations(made, monkeypatch, batch):
    pieces, scores, words = made
    monkeypatch.setattr(fixed, "BATCH_CHARACTERS", batch)
    score = dict(zip(pieces, scores.tolist(), strict=True))
    unknown = min(score.values()) - 10
    expected: Counter[str] = Counter()
    for word, count in words.items():
        ways = list(segmentations(word, score.keys()))
        weights = [math.exp(sum(score.get(piece, unknown) for piece in way)) for way in ways]
        for way, weight in zip(ways, weights, strict=True):
            for piece in way:
                expected[piece] += count * weight / sum(weights)
    counted = fixed.FixedPieces(pieces).expected(table(words), scores)
    assert counted == pytest.approx([expected[piece] for piece in pieces], rel=2e-6, abs=1e-9)


def test_best_segmentations_are_the_likeliest(made):
    pieces, _, words = made
    scores = np.rint(np.random.default_rng(4).uniform(-9, -1, len(pieces)) * 1024) / 1024  # so sums are exact
    scores += np.arange(len(pieces)) / 2**20  # and hardly two are equal
    score = dict(zip(pieces, scores.astype(np.float32).tolist(), strict=True))
    unknown = min(score.values()) - 10
    expected: Counter[str] = Counter()
    for word, count in words.items():
        ways = segmentations(word, score.keys())
        best = max(ways, key=lambda way: sum(score.get(piece, unknown) for piece in way))
        for piece in best:
            expected[piece] += count
    assert fixed.FixedPieces(pieces).best(table(words), scores).tolist() == [expected[piece] for piece in pieces]


@pytest.mark.parametrize("script", sorted(ALPHABETS))
def test_best_segmentations_are_those_of_sentencepiece(script):
    import sentencepiece

    lines = made_text(script, 400)
    processor = sentencepiece.SentencePieceProcessor(model_proto=train_model(lines, 250))
    others = [*lines, *made_text(script, 200, seed=2), "ωψ ϟ ωψ", ""]
    words = WordTable(1)
    words.add(processor.normalize(others), cut=True, trained=False, text=0)
    ids = list(range(3, processor.get_piece_size()))
    pieces = fixed.FixedPieces(processor.id_to_piece(ids))
    counts = Counter(token for line in processor.encode(others) for token in line)
    found = pieces.best(words, np.array([processor.get_score(number) for number in ids]))
    assert found.tolist() == [counts[number] for number in ids]


def test_a_trie_finds_every_piece_and_no_other():
    chooser = random.Random(5)
    pieces = sorted({"".join(chooser.choices("ab\U0010ffff\0", k=chooser.randint(1, 6))) for _ in range(400)})
    trie = build_trie(pieces)

    def look_up(word):
        node = 0
        for character in word:
            node = child(np.int32(node), np.int32(ord(character)), *trie.arrays)
            if not node:
                return -1
        return int(trie.piece[node])

    for number, piece in enumerate(pieces):
        assert look_up(piece) == number
    for _ in range(400):
        word = "".join(chooser.choices("ab\U0010ffff\0c", k=chooser.randint(1, 7)))
        assert look_up(word) == (pieces.index(word) if word in pieces else -1)


def test_pieces_that_words_cannot_hold_are_refused():
    for piece in ("a\u2581b", "\u2581\u2581", "x" * 128):
        with pytest.raises(ValueError, match="longer than 127 characters, or holds a space"):
            fixed.FixedPieces(["a", piece])
