import subprocess
import sys

import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from tests.made_text import write_lines
from tests.vocabularies.factories import ALPHABETS, make_text
from vocap.errors import UsageError, VocapError
from vocap.unigram.sentencepiece_trainer import IDS, Unreachable, train

SCRIPTS = sorted(ALPHABETS)


def parse(model):
    return sentencepiece_model_pb2.ModelProto.FromString(model)


def entries(proto):
    return [(entry.piece, entry.score, entry.type) for entry in proto.pieces]


@pytest.mark.parametrize("script", SCRIPTS)
def test_equals_sentencepiece_trained_from_the_file(script, tmp_path):
    lines = make_text(script, 500)
    text = write_lines(tmp_path / "train.txt", lines)
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(tmp_path / "theirs"),
        vocab_size=300,
        model_type="unigram",
        character_coverage=0.9995,
        input_sentence_size=1000000,
        shuffle_input_sentence=True,
        num_threads=1,
        minloglevel=2,
    )
    theirs = parse((tmp_path / "theirs.model").read_bytes())

    model = train(text, 300)

    assert entries(parse(model)) == entries(theirs)
    assert len(theirs.pieces) == 300
    assert parse(model).normalizer_spec == theirs.normalizer_spec
    assert str(tmp_path).encode() not in model
    assert train(lines, 300) == model  # from lines in memory, and once more in this process


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_sizes_at_both_ends(script):
    lines = make_text(script, 200)
    with pytest.raises(Unreachable, match=r"^too little text: at most \d+ pieces$") as above:
        train(lines, 50000)
    highest = int(above.value.reason.split()[-2])
    assert len(parse(train(lines, highest)).pieces) == highest
    with pytest.raises(Unreachable, match="too little text"):
        train(lines, highest + 1)

    with pytest.raises(
        Unreachable, match=r"^too small: \d+ required characters need at least \d+ pieces$"
    ) as below:
        train(lines, 5)
    required, lowest = (int(word) for word in below.value.reason.split() if word.isdigit())
    assert lowest == required + 3
    model = parse(train(lines, lowest))
    assert len(model.pieces) == lowest
    assert all(len(entry.piece) == 1 for entry in model.pieces[3:])
    with pytest.raises(Unreachable, match="too small"):
        train(lines, lowest - 1)


def test_the_reason_counts_other_meta_pieces_too():
    with pytest.raises(Unreachable) as below:
        train(
            ["ab ab ba"] * 9,
            20,
            byte_fallback=True,
            ids={**IDS, "pad_id": 3},
            control_symbols=["<mask>"],
        )
    assert below.value.reason == "too small: 3 required characters need at least 264 pieces"


# SentencePiece 0.2.1 ends the whole process on most of these, so they run in one of
# their own.
NO_TEXT = {
    "nothing": ([], {}),
    "empty lines": (["", ""], {}),
    "spaces": (["   ", "\u3000 \u00a0"], {}),
    "invisible": (["\u200b\u200b", "\t"], {}),
    "U+2581": (["\u2581\u2581"], {}),
    "skipped": (["\u2585 a", "x" * 5000], {}),
    "one symbol": (["a" * 4000], {"user_defined_symbols": ["a"]}),
    "meta pieces": (["<s>" * 1300], {"coverage": 0.98}),
}


def test_text_without_a_character_is_no_text():
    program = (
        "from tests.unigram.test_sentencepiece_trainer import NO_TEXT\nfrom "
        "vocap.unigram.sentencepiece_trainer import Unreachable, train\nfor name, (lines, options) "
        "in NO_TEXT.items():\n    try:\n        print(name, len(train(lines, 9, **options)))\n    "
        "except Unreachable as error:\n        print(name, '->', error.reason.split(':')[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{name} -> no text" for name in NO_TEXT]


def test_one_character_and_one_line_again_and_again():
    assert [entry.piece for entry in parse(train(["a"], 5)).pieces] == [
        "<unk>",
        "<s>",
        "</s>",
        "a",
        "▁",
    ]
    with pytest.raises(Unreachable, match="at most 5 pieces"):
        train(["a"], 6)
    with pytest.raises(Unreachable, match="at most 20 pieces"):
        train(["the same line again and again"] * 1000, 100)


def test_blank_lines_do_not_end_training():
    assert train(["", " ", "\u200b", "a b", "", " "], 6) == train(["a b"], 6)


def test_lines_that_sentencepiece_skips_are_reported(caplog):
    train(["a b"] * 3 + ["a\u2585b", "", "b" * 4193, " "], 6)
    assert "2 lines were not trained on" in caplog.text


@pytest.mark.parametrize("size", [0, 2**31 - 1])  # SentencePiece never returns from the second one
def test_a_size_that_cannot_be(size):
    with pytest.raises(UsageError, match=f"size {size}"):
        train(["a b c"] * 10, size)


def test_errors_while_reading_are_raised_unchanged(tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"a fine line\n" * 3 + b"a \xff line\n" * 2)
    with pytest.raises(VocapError, match=r"bad\.txt: not UTF-8: 2 of 5 lines"):
        train(bad, 10)
    with pytest.raises(VocapError, match=r"none\.txt: no such file"):
        train(tmp_path / "none.txt", 10)
