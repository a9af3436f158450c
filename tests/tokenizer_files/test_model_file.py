"""Model files: their content, and one message for each that SentencePiece refuses."""

import numpy as np
import pytest
import sentencepiece

from tests.tokenizer_files.factories import parse, train_model
from tests.vocabularies.factories import make_text
from vocap.errors import VocapError
from vocap.tokenizer_files.encoders import load_encoder
from vocap.tokenizer_files.model_file import load_processor, read_model, read_pieces


def test_the_content_of_a_good_model(tmp_path):
    path = tmp_path / "good.model"
    path.write_bytes(train_model(size=400, byte_fallback=True, user_defined_symbols=["<x>"]))
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    pieces = read_pieces(path)
    assert pieces.pieces == [theirs.id_to_piece(number) for number in range(400)]
    assert pieces.scores.dtype == np.float32
    assert pieces.scores.tolist() == [theirs.get_score(number) for number in range(400)]
    assert [(kind == 2, kind == 3, kind == 6) for kind in pieces.types] == [
        (theirs.is_unknown(number), theirs.is_control(number), theirs.is_byte(number))
        for number in range(400)
    ]
    assert read_model(path).trainer_spec.vocab_size == 400
    lines = make_text("latin", 50, seed=3)
    assert load_processor(path).encode(lines) == theirs.encode(lines)


@pytest.mark.parametrize("kind", ["bpe", "word", "char"])
def test_other_model_types_are_tokenizers_too(kind, tmp_path):
    path = tmp_path / "other.model"
    path.write_bytes(train_model(size=90, model_type=kind, hard_vocab_limit=False))
    lines = make_text("latin", 20)
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    assert load_processor(path).encode(lines) == theirs.encode(lines)


def damaged_models() -> dict[str, tuple[bytes, str]]:
    """Models that are none, each with the words that its refusal must hold."""
    good = train_model()
    invalid = good.replace("\n\x03\xe2\x96\x81".encode("latin-1"), b"\n\x03\xe2\x96\xff", 1)
    assert invalid != good
    twice, unknown = parse(good), parse(good)
    twice.pieces.add(piece="xyz", score=-1, type=1)
    twice.pieces.add(piece="xyz", score=-1, type=1)
    unknown.pieces[0].type = 1
    return {
        "empty": (b"", "not a usable SentencePiece model"),
        "text": (b"this is no model at all, just text\n" * 20, "not a usable SentencePiece model"),
        "cut": (good[: len(good) // 2], "cut short"),
        "not UTF-8": (invalid, "not a usable SentencePiece model"),
        "piece twice": (twice.SerializeToString(), "SentencePiece cannot use it .*xyz"),
        "no unknown piece": (unknown.SerializeToString(), "SentencePiece cannot use it .*unk"),
    }


@pytest.mark.parametrize("name", damaged_models())
@pytest.mark.parametrize("load", [read_model, load_processor, load_encoder])
def test_a_damaged_model_is_one_message(tmp_path, name, load):
    model, words = damaged_models()[name]
    path = tmp_path / "bad.model"
    path.write_bytes(model)
    with pytest.raises(VocapError, match=rf"bad\.model: .*{words}.*again") as error:
        load(path)
    assert "\n" not in str(error.value)


def test_no_file(tmp_path):
    for path in (tmp_path / "none.model", tmp_path):
        with pytest.raises(VocapError, match="no such model file"):
            read_pieces(path)
