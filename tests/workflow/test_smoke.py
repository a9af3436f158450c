"""The smoke configuration, on real text of one small package, run as in the README."""

import shutil

from tests.cases import read_lines_of_json
from tests.workflow.conftest import Workflow
from vocap.files.io import read_object, read_tsv


def table(path):
    return list(read_tsv(path))


def test_smoke_makes_every_stage(smoke, tmp_path):
    """From the tokenizers that other tests had made, to its end."""
    shutil.copytree(smoke.parents[1], tmp_path / "clone", symlinks=True)
    workflow = Workflow(tmp_path / "clone")
    workflow.ran(configfile="config/smoke.yaml", timeout=7200)
    results = workflow.folder / "results/smoke"
    curves = {
        lang: table(results / f"vocabularies/{lang}/curve.tsv") for lang in ("de", "ja", "ru")
    }
    assert [row["size"] for row in curves["de"]] == ["300", "600", "1200"]
    assert all(row["status"] == "ok" for row in curves["ru"])
    assert curves["ja"][0]["status"] != "ok"  # fewer ids than required characters
    assert curves["ja"][0]["alp"] == ""
    for name in ("vocap-small", "joint-small"):
        assert len(table(results / f"tokenizers/{name}/evaluation.tsv")) == 3
    assert len(table(results / "allocation/small/vocabulary.tsv")) == 1995
    for name in ("knn-small", "causal-small"):
        rows = read_lines_of_json(results / f"pretraining/{name}/metrics.jsonl")
        losses = [row["exact_loss"] for row in rows]
        assert losses[-1] < losses[0]
        assert (results / f"pretraining/{name}/model/model.safetensors").exists()
    average = read_object(results / "finetuning/knn-small/average.json")
    assert set(average["tasks"]) == {"xnli", "pawsx", "udpos", "panx", "xquad", "mlqa", "tydiqa"}
    assert not average["missing"]
    assert len(table(results / "correlation/points.tsv")) == 3
    assert table(results / "report/tables/paper-correlation.tsv")[-1]["sizes"] == "3"
    assert (results / "report/index.html").stat().st_size < 5_000_000
