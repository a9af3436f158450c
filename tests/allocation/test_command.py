"""`vocap allocate` from real models to its three files, checked with SentencePiece and
sets; and bad input.
"""

import json
import re

import pytest
import sentencepiece

from tests.allocation.conftest import TEXTS
from tests.cases import read_cases, spoil
from tests.commands import ended
from vocap.files.io import read_tsv, write_tsv
from vocap.tables.curve import COLUMNS

pytestmark = pytest.mark.xdist_group("allocate-pieces")  # one worker trains the models of `trained`


def scores_of(folder, size):
    model = folder / "models" / f"{size}.model"
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    return {processor.id_to_piece(k): processor.get_score(k) for k in range(3, size)}


def allocate(root, total, *options, output="out", **how):
    inputs = ("--vocabularies", root / "v", "--weights", root / "w.tsv", "--total", total)
    return ended("allocate", *inputs, "-o", root / output, *options, **how)


def results(root, output="out"):
    rows = list(read_tsv(root / output / "allocation.tsv"))
    vocabulary = {
        row["piece"]: row["languages"] for row in read_tsv(root / output / "vocabulary.tsv")
    }
    return rows, vocabulary, json.loads((root / output / "summary.json").read_text())


def test_files_agree_with_the_models(trained):
    total = 540
    run = allocate(trained, total, output="plain")
    rows, vocabulary, summary = results(trained, "plain")
    assert [row["language"] for row in rows] == sorted(TEXTS)
    chosen = {
        row["language"]: scores_of(trained / "v" / row["language"], int(row["size"]))
        for row in rows
    }
    union = set().union(*chosen.values())
    n = [float(row["n"]) for row in rows]
    powers = [value**0.7 for value in n]
    required = set()
    for row, power in zip(rows, powers, strict=True):
        q = power / sum(powers)
        assert float(row["q"]) == pytest.approx(q, rel=1e-12)
        assert float(row["weight"]) == pytest.approx(q**0.7, rel=1e-12)
        assert (row["gain"] == "") == (row["size"] == "150")
    # exactly T - 5 pieces of the union and the required characters, each with its
    # languages
    assert len(vocabulary) == total - 5 == summary["pieces"]
    for piece, languages in vocabulary.items():
        assert languages == ",".join(code for code, pieces in chosen.items() if piece in pieces)
        required |= {piece} if not languages else set()
    assert (
        all(len(piece) == 1 for piece in required)
        and len(required) == summary["required_characters_added"]
    )
    assert {piece for piece in union if len(piece) == 1} <= set(vocabulary)
    assert summary["union_before_clipping"] == len(union | required)
    assert summary["clipped"] == len(union | required) - (total - 5)
    assert summary["chosen"]["rule"] == "paper"
    assert f"F = {summary['chosen']['objective']:.6g}" in run.stdout


def test_bytes_depend_on_neither_hash_seed_nor_the_order_of_rows(folder):
    allocate(folder, 420, output="first", PYTHONHASHSEED="1")
    write_tsv(
        folder / "w.tsv",
        ("n", "language"),
        [(TEXTS[code][2], code) for code in ("cc", "aa", "bb")],
    )
    (folder / "v" / "bb" / "pieces.npz").unlink()
    allocate(folder, 420, output="second", PYTHONHASHSEED="2")
    for name in ("allocation.tsv", "vocabulary.tsv", "summary.json"):
        assert (folder / "first" / name).read_bytes() == (folder / "second" / name).read_bytes()


def test_languages_left_out_are_said(folder):
    write_tsv(folder / "w.tsv", ("language", "n"), [("aa", 10), ("bb", 0), ("cc", 20), ("dd", 5)])
    (folder / "v" / "dd").mkdir()
    write_tsv(
        folder / "v" / "dd" / "curve.tsv", COLUMNS, [(100, "", "", "", "", "too little text")]
    )
    run = allocate(folder, 260, "--without", "cc")
    rows, _, summary = results(folder)
    assert [(row["language"], row["q"]) for row in rows] == [("aa", "1.0")]
    assert summary["left_out"] == {
        "bb": "n is 0: no text of it",
        "cc": "left out by `without`",
        "dd": "no size could be trained",
    }
    assert "bb is left out" in run.stderr and "dd is left out" in run.stderr


def test_total_above_all_is_taken_with_a_warning(trained):
    run = allocate(trained, 5000, output="large")
    rows, vocabulary, summary = results(trained, "large")
    assert {row["size"] for row in rows} == {"250"}
    assert summary["short"] == 4995 - len(vocabulary) > 0 and summary["clipped"] == 0
    assert sorted(summary["exhausted"]) == sorted(TEXTS)
    assert "a total of 5000 is above the union of all sizes" in run.stderr


def test_a_curve_that_dips_is_distinguished_from_one_that_ends(folder):
    """A language stops where its hull falls, though there are larger sizes."""
    path = folder / "v" / "aa" / "curve.tsv"
    rows = [list(row.values()) for row in read_tsv(path)]
    rows[2][2] = repr(float(rows[1][2]) - 0.5)
    write_tsv(path, COLUMNS, rows)
    run = allocate(folder, 5000, output="passed")
    assert "above the union of all sizes" in run.stderr and "gains nothing" not in run.stderr
    rows[3][2] = rows[2][2]
    write_tsv(path, COLUMNS, rows)
    run = allocate(folder, 5000)
    assert "the next size gains nothing for aa, though there are larger ones" in run.stderr
    assert {row["language"]: row["size"] for row in results(folder)[0]} == {
        "aa": "150",
        "bb": "250",
        "cc": "250",
    }


def test_total_below_the_smallest_sizes_is_clipped_with_a_warning(trained):
    run = allocate(trained, 250, output="small")
    rows, vocabulary, summary = results(trained, "small")
    assert len(vocabulary) == 245 and {row["size"] for row in rows} == {"150"}
    assert summary["chosen"]["objective"] is None
    assert "below the smallest sizes" in run.stderr


CASES = read_cases(__file__)


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_named_and_nothing_is_written(folder, name):
    case = CASES[name]
    spoil(folder, case.get("files", {}))
    options, status = case.get("options", "").split(), case.get("status", 1)
    said = allocate(folder, case.get("total", 420), *options, status=status).stderr
    assert re.search(case["says"], " ".join(said.split())), said
    assert not (folder / "out").exists()
