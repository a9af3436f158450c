"""`vocap mono`: one language's model in the shared layout."""

import json

import pytest
from sentencepiece import SentencePieceProcessor

from tests.commands import ended
from tests.tokenizers.factories import make_lines
from vocap.files.io import read_tsv
from vocap.unigram.sentencepiece_trainer import train

SIZE = 220


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "220.model"
    path.write_bytes(train(make_lines("ka", 1200), SIZE))
    return path


def test_all_pieces_stay_and_pad_and_mask_are_new(model, tmp_path):
    ended("mono", "--model", model, "--language", "ka", "-o", tmp_path / "t")
    stock = SentencePieceProcessor(model_file=str(model))
    processor = SentencePieceProcessor(model_file=str(tmp_path / "t" / "sentencepiece.model"))
    assert processor.get_piece_size() == SIZE + 2
    assert processor.id_to_piece([0, 1, 2, 3, SIZE + 1]) == [
        "<s>",
        "<pad>",
        "</s>",
        "<unk>",
        "<mask>",
    ]
    # the stock layout is sorted already, so ids move by one but for ties that rounding
    # makes
    scores = {stock.id_to_piece(i): round(stock.get_score(i) * 1024) / 1024 for i in range(3, SIZE)}
    found = {processor.id_to_piece(i): processor.get_score(i) for i in range(4, SIZE + 1)}
    assert found == scores
    assert list(found) == sorted(scores, key=lambda piece: (-scores[piece], piece))
    account = list(read_tsv(tmp_path / "t" / "pieces.tsv"))
    assert {row["languages"] for row in account} == {"ka"} and len(account) == SIZE - 3
    description = json.loads((tmp_path / "t" / "description.json").read_text(encoding="utf-8"))
    assert description["kind"] == "mono" and description["settings"] == {
        "language": "ka",
        "size": SIZE,
    }
    assert (
        "2^-10" in description["rounding"] and description["versions"]["sentencepiece"] == "0.2.1"
    )
