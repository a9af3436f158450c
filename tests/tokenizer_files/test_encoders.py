"""Encoders against the libraries themselves, and one message for a file that a library
refuses.
"""

import json

import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from tests.cases import read_cases
from tests.tokenizer_files.factories import train_model
from tests.vocabularies.factories import make_text
from vocap.errors import VocapError
from vocap.tokenizer_files.encoders import load_encoder


def word_pieces():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordPieceTrainer(
        vocab_size=150, special_tokens=["[PAD]", "[UNK]", "[CLS]"], show_progress=False
    )
    tokenizer.train_from_iterator(make_text("latin", 200), trainer)
    return tokenizer


def test_a_hugging_face_tokenizer_gives_all_ids_and_no_others(tmp_path):
    tokenizer = word_pieces()
    lines = [*make_text("latin", 20, seed=2), "", "ωψ"]
    expected = [tokenizer.encode(line, add_special_tokens=False).ids for line in lines]
    # what a file may ask for, and what would make every count wrong
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=50)
    tokenizer.post_processor = processors.BertProcessing(("[CLS]", 2), ("[CLS]", 2))
    tokenizer.save(str(tmp_path / "tokenizer.json"))

    for path in (tmp_path, tmp_path / "tokenizer.json"):
        encoder = load_encoder(path)
        assert encoder.encode_batch(lines) == expected
        assert encoder.size == tokenizer.get_vocab_size()
        assert encoder.unk_id == 1
        assert encoder.pieces == [tokenizer.id_to_token(number) for number in range(encoder.size)]
        assert encoder.encode_batch([]) == []


def test_unigram_unk_and_ids_with_holes(tmp_path):
    tokenizer = Tokenizer(
        models.Unigram([("a", -1.0), ("<u>", 0.0), ("b", -2.0)], unk_id=1, byte_fallback=False)
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert load_encoder(tmp_path).unk_id == 1
    assert load_encoder(tmp_path).encode_batch(["abx"]) == [[0, 2, 1]]

    model = json.loads(tokenizer.to_str())
    model["model"] = {"type": "WordLevel", "vocab": {"a": 0, "b": 7}, "unk_token": "?"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(model))
    encoder = load_encoder(tmp_path)
    assert (encoder.size, encoder.unk_id) == (8, None)
    assert encoder.pieces == ["a", None, None, None, None, None, None, "b"]


def test_a_sentencepiece_model(tmp_path):
    (tmp_path / "only.model").write_bytes(train_model())
    encoder = load_encoder(tmp_path)
    assert (encoder.size, encoder.unk_id, encoder.pieces[:3]) == (120, 0, ["<unk>", "<s>", "</s>"])
    assert [encoder.processor.encode(line) for line in ["ba", ""]] == encoder.encode_batch(
        ["ba", ""]
    )
    (tmp_path / "second.model").write_bytes(train_model())
    with pytest.raises(
        VocapError, match=r"not one SentencePiece \.model in it \(only\.model, second\.model\)"
    ):
        load_encoder(tmp_path)
    with pytest.raises(VocapError, match=r"none: no such tokenizer"):
        load_encoder(tmp_path / "none")


@pytest.mark.parametrize(
    "text", [*read_cases(__file__)["no tokenizer"], '{"model":' + "[" * 100_000]
)
def test_a_json_that_is_no_tokenizer(tmp_path, text):
    path = tmp_path / "tokenizer.json"
    path.write_text(text)
    with pytest.raises(VocapError, match=f"{path}.*save"):
        load_encoder(path)


def unigram(normalizer=None) -> Tokenizer:
    tokenizer = Tokenizer(
        models.Unigram([("<u>", 0.0), ("a", -1.0), ("b", -1.0)], unk_id=0, byte_fallback=False)
    )
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    return tokenizer


def test_an_error_of_the_library_on_a_text_is_one_message(tmp_path):
    unigram(normalizers.Replace(Regex("(a+)+$"), "b")).save(str(tmp_path / "tokenizer.json"))
    encoder = load_encoder(tmp_path)
    assert encoder.encode_batch(["ab"]) == [[1, 2]]
    with pytest.raises(VocapError, match=r"tokenizer\.json: not a usable .*retry-limit") as error:
        encoder.encode_batch(["b", "a" * 60 + "c"])
    assert "\n" not in str(error.value)
