"""`vocap fit`: exactly the allocated pieces, all of them alive, and an account of every
one.
"""

import json
import math
import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

from tests.cases import read_cases, spoil
from tests.commands import ended
from tests.tokenizers.factories import NUMBERS, SIZES, TOKENS, StageFolders, make_lines, make_stages
from vocap.errors import UsageError
from vocap.files.io import read_tsv, write_tsv
from vocap.tokenizers.fitting import drop_excess
from vocap.unigram.sentencepiece_trainer import train


@pytest.fixture(scope="module")
def stages(tmp_path_factory) -> StageFolders:
    return make_stages(tmp_path_factory.mktemp("stages"))


@pytest.fixture
def copy(stages, tmp_path) -> StageFolders:
    """The stages once more, to be damaged."""
    shutil.copytree(stages.root, tmp_path / "stages")
    return StageFolders(tmp_path / "stages")


def fit(
    made: StageFolders, out: Path, *more: object
) -> tuple[SentencePieceProcessor, list[dict], dict]:
    ended("fit", *made.options, *more, "-o", out)
    processor = SentencePieceProcessor(model_file=str(out / "sentencepiece.model"))
    account = list(read_tsv(out / "pieces.tsv"))
    return processor, account, json.loads((out / "description.json").read_text(encoding="utf-8"))


def vocabulary(made: StageFolders) -> dict[str, str]:
    return {
        row["piece"]: row["languages"]
        for row in read_tsv(made.root / "allocation" / "vocabulary.tsv")
    }


def test_every_allocated_piece_has_an_id_and_is_alive(stages, tmp_path):
    processor, account, description = fit(stages, tmp_path / "t")
    owners = vocabulary(stages)
    total = len(owners) + 5
    assert processor.get_piece_size() == total == description["total"]
    assert processor.id_to_piece([0, 1, 2, 3, total - 1]) == [
        "<s>",
        "<pad>",
        "</s>",
        "<unk>",
        "<mask>",
    ]
    assert {processor.id_to_piece(index) for index in range(4, total - 1)} == set(owners)
    assert {row["piece"]: row["languages"] for row in account} == owners
    assert [int(row["id"]) for row in account] == list(range(4, total - 1))
    order = [(-float(row["score"]), row["piece"]) for row in account]
    assert order == sorted(order) and all((score * 1024).is_integer() for score, _ in order)
    # alive, by trying every segmentation of every piece
    score = {row["piece"]: float(row["score"]) for row in account}
    unknown = min(score.values()) - 10
    for piece, own in score.items():
        for count in range(1, len(piece)):
            for cuts in combinations(range(1, len(piece)), count):
                parts = [piece[a:b] for a, b in zip((0, *cuts), (*cuts, len(piece)), strict=True)]
                if all(part in score or len(part) == 1 for part in parts):
                    assert sum(score.get(part, unknown) for part in parts) < own, (piece, parts)
    assert description["dead"] == 0 and description["dead_share"] == 0
    raised = [row for row in account if row["status"] == "raised"]
    assert len(raised) == description["raised"] >= description["dead_before_raising"]
    for row in raised:
        parts = row["shadowed_by"].split(" ")
        assert "".join(parts) == row["piece"]
        assert float(row["score"]) == sum(score[part] for part in parts) + 2**-10


def test_mixture_scores_follow_the_definition(stages, tmp_path):
    _, account, _ = fit(stages, tmp_path / "t", "--alpha", "0.5")
    powers = {language: n**0.5 for language, n in NUMBERS.items()}
    tokens = {language: power * TOKENS[language] for language, power in powers.items()}
    weights = {language: value / sum(tokens.values()) for language, value in tokens.items()}
    models = {code: SentencePieceProcessor(model_file=str(stages.model(code))) for code in SIZES}
    checked = 0
    for row in account:
        if row["status"] != "ok":
            continue
        probability = 0.0
        for code, model in models.items():
            index = model.piece_to_id(row["piece"])
            if index != model.unk_id():
                probability += weights[code] * math.exp(model.get_score(index))
        assert float(row["score"]) == pytest.approx(math.log(probability), abs=2**-11 + 1e-6)
        checked += 1
    assert checked > 300


def test_byte_fallback_and_symbols_take_rows_from_the_lowest_scores(stages, tmp_path):
    plain, before, _ = fit(stages, tmp_path / "plain")
    symbols = ("--user-defined-symbols", "<url>", "--user-defined-symbols", "@@")
    processor, account, description = fit(stages, tmp_path / "t", "--byte-fallback", *symbols)
    assert processor.get_piece_size() == plain.get_piece_size() == description["total"]
    assert processor.encode("t <url>t", out_type=str)[-2:] == ["<url>", "t"]
    assert processor.id_to_piece([4, 259, 260, 261]) == ["<0x00>", "<0xFF>", "<url>", "@@"]
    assert processor.decode(processor.encode("\U0001f600 @@t")) == "\U0001f600 @@t"
    assert processor.unk_id() not in processor.encode("\U0001f600 @@t")
    dropped = [row for row in account if row["status"] == "dropped"]
    assert len(dropped) == description["dropped"] == 256 + 2
    assert all(row["id"] == "" and len(row["piece"]) > 1 for row in dropped)
    assert {row["piece"] for row in account if row["status"] != "symbol"} == set(vocabulary(stages))
    lowest = max(float(row["score"]) for row in dropped)
    score = {row["piece"]: float(row["score"]) for row in before if row["status"] == "ok"}
    kept = [row["piece"] for row in account if row["status"] == "ok" and len(row["piece"]) > 1]
    assert kept and all(score.get(piece, 0.0) >= lowest - 2**-10 for piece in kept)


