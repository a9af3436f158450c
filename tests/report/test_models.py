"""The part on pre-training: the numbers of the metrics, several losses told apart,
files that are not there.
"""

import json

import numpy as np
import pytest

from tests.report.factories import make_corpora, make_model
from tests.report.pages import Page, one_row, words_of, write
from vocap.errors import VocapError
from vocap.report.data.results import ModelResults
from vocap.tables.line_bits import read_lengths

CODES = ["en", "de", "ru"]


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    make_corpora(folder, CODES)
    make_model(folder, "knn", {"kind": "knn", "k": 50}, CODES)
    make_model(folder, "full", {"kind": "full"}, CODES, described=False)
    return folder


def test_tables_hold_the_last_lines_numbers(results, tmp_path):
    page = Page(write(results, tmp_path / "out"))
    last = json.loads(
        (results / "pretraining/knn/metrics.jsonl").read_text("utf-8").splitlines()[-1]
    )
    row = one_row(tmp_path / "out/tables/models.tsv", model="knn")
    assert (
        row["loss"] == "knn (k = 50)" and row["tokenizer"] == "vocap100k" and row["device"] == "CPU"
    )
    assert float(row["parameters_mi"]) == 13 and int(row["steps"]) == 500
    for column, key in (
        ("bits_per_byte", "bits_per_byte"),
        ("training_loss", "loss"),
        ("candidates", "candidates"),
    ):
        assert float(row[column]) == last[key]
    assert float(row["minutes"]) == pytest.approx(5)
    assert one_row(tmp_path / "out/tables/models.tsv", model="full")["loss"] == ""
    language = one_row(tmp_path / "out/tables/models-languages.tsv", language="ru")
    assert float(language["bits_per_byte_knn"]) == last["languages"]["ru"]["bits_per_byte"]
    words = words_of(page)
    assert "snakemake --cores all pretraining" not in words


def test_code_lengths_are_means_over_seeds_and_languages(results, tmp_path):
    """By the definition; seeds of one tokenizer are one row, and the best row has no
    interval above itself.
    """
    for name, seed, tokenizer in (("a-1", 1, "one"), ("a-2", 2, "one"), ("b", 1, "other")):
        make_model(
            results, name, {"kind": "full"}, CODES, seed=seed, tokenizer=tokenizer, causal=True
        )
    write(results, tmp_path / "out")
    means = {}
    for name in ("a-1", "a-2", "b"):
        lines = read_lengths(results / "pretraining" / name / "code-length.npz", "parallel")
        means[name] = np.mean([lines[code][0].sum() / lines[code][1].sum() for code in CODES])
    one = one_row(tmp_path / "out/tables/models-causal.tsv", tokenizer="one")
    other = one_row(tmp_path / "out/tables/models-causal.tsv", tokenizer="other")
    assert (one["models"], one["part"], one["languages"]) == ("a-1, a-2", "parallel", "3")
    assert one["measure"] == "code length of the text" and other["deviation"] == ""
    assert float(one["bits_per_byte"]) == pytest.approx((means["a-1"] + means["a-2"]) / 2, rel=1e-6)
    assert float(one["deviation"]) == pytest.approx(
        abs(means["a-1"] - means["a-2"]) / 2**0.5, rel=1e-4
    )
    assert float(other["bits_per_byte"]) == pytest.approx(means["b"], rel=1e-6)
    assert sorted([one["above"] == "", other["above"] == ""]) == [False, True]
    assert one_row(tmp_path / "out/tables/models.tsv", model="b")["objective"] == "causal"


def test_the_curves_are_figures_with_every_point(results, tmp_path):
    text = write(results, tmp_path / "out")
    for name in ("exact-loss-steps.svg", "exact-loss-time.pdf"):
        assert (tmp_path / "out/figures" / name).stat().st_size > 1000
    for line in (results / "pretraining/full/metrics.jsonl").read_text("utf-8").splitlines():
        assert f"{round(json.loads(line)['bits_per_byte'], 5)}" in text


@pytest.mark.parametrize("line", ["{", "[]", '{"step": 1}'])
def test_a_malformed_line_is_named(results, tmp_path, line):
    path = results / "pretraining/knn/metrics.jsonl"
    path.write_text(path.read_text("utf-8") + line + "\n", "utf-8")
    with pytest.raises(VocapError, match=r"knn/metrics\.jsonl, line 6"):
        write(results, tmp_path / "out")


def test_two_of_a_kind_are_told_apart():
    def loss(**settings) -> str:
        return ModelResults("m", {"settings": {"loss": settings}}, []).loss

    assert loss(kind="full") == "full"
    assert (
        loss(kind="knn", k=5, uniform=1000, finish=0.05)
        == "knn (k = 5, 1,000 uniform, last 5 % full)"
    )
    assert loss(kind="nce", negatives=50_000) == "nce (50,000 negatives)"
