"""`vocap allocate --rule pieces` and `vocap trunk`: their files, checked with
SentencePiece; and bad input.
"""

import json
import os
import signal
import subprocess
import time

import pytest
import sentencepiece

from tests.allocation.conftest import TEXTS
from tests.commands import VOCAP, vocap
from tests.unigram.test_alp import naive_alp
from vocap.files.io import read_tsv

pytestmark = pytest.mark.xdist_group("allocate-pieces")  # one worker trains the models of `trained`

TOTALS = (260, 420)


def inputs(root):
    return (
        "--vocabularies",
        root / "v",
        "--corpora",
        root / "corpora",
        "--weights",
        root / "w.tsv",
    )


def allocate(root, *options, output="out", total=TOTALS[0]):
    return vocap(
        "allocate",
        "--rule",
        "pieces",
        *inputs(root),
        "--total",
        total,
        "-o",
        root / output,
        *options,
    )


def files_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def alp(processor, lines):
    return naive_alp(processor, lines), sum(map(len, processor.encode(lines))) / len(lines)


def test_files_by_sentencepiece(folder):
    done = allocate(folder)
    assert done.returncode == 0, done.stderr
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
    assert allocate(folder, "--threads", "3").returncode == 0
    both = allocate(folder, "--total", TOTALS[1], output="both-{total}")
    assert both.returncode == 0, both.stderr
    assert vocap("trunk", *inputs(folder), "-o", folder / "t.npz").returncode == 0
    by_trunk = allocate(folder, "--trunk", folder / "t.npz", output="by-trunk")
    assert by_trunk.returncode == 0, by_trunk.stderr
    alone = files_of(folder / "out")
    assert files_of(folder / f"both-{TOTALS[0]}") == alone == files_of(folder / "by-trunk")
    assert allocate(folder, "--core", "0.5", output="core").returncode == 0
    assert files_of(folder / "core")["vocabulary.tsv"] == alone["vocabulary.tsv"]
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_a_weight_per_character(folder):
    assert allocate(folder, "--per", "character").returncode == 0
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


def spoil_train(root):
    (root / "corpora" / "bb" / "train.txt").unlink()


def empty_train(root):
    (root / "corpora" / "bb" / "train.txt").write_text("\n\n")


def empty_characters(root):
    (root / "v" / "bb" / "characters.tsv").write_text("character\tcount\tper_line\n")
    empty_train(root)


BAD = {
    "a missing text": (
        spoil_train,
        [],
        1,
        r"corpora/bb/train.txt: no such file, but bb has a curve",
    ),
    "an empty text": (empty_train, [], 1, r"corpora/bb/train.txt: no text"),
    "an empty text per character": (
        empty_characters,
        ["--per", "character"],
        2,
        r"bb has no characters.tsv with",
    ),
    "a total below the characters": (None, ["20"], 2, r"characters must be pieces; use a total of"),
    "a trunk that is none": (
        lambda root: (root / "t.npz").write_text("x"),
        ["--trunk", "t.npz"],
        1,
        r"t.npz is not what `vocap trunk`",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_message(folder, case):
    import re

    spoil, options, status, message = BAD[case]
    if spoil:
        spoil(folder)
    words = [str(folder / word) if word == "t.npz" else word for word in options]
    done = allocate(folder, total=20) if words == ["20"] else allocate(folder, *words)
    assert done.returncode == status, done.stderr
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(errors) == 1 and re.search(message, errors[0]) and "Traceback" not in done.stderr
    assert not (folder / "out").exists()
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_a_trunk_of_other_weights_is_refused(folder):
    assert vocap("trunk", *inputs(folder), "--beta", "0.3", "-o", folder / "t.npz").returncode == 0
    done = allocate(folder, "--trunk", folder / "t.npz")
    assert done.returncode == 1 and "a trunk of other languages or weights" in done.stderr


def test_text_needs_its_rule(folder):
    done = vocap("allocate", *inputs(folder), "--total", TOTALS[0], "-o", folder / "out")
    assert done.returncode == 2 and "--rule: paper reads no text" in done.stderr
    done = vocap(
        "allocate",
        "--rule",
        "pieces",
        *inputs(folder)[:2],
        *inputs(folder)[4:],
        "--total",
        300,
        "-o",
        "out",
    )
    assert done.returncode == 2 and "add corpora" in done.stderr


def test_an_interrupted_descent_leaves_nothing(folder):
    call = [
        "allocate",
        "--rule",
        "pieces",
        *inputs(folder),
        "--total",
        TOTALS[0],
        "-o",
        folder / "out",
    ]
    process = subprocess.Popen([*VOCAP, *map(str, call)], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 600
    while (
        not any(path.name.startswith(".") for path in folder.iterdir())
        and time.monotonic() < deadline
    ):
        time.sleep(0.005)  # its scratch folder
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130 and "Traceback" not in said
    assert not (folder / "out").exists() and not [
        path.name for path in folder.iterdir() if path.name.startswith(".")
    ]
    assert allocate(folder).returncode == 0 and os.path.exists(folder / "out" / "summary.json")
