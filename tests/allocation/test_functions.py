"""Allocations of ladders in memory, against the files of the command."""

import json

import pandas as pd
import pytest

from tests.allocation.conftest import TEXTS
from tests.allocation.test_pieces_command import allocate as run_pieces
from tests.allocation.test_pieces_command import files_of
from tests.commands import ended
from vocap.allocation.stage import allocate
from vocap.errors import UsageError, VocapError
from vocap.tables.frames import read_table
from vocap.text_files.records import read_lines
from vocap.vocabularies.ladder import train_ladder

pytestmark = pytest.mark.xdist_group("allocate-pieces")  # one worker trains the models of `trained`
WEIGHTS = {code: n for code, (_, _, n) in TEXTS.items()}


@pytest.fixture(scope="module")
def texts(trained):
    return {code: list(read_lines(trained / "corpora" / code / "train.txt")) for code in TEXTS}


def test_an_allocation_in_memory_is_that_of_the_command(trained, texts, tmp_path):
    ladders = {code: train_ladder(text, sizes=[20, 150, 200, 250]) for code, text in texts.items()}
    found = allocate(ladders, WEIGHTS, [350, 420], beta=0.5)
    call = ("--vocabularies", trained / "v", "--weights", trained / "w.tsv", "--beta", 0.5)
    totals = ("--total", 350, "--total", 420, "-o", tmp_path / "{total}")
    ended("allocate", *call, *totals)
    for total, result in found.items():
        folder = tmp_path / str(total)
        for name, frame in (("allocation", result.languages), ("vocabulary", result.vocabulary)):
            pd.testing.assert_frame_equal(
                frame, read_table(folder / f"{name}.tsv"), check_dtype=False
            )
        assert result.summary == json.loads((folder / "summary.json").read_text("utf-8"))
        result.write(tmp_path / f"again-{total}")
        assert files_of(tmp_path / f"again-{total}") == files_of(folder)


def test_pieces_of_text_in_memory_are_those_of_the_command(folder, texts):
    for path in folder.glob("corpora/*/heldout.txt"):
        path.unlink()
    run_pieces(folder)
    allocate(folder / "v", WEIGHTS, 260, folder / "again", rule="pieces", corpora=texts)
    assert files_of(folder / "again") == files_of(folder / "out")


def test_wrong_calls_name_what_is_wrong(texts):
    ladder = train_ladder(texts["aa"], sizes=[150])
    for n in (-1, float("nan")):
        with pytest.raises(UsageError, match=f"n of 'aa' is {n}"):
            allocate({"aa": ladder}, {"aa": n}, 100)
    with pytest.raises(VocapError, match="no ladder of 'bb'"):
        allocate({"aa": ladder}, {"aa": 1, "bb": 1}, 100)
    with pytest.raises(UsageError, match=r"rule: .piece.; take one of paper, pieces"):
        allocate({"aa": ladder}, {"aa": 1}, 100, rule="piece")
    with pytest.raises(UsageError, match=r"rule: pieces reads .*corpora"):
        allocate({"aa": ladder}, {"aa": 1}, 100, rule="pieces")
