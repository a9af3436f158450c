"""The part on pre-training: the numbers of the metrics, several losses told apart,
files that are not there.
"""

import json

import numpy as np
import pandas
import pytest

from tests.cases import read_lines_of_json
from tests.report.factories import make_corpora, make_model
from tests.report.pages import frame, one_row, words_of, write
from vocap.report.page.rendering import sentence
from vocap.tables.line_bits import read_lengths

CODES = ["en", "de", "ru"]


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    make_corpora(folder, CODES)
    make_model(folder, "knn", {"kind": "knn", "k": 50}, CODES)
    make_model(folder, "full", {"kind": "full"}, CODES)
    (folder / "pretraining/full/description.json").unlink()
    return folder


def test_tables_and_curves_hold_the_numbers_of_the_metrics(results, tmp_path):
    text = write(results, tmp_path / "out")
    path = results / "pretraining/knn/metrics.jsonl"
    last = read_lines_of_json(path)[-1]
    row = one_row(tmp_path / "out/tables/models.tsv", model="knn")
    expected = {"loss": "knn (k = 50)", "tokenizer": "vocap100k", "device": "CPU", "steps": "500"}
    assert row == row | expected
    shown = [
        float(row[column])
        for column in ("bits_per_byte", "training_loss", "candidates", "parameters_mi", "minutes")
    ]
    assert shown == pytest.approx([last["bits_per_byte"], last["loss"], last["candidates"], 13, 5])
    assert one_row(tmp_path / "out/tables/models.tsv", model="full")["loss"] == ""
    language = one_row(tmp_path / "out/tables/models-languages.tsv", language="ru")
    assert float(language["bits_per_byte_knn"]) == last["languages"]["ru"]["bits_per_byte"]
    assert "snakemake --cores all pretraining" not in words_of(text)
    for name in ("exact-loss-steps.svg", "exact-loss-time.pdf"):
        assert (tmp_path / "out/figures" / name).stat().st_size > 1000
    for line in (results / "pretraining/full/metrics.jsonl").read_text("utf-8").splitlines():
        assert f"{round(json.loads(line)['bits_per_byte'], 5)}" in text


def test_code_lengths_are_means_over_seeds_and_languages(results, tmp_path):
    """By the definition; seeds of one tokenizer are one row, and the best row has no
    interval above itself.
    """
    means = {"one": [], "other": []}
    for name, seed, tokenizer in (("a-1", 1, "one"), ("a-2", 2, "one"), ("b", 1, "other")):
        make_model(
            results, name, {"kind": "full"}, CODES, seed=seed, tokenizer=tokenizer, causal=True
        )
        lines = read_lengths(results / "pretraining" / name / "code-length.npz", "parallel")
        means[tokenizer].append(np.mean([bits.sum() / size.sum() for bits, size in lines.values()]))
    write(results, tmp_path / "out")
    rows = frame(tmp_path / "out/tables/models-causal.tsv", "tokenizer")
    assert rows.bits_per_byte.to_dict() == pytest.approx(
        {name: np.mean(values) for name, values in means.items()}, rel=1e-6
    )
    assert rows.deviation["one"] == pytest.approx(np.std(means["one"], ddof=1), rel=1e-4)
    assert pandas.isna(rows.deviation["other"]) and rows.above.isna().sum() == 1
    expected = {"models": "a-1, a-2", "part": "parallel", "languages": 3}
    expected |= {"measure": "code length of the text"}
    assert rows.loc["one", list(expected)].to_dict() == expected
    assert one_row(tmp_path / "out/tables/models.tsv", model="b")["objective"] == "causal"


def test_two_of_a_kind_are_told_apart():
    def loss(**settings) -> str:
        return sentence("loss", loss=settings)

    assert loss(kind="full") == "full"
    assert (
        loss(kind="knn", k=5, uniform=1000, finish=0.05)
        == "knn (k = 5, 1,000 uniform, last 5 % full)"
    )
    assert loss(kind="nce", negatives=50_000) == "nce (50,000 negatives)"