def test_a_symbol_that_is_a_piece_costs_no_row(stages, tmp_path):
    piece = max((piece for piece in vocabulary(stages) if piece[0] != "\u2581"), key=len)
    processor, account, description = fit(stages, tmp_path / "t", "--user-defined-symbols", piece)
    holding = [other for other in vocabulary(stages) if piece in other]
    assert description["dropped"] == 0 and holding == [piece]
    assert processor.id_to_piece(4) == piece
    assert {row["piece"]: row["status"] for row in account}[piece] == "symbol"


def test_pieces_that_hold_a_symbol_go_first():
    pieces, scores = ["a", "xay", "xy", "yx", "ay"], np.array([-1.0, -2.0, -9.0, -9.0, -1.5])
    assert drop_excess(pieces, scores, ["@", "ay"], 1) == ([0, 2, 3], [1])
    # equal: the later string goes first
    assert drop_excess(pieces, scores, [], 2) == ([0, 1, 4], [3, 2])
    with pytest.raises(UsageError, match="T = 5 is too small by 1"):
        drop_excess(pieces, scores, [], 5)


def test_a_required_character_of_no_language_is_a_piece_like_the_others(copy, tmp_path):
    owners = vocabulary(copy) | {"\u1e9e": "", "\u0416": ""}
    write_tsv(
        copy.root / "allocation" / "vocabulary.tsv", ("piece", "languages"), list(owners.items())
    )
    processor, account, description = fit(copy, tmp_path / "t", "--user-defined-symbols", "\u0416")
    total = processor.get_piece_size()
    assert total == len(owners) + 5 == description["total"]
    assert {processor.id_to_piece(index) for index in range(4, total - 1)} == set(owners)
    rows = {row["piece"]: row for row in account}
    assert {piece for piece, row in rows.items() if row["status"] == "character"} == {"\u1e9e"}
    assert rows["\u0416"]["status"] == "symbol"
    assert description["characters_added"] == 1 and description["dropped"] == 0
    assert rows["\u1e9e"]["languages"] == ""
    scored = [float(row["score"]) for row in account if row["status"] == "ok"]
    assert float(rows["\u1e9e"]["score"]) == min(scored) - 10
    assert processor.unk_id() not in processor.encode("\u1e9e")


def test_weights_are_of_the_allocations_languages_only(stages, tmp_path):
    """A language of the table that the allocation leaves out takes no share of the
    mixture.
    """
    shutil.copytree(stages.root, tmp_path / "more")
    with open(tmp_path / "more" / "weights.tsv", "a", encoding="utf-8") as file:
        file.write("ru\t900000\tlines\n")
    models = []
    for made in (stages, StageFolders(tmp_path / "more")):
        out = tmp_path / "t" / made.root.name
        fit(made, out)
        models.append((out / "sentencepiece.model").read_bytes())
    assert models[0] == models[1]


def other_normaliser(model: bytes) -> bytes:
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    proto.normalizer_spec.add_dummy_prefix = False
    return proto.SerializeToString()


# what a model becomes
CHANGES = {
    "cut": lambda model: model[:-700],
    "normalises differently": other_normaliser,
    "of another run": lambda _: train(make_lines("ka", 1500, seed=9), SIZES["ka"]),
}
CASES = read_cases(__file__)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bad_input_is_named_and_leaves_nothing(copy, tmp_path, case):
    spoil(copy.root, case.get("files", {}))
    if change := case.get("model"):
        copy.model("ka").write_bytes(CHANGES[change](copy.model("ka").read_bytes()))
    message = ended("fit", *copy.options, "-o", tmp_path / "t", status=1).stderr
    assert message.count("vocap: error:") == 1
    assert all(word in message for word in case["says"])
    assert not (tmp_path / "t").exists()


def test_wrong_calls_are_named(stages, tmp_path):
    def said(*words):
        return ended("fit", *words, "-o", tmp_path / "t", status=2).stderr

    symbols = "--user-defined-symbols"
    assert symbols in said(*stages.options, symbols, " ")
    assert "--allocation" in said(*stages.options[2:])
    # decided by vocap allocate
    assert "--coverage" in said(*stages.options, "--coverage", "0.99")
    assert not (tmp_path / "t").exists()


def test_rows_that_do_not_fit_are_a_wrong_call(copy, tmp_path):
    owners = [(piece, codes) for piece, codes in vocabulary(copy).items() if len(piece) == 1]
    write_tsv(copy.root / "allocation" / "vocabulary.tsv", ("piece", "languages"), owners)
    total = len(owners) + 5
    words = ("--byte-fallback", "--user-defined-symbols", "<x>", "-o", tmp_path / "t")
    message = ended("fit", *copy.options, *words, status=2).stderr
    assert (
        f"T = {total} is too small by 257" in message
        and "257 rows of byte fallback and symbols" in message
    )
    assert "raise the allocation's total" in message and not (tmp_path / "t").exists()
