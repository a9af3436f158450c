"""The pieces that languages share, as the explorer packs them."""

import random

import numpy as np
import pytest

from tests.report.factories import make_run, write_choice
from tests.report.pages import words_of, write
from vocap.files.io import write_tsv
from vocap.report.data.loading import load_results
from vocap.report.sections import allocation
from vocap.report.sections.allocation import find_overlap, make_explorer


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("overlap")
    inputs = make_run(folder / "results")
    write_choice(folder / "results", "present", inputs, total=900)
    return folder / "results", inputs


def held(index, rank):
    return set(index.strings(index.piece[(index.start <= rank) & (rank < index.stop)]))


def pieces_counted(overlap, ranks):
    """The number of pieces that the page counts in the union of the vocabularies of
    these ranks.
    """
    classes = [
        piece[(start <= rank) & (rank < stop)]
        for (piece, start, stop), rank in zip(overlap.entries, ranks, strict=True)
    ]
    return int(overlap.times[np.unique(np.concatenate(classes))].sum())


@pytest.mark.parametrize("seed", range(5))
def test_unions_are_those_of_sets(tmp_path, seed):
    """All pieces are counted, whatever the classes: at any ranks the union is as large
    as that of the sets.
    """
    rng = random.Random(seed)
    inputs = make_run(tmp_path, seed).languages
    indexes = [entry.index for entry in inputs]
    overlap = find_overlap(indexes, [entry.characters for entry in inputs])
    assert overlap.times[: len(overlap.characters)].tolist() == [1] * len(overlap.characters)
    assert len(overlap.times) < sum(len(index.hashes) for index in indexes)
    for _ in range(20):
        ranks = [rng.randrange(len(index.sizes)) for index in indexes]
        union = set().union(
            *(held(index, rank) for index, rank in zip(indexes, ranks, strict=True))
        )
        assert pieces_counted(overlap, ranks) == len(union)


def test_an_overlap_that_does_not_fit_is_no_explorer(run, monkeypatch):
    folder, _ = run
    results = load_results(folder, None, "", {})
    assert make_explorer(results)["packed"]
    monkeypatch.setattr(allocation, "BUDGET", 100)
    assert make_explorer(results) is None


def test_without_indexes_the_page_says_so(tmp_path):
    inputs = make_run(tmp_path / "results")
    write_choice(tmp_path / "results", "present", inputs, total=900)
    (tmp_path / "results/vocabularies/hi/pieces.npz").unlink()
    words = words_of(write(tmp_path / "results", tmp_path / "out"))
    assert "No explorer here. There is no hi/pieces.npz" in words
    write_tsv(
        tmp_path / "results/vocabularies/en/curve.tsv",
        ("size", "alp", "status"),
        [(40, -9.0, "ok")],
    )
    words = words_of(write(tmp_path / "results", tmp_path / "out"))
    assert "en/pieces.npz has other sizes than the curve beside it" in words
