"""The pieces that languages share, as the explorer packs them."""

import pytest

from tests.report.factories import make_run, write_choice
from tests.report.pages import words
from vocap.files.io import write_tsv
from vocap.report.data.loading import load_results
from vocap.report.sections import allocation
from vocap.report.sections.allocation import make_explorer


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("overlap")
    inputs = make_run(folder / "results")
    write_choice(folder / "results", "present", inputs, total=900)
    return folder / "results", inputs


def test_an_overlap_that_does_not_fit_is_no_explorer(run, monkeypatch):
    folder, _ = run
    results = load_results(folder, None, {})
    assert make_explorer(results)["packed"]
    monkeypatch.setattr(allocation, "BUDGET", 100)
    assert make_explorer(results) is None


def test_without_indexes_the_page_says_so(tmp_path):
    inputs = make_run(tmp_path / "results")
    write_choice(tmp_path / "results", "present", inputs, total=900)
    (tmp_path / "results/vocabularies/hi/pieces.npz").unlink()
    said = words(tmp_path / "results", tmp_path / "out")
    assert "No explorer here. There is no hi/pieces.npz" in said
    curve = tmp_path / "results/vocabularies/en/curve.tsv"
    write_tsv(curve, ("size", "alp", "status"), [(40, -9.0, "ok")])
    said = words(tmp_path / "results", tmp_path / "out")
    assert "There is no en/pieces.npz, the index of the pieces of its curve" in said
