"""The shared layout: ids, T, rounding, and what SentencePiece makes of it."""

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError
from sentencepiece import SentencePieceProcessor

from tests.cases import read_cases
from tests.tokenizers.factories import trained_normalizer
from vocap.errors import VocapError
from vocap.tokenizer_files.layout import (
    Contents,
    build_model,
    round_scores,
    serialize,
)
from vocap.tokenizers.settings import tokenizer_type

CASES = read_cases(__file__)

PIECES = ["\u2581", "a", "b", "\u2581ab", "ab", "ba"]
SCORES = np.array([-2.0001, -3.3, -3.3, -4.0, -5.123456, -5.123457])


def load(contents: Contents) -> SentencePieceProcessor:
    return SentencePieceProcessor(
        model_proto=serialize(build_model(contents, trained_normalizer()))
    )


def test_ids_are_xlm_r_s_and_the_mask_is_last():
    processor = load(Contents(PIECES, SCORES))
    assert processor.get_piece_size() == 5 + len(PIECES)
    # scores descending, then strings; "ab" and "ba" are equal once rounded, so are "a"
    # and "b"
    expected = ["<s>", "<pad>", "</s>", "<unk>", *PIECES, "<mask>"]
    assert processor.id_to_piece(list(range(11))) == expected
    assert [processor.is_control(index) for index in (0, 1, 2, 10)] == [True] * 4
    assert processor.is_unknown(3)
    assert processor.encode("abba", out_type=str) == ["\u2581ab", "ba"]


def test_byte_pieces_and_symbols_stand_after_the_special_tokens_and_work():
    contents = Contents(PIECES, SCORES, ["<url>", "@@"], True)
    processor = load(contents)
    assert processor.get_piece_size() == 5 + 256 + 2 + 6
    assert processor.id_to_piece([4, 259, 260, 261]) == ["<0x00>", "<0xFF>", "<url>", "@@"]
    assert processor.is_byte(4) and processor.is_byte(259) and not processor.is_byte(260)
    assert processor.encode("ab<url>é", out_type=str) == ["\u2581ab", "<url>", "<0xC3>", "<0xA9>"]
    assert processor.decode(processor.encode("ab<url>é")) == "ab<url>é"


def test_scores_are_multiples_of_two_to_the_minus_ten():
    rounded = round_scores(np.array([-1.0004882, -1.0004883, -17.3, 0.0]))
    assert rounded.tolist() == [-1.0, -1.0009765625, -17.2998046875, 0.0]
    for entry in build_model(Contents(PIECES, SCORES), trained_normalizer()).pieces:
        assert (entry.score * 1024).is_integer()


def test_equal_contents_in_another_order_are_equal_bytes():
    backwards = Contents(PIECES[::-1], SCORES[::-1])
    spec = trained_normalizer()
    assert serialize(build_model(backwards, spec)) == serialize(
        build_model(Contents(PIECES, SCORES), spec)
    )


@pytest.mark.parametrize(
    "contents",
    [
        Contents(["a", "a"], np.zeros(2)),
        Contents(["b", "<mask>"], np.zeros(2)),
        Contents(["b", "<0x41>"], np.zeros(2), [], True),
        Contents(["a", "b"], np.zeros(2), ["b"]),
    ],
)
def test_duplicate_rows_are_named(contents):
    with pytest.raises(VocapError, match=f"duplicate piece '{contents.pieces[1]}' among the ids"):
        build_model(contents, trained_normalizer())


@pytest.mark.parametrize(("entry", "words"), CASES["wrong"])
def test_a_wrong_entry_of_the_configuration_is_named(entry, words):
    with pytest.raises(ValidationError, match=words):
        TypeAdapter(tokenizer_type()).validate_python(entry)
