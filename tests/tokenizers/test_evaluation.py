"""Every column against its definition, computed naively from SentencePiece's own pieces."""

import math

import numpy as np
import pytest
from click.testing import CliRunner
from sentencepiece import SentencePieceProcessor

from vocap.errors import UsageError, VocapError
from vocap.tokenizers.evaluation import COLUMNS, Tally, by_resource, measure, renyi_efficiency
from vocap.tokenizers.export import export
from vocap.tokenizers.output_commands import evaluate
from vocap.tsv import read_tsv

from .scripts import WORDS, made_lines, model

LANGUAGES = ("en", "th")


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    root = tmp_path_factory.mktemp("evaluation")
    (root / "tokenizer").mkdir()
    (root / "tokenizer" / "sentencepiece.model").write_bytes(model().SerializeToString(deterministic=True))
    export(root / "tokenizer" / "sentencepiece.model", root / "tokenizer" / "huggingface")
    lines = made_lines(400, seed=12)
    for language, part in zip(LANGUAGES, (lines[:250], lines[250:]), strict=True):
        (root / "corpora" / language).mkdir(parents=True)
        text = "".join(f"{line} \U00012000 {WORDS[language][0]}\n" for line in part)
        (root / "corpora" / language / "heldout.txt").write_text(text, encoding="utf-8")
    return root


def run(root, tokenizer, output, *options):
    arguments = ["--tokenizer", str(root / tokenizer), "--corpora", str(root / "corpora"), "-o", str(output)]
    result = CliRunner().invoke(evaluate, [*arguments, *options])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return list(read_tsv(output, COLUMNS))


def naive(path, processor, spaces):
    """The definitions, word for word."""
    lines = path.read_text(encoding="utf-8").splitlines()
    pieces = [processor.id_to_piece(ids) for ids in map(processor.encode, lines)]
    flat = [piece for line in pieces for piece in line]
    probability = {piece: flat.count(piece) / len(flat) for piece in set(flat)}
    size = processor.get_piece_size()
    return {
        "lines": len(lines),
        "alp": sum(sum(math.log(probability[piece]) for piece in line) for line in pieces) / len(lines),
        "tokens_per_sentence": len(flat) / len(lines),
        "tokens_per_word": len(flat) / sum(len(line.split()) for line in lines) if spaces else None,
        "chars_per_token": sum(map(len, lines)) / len(flat),
        "bytes_per_token": sum(len(line.encode()) for line in lines) / len(flat),
        "unk_rate": flat.count("<unk>") / len(flat),
        "vocabulary_used": len(set(flat)) / size,
        "renyi": math.log(sum(p**2.5 for p in probability.values())) / (1 - 2.5) / math.log(size),
        "single_char_share": sum(len(piece.replace("▁", "")) == 1 for piece in flat) / len(flat),
    }


@pytest.mark.parametrize("tokenizer", ["tokenizer/sentencepiece.model", "tokenizer/huggingface"])
def test_columns(corpora, tmp_path, tokenizer):
    rows = run(corpora, tokenizer, tmp_path / "evaluation.tsv", "--unknown", str(tmp_path / "unknown.tsv"))
    assert [(row["language"], row["resource"]) for row in rows] == [("en", "high"), ("th", "high")]
    processor = SentencePieceProcessor(model_file=str(corpora / "tokenizer" / "sentencepiece.model"))
    for row in rows:
        path = corpora / "corpora" / row["language"] / "heldout.txt"
        expected = naive(path, processor, spaces=row["language"] == "en")
        for column, value in expected.items():
            if value is None:
                assert row[column] == ""
            else:
                assert float(row[column]) == pytest.approx(value, rel=1e-12), column
    unknown = list(read_tsv(tmp_path / "unknown.tsv", ("language", "character", "count")))
    counts = {row["language"]: int(row["count"]) for row in unknown if row["character"] == "\U00012000"}
    assert counts == {"en": 250, "th": 150}
    for row in unknown:
        piece = processor.piece_to_id(row["character"])
        assert tokenizer.endswith("huggingface") or piece == processor.unk_id()


def test_renyi_of_an_example():
    """A fair coin and a loaded one: H_2 is minus the logarithm of the chance that two throws agree."""
    assert renyi_efficiency(np.array([5, 5, 0, 0])) == pytest.approx(0.5)
    assert renyi_efficiency(np.array([9, 1]), alpha=2) == pytest.approx(-math.log(0.82) / math.log(2))
    assert renyi_efficiency(np.array([7, 0, 0])) == 0
    assert renyi_efficiency(np.array([0, 0])) is None and renyi_efficiency(np.array([3])) is None


def test_no_lines_and_no_tokens():
    empty = measure(Tally(np.zeros(4, np.int64)), ["a"] * 4, 3)
    assert empty.pop("lines") == 0 and set(empty.values()) == {None}
    blank = measure(Tally(np.zeros(4, np.int64), lines=2, characters=2, size_bytes=2), ["a"] * 4, 3)
    assert blank["tokens_per_sentence"] == 0 and blank["chars_per_token"] is None


def test_a_tokenizer_without_unknown_token():
    counted = Tally(np.array([2, 1]), lines=1, words=1, characters=4, size_bytes=4)
    row = measure(counted, ["▁ab", None], None)
    assert row["unk_rate"] == 0 and row["single_char_share"] == 0 and row["tokens_per_word"] == 3


def test_by_resource():
    columns = dict.fromkeys(COLUMNS[3:], 1.0)
    rows = [
        {"language": "en", "resource": "high", "lines": 10, **columns, "alp": -100.0, "tokens_per_word": 2.0},
        {"language": "th", "resource": "high", "lines": 30, **columns, "alp": -50.0, "tokens_per_word": None},
        {"language": "sa", "resource": "low", "lines": 0, **dict.fromkeys(columns)},
    ]
    low, high, everything = by_resource(rows)
    assert (low["resource"], low["languages"], low["alp"]) == ("low", 1, None)
    assert (high["languages"], high["alp"], high["tokens_per_word"]) == (2, -75.0, 2.0)
    assert (everything["resource"], everything["languages"], everything["alp"]) == ("all", 3, -75.0)
    assert by_resource(reversed(rows)) == [low, high, everything]
    low, high, everything = by_resource(rows, ["alp"], {"en": 0.6, "sa": 0.2, "th": 0.2})
    assert low == {"resource": "low", "languages": 1, "alp": None}
    assert high["alp"] == pytest.approx(0.75 * -100 + 0.25 * -50) == everything["alp"]
    assert by_resource(rows, ["alp"], {})[2]["alp"] is None
    assert by_resource([]) == []


def test_bad_calls(corpora, tmp_path):
    output = tmp_path / "evaluation.tsv"
    with pytest.raises(UsageError, match="unknown language code 'xx'"):
        run(corpora, "tokenizer/huggingface", output, "--languages", "en,xx")
    with pytest.raises(UsageError, match="twice en"):
        run(corpora, "tokenizer/huggingface", output, "--languages", "en,en")
    with pytest.raises(VocapError, match=r"de.heldout.txt: no such file"):
        run(corpora, "tokenizer/huggingface", output, "--languages", "de")
    with pytest.raises(UsageError, match="--parallel and --parallel-output go together"):
        run(corpora, "tokenizer/huggingface", output, "--parallel", "x{lang}")
    with pytest.raises(VocapError, match=r"nothing.model: no such tokenizer"):
        run(corpora, "nothing.model", output)
    assert not output.exists()
