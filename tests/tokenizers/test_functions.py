"""The functions of the library without files, against the files of the commands."""

import math

import pytest
from pandas.testing import assert_frame_equal
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer

from tests import commands
from tests.made_text import write_lines
from tests.tokenizers.factories import NUMBERS, byte_tokenizer, make_lines, make_stages
from vocap.errors import UsageError
from vocap.tables.frames import read_table
from vocap.tokenizers.byte_pairs import train_bpe
from vocap.tokenizers.commands import bpe, evaluate, fit, joint
from vocap.tokenizers.evaluate import evaluate as evaluate_tokenizers
from vocap.tokenizers.exporting import card
from vocap.tokenizers.fitting import fit as fit_allocation
from vocap.tokenizers.joint import train_joint

FILES = ("pieces.tsv", "description.json")


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    return make_stages(tmp_path_factory.mktemp("stages"))


@pytest.fixture(scope="module")
def texts(stages):
    """The lines of each language, as they are in the files."""
    return {code: make_lines(code, 1500) for code in NUMBERS}


def assert_same(folder, made, name):
    """What `made` writes is what the command has written to `folder`."""
    made.write(folder / "written")
    for file in (name, *FILES):
        assert (folder / "written" / file).read_bytes() == (folder / file).read_bytes()
    assert made.model == (folder / name).read_bytes()
    assert made.pieces["piece"].tolist() == [row[0] for row in made.rows]


def test_byte_pairs_of_sentences(stages, texts, tmp_path):
    given = ["--corpora", stages.root / "corpora", "--weights", stages.root / "weights.tsv"]
    commands.run(bpe, *given, "--total", 400, "--total", 500, "-o", tmp_path / "{total}")
    made = train_bpe({code: iter(lines) for code, lines in texts.items()}, NUMBERS, [500, 400])
    assert list(made) == [400, 500]
    for total, one in made.items():
        assert_same(tmp_path / str(total), one, "tokenizer.json")
        line = "\n".join(lines[0] for lines in texts.values())
        saved = Tokenizer.from_file(str(tmp_path / str(total) / "tokenizer.json"))
        assert one.tokenizer.encode(line).ids == saved.encode(line).ids


def test_one_text_needs_no_weights(texts, tmp_path):
    write_lines(tmp_path / "corpora" / "en" / "train.txt", texts["en"])
    (tmp_path / "weights.tsv").write_text("language\tn\nen\t1\n")
    given = ["--corpora", tmp_path / "corpora", "--weights", tmp_path / "weights.tsv"]
    commands.run(bpe, *given, "--total", 400, "-o", tmp_path / "bpe")
    for text in (iter(texts["en"]), tmp_path / "corpora" / "en" / "train.txt"):
        assert_same(tmp_path / "bpe", train_bpe(text, None, 400), "tokenizer.json")
    with pytest.raises(UsageError, match="needs n of each language"):
        train_bpe(tmp_path / "corpora", None, 400)


@pytest.mark.parametrize("option", ["mix", "corpora"])
def test_joint_of_sentences(stages, texts, tmp_path, option):
    given = ["--weights", stages.root / "weights.tsv"]
    if option == "mix":
        text = (stages.root / "mix.txt").read_text("utf-8").splitlines()
        commands.run(
            joint, *given, "--mix", stages.root / "mix.txt", "--total", 300, "-o", tmp_path
        )
        made = train_joint(300, mix=iter(text), weights=NUMBERS)
    else:
        commands.run(
            joint, *given, "--corpora", stages.root / "corpora", "--total", 300, "-o", tmp_path
        )
        made = train_joint(300, corpora=texts, weights=NUMBERS)
    assert_same(tmp_path, made, "sentencepiece.model")
    stock = SentencePieceProcessor(model_file=str(tmp_path / "sentencepiece.model"))
    line = texts["ka"][0]
    assert made.tokenizer.encode(line, add_special_tokens=False).ids == stock.encode(line)


def test_fit_and_card(stages, tmp_path):
    commands.run(fit, *stages.options, "-o", tmp_path)
    made = fit_allocation(stages.root / "allocation", stages.root / "vocabularies", NUMBERS)
    assert_same(tmp_path, made, "sentencepiece.model")
    assert f"T = {made.total:,} ids" in card(tmp_path / "sentencepiece.model")


def test_evaluation_of_what_is_loaded(stages, texts, tmp_path):
    """Tokenizers and texts in memory, against the tables that the command writes."""
    model = stages.model("en")
    merged = byte_tokenizer(texts["en"])
    merged.save(str(tmp_path / "merged.json"))
    joint_model = train_joint(300, mix=texts["zh"])
    joint_model.write(tmp_path / "joint")
    parallel = {code: ["", *lines[:1000]] for code, lines in texts.items()}
    for code, lines in parallel.items():
        write_lines(tmp_path / "parallel" / f"{code}.txt", lines)
        write_lines(tmp_path / "corpora" / code / "heldout.txt", texts[code][1000:])
        write_lines(tmp_path / "corpora" / code / "train.txt", texts[code])
    given = ["--corpora", tmp_path / "corpora", "--parallel", tmp_path / "parallel" / "{lang}.txt"]
    given += ["--tokenizer", f"a={model}", "--tokenizer", f"b={tmp_path}/merged.json", "--gates"]
    given += ["--tokenizer", f"c={tmp_path}/joint", "--tables", tmp_path / "tables"]
    commands.run(evaluate, *given, "-o", tmp_path / "summary.tsv")
    found = evaluate_tokenizers(
        {"a": model.read_bytes(), "b": merged, "c": joint_model},
        text={code: iter(lines[1000:]) for code, lines in texts.items()},
        corpora={code: iter(lines) for code, lines in texts.items()},
        parallel={code: iter(lines) for code, lines in parallel.items()},
        gates=True,
    )
    assert_frame_equal(found.summary, read_table(tmp_path / "summary.tsv"))
    for name in "abc":
        for title, table in found.tables(name).items():
            saved = read_table(tmp_path / "tables" / name / f"{title}.tsv")
            assert_frame_equal(table.replace("", math.nan), saved, check_dtype=False)
