"""`vocap allocate --rule pieces` and `vocap trunk`: their files, checked with
SentencePiece; and bad input.
"""

import json
import re
import signal
import time

import pytest
import sentencepiece

from tests.allocation.conftest import TEXTS
from tests.cases import read_cases, spoil
from tests.commands import ended
from tests.test_interruption import interrupt, start
from tests.unigram.test_alp import naive_alp
from vocap.files.io import read_tsv

pytestmark = pytest.mark.xdist_group("allocate-pieces")  # one worker trains the models of `trained`

TOTALS = (260, 420)


def inputs(root):
    return (
        *("--vocabularies", root / "v", "--weights", root / "w.tsv"),
        *("--corpora", root / "corpora"),
    )


def allocate(root, *options, output="out", total=TOTALS[0], status=0):
    words = ("--rule", "pieces", *inputs(root), "--total", total, "-o", root / output)
    return ended("allocate", *words, *options, status=status)


def files_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def alp(processor, lines):
    return naive_alp(processor, lines), sum(map(len, processor.encode(lines))) / len(lines)


def test_files_by_sentencepiece(folder):
    allocate(folder)
    out = folder / "out"
    vocabulary = {
        row["piece"]: row["languages"].split(",") for row in read_tsv(out / "vocabulary.tsv")
    }
    assert len(vocabulary) == TOTALS[0] - 5
    objective, weights = 0.0, []
    for row in read_tsv(out / "allocation.tsv"):
        code, weight = row["language"], float(row["weight"])
        processor = sentencepiece.SentencePieceProcessor(
            model_file=str(out / "vocabularies" / code / "models" / f"{row['size']}.model")
        )
        held = {processor.id_to_piece(number) for number in range(3, processor.get_piece_size())}
        assert held == {piece for piece, languages in vocabulary.items() if code in languages}
        assert int(row["size"]) == len(held) + 3
        assert int(row["own_pieces"]) == sum(vocabulary[piece] == [code] for piece in held)
        (point,) = read_tsv(out / "vocabularies" / code / "curve.tsv")
        for name, column in (("train", "alp"), ("heldout", "alp_heldout")):
            lines = (
                (folder / "corpora" / code / f"{name}.txt").read_text(encoding="utf-8").splitlines()
            )
            expected, tokens = alp(processor, lines)
            assert float(point[column]) == pytest.approx(expected, abs=1e-9)
            if name == "train":
                assert float(point["tokens_per_sentence"]) == pytest.approx(tokens)
                objective += weight * expected
        weights.append((float(row["n"]), weight))
    share = sum(n**0.7 for n, _ in weights)
    assert [weight for _, weight in weights] == pytest.approx(
        [(n**0.7 / share) ** 0.7 for n, _ in weights]
    )
    summary = json.loads((out / "summary.json").read_text())
    assert summary["chosen"]["rule"] == "pieces" and summary["chosen"][
        "objective"
    ] == pytest.approx(objective)
    assert {one["rule"] for one in summary["other_rules"]} == {"paper"}
    gains = {row["gain"] for row in read_tsv(out / "allocation.tsv")}
    assert len(gains) == 1 and float(gains.pop()) > 0  # one price for all


def test_same_bytes_by_every_call(folder):
    """A trunk of its own, several totals at once, threads, the usual core: the files of
    one total are the same.
    """
    allocate(folder, "--threads", "3")
    allocate(folder, "--total", TOTALS[1], output="both-{total}")
    ended("trunk", *inputs(folder), "-o", folder / "t.npz")
    allocate(folder, "--trunk", folder / "t.npz", output="by-trunk")
    alone = files_of(folder / "out")
    assert files_of(folder / f"both-{TOTALS[0]}") == alone == files_of(folder / "by-trunk")
    allocate(folder, "--core", "0.5", output="core")
    assert files_of(folder / "core")["vocabulary.tsv"] == alone["vocabulary.tsv"]
    assert not list(folder.glob(".*"))


def test_a_weight_per_character(folder):
    allocate(folder, "--per", "character")
    rows = list(read_tsv(folder / "out" / "allocation.tsv"))
    lengths = {}
    normalizer = sentencepiece.SentencePieceNormalizer(
        rule_name="nmt_nfkc", add_dummy_prefix=True, escape_whitespaces=True
    )
    for code in TEXTS:
        lines = (folder / "corpora" / code / "train.txt").read_text(encoding="utf-8").splitlines()
        lengths[code] = sum(len(normalizer.normalize(line)) for line in lines) / len(lines)
    mean = sum(lengths.values()) / len(lengths)
    for row in rows:
        assert float(row["weight"]) == pytest.approx(
            float(row["q"]) ** 0.7 * mean / lengths[row["language"]]
        )


CASES = read_cases(__file__)


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_one_message(folder, name):
    case = CASES[name]
    spoil(folder, case.get("files", {}))
    options = case.get("options", "").format(root=folder).split()
    said = allocate(folder, *options, total=case.get("total", TOTALS[0]), status=case["status"])
    (line,) = (line for line in said.stderr.splitlines() if "error:" in line)
    assert re.search(case["says"], line)
    assert not (folder / "out").exists() and not list(folder.glob(".*"))


def test_a_trunk_of_other_weights_is_refused(folder):
    ended("trunk", *inputs(folder), "--beta", "0.3", "-o", folder / "t.npz")
    done = allocate(folder, "--trunk", folder / "t.npz", status=1)
    assert "a trunk of other languages or weights" in done.stderr


def test_text_needs_its_rule(folder):
    words = ("allocate", "--total", 300, "-o", folder / "out")
    assert "--rule: paper reads no text" in ended(*words, *inputs(folder), status=2).stderr
    without = ended(*words, "--rule", "pieces", *inputs(folder)[:4], status=2)
    assert "add corpora" in without.stderr


def test_an_interrupted_descent_leaves_nothing(folder):
    words = ("--rule", "pieces", *inputs(folder), "--total", TOTALS[0], "-o", folder / "out")
    process = start("allocate", *words)
    while not list(folder.glob(".*")) and process.poll() is None:
        time.sleep(0.005)  # its scratch folder
    assert interrupt(process, signal.SIGINT, 0)[0] == 130
    assert not (folder / "out").exists() and not list(folder.glob(".*"))
    allocate(folder)
