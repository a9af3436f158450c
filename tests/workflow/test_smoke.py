"""The smoke configuration, on real text of one small package, run as in the README."""

import json
import resource

from vocap.files.io import read_tsv


def table(path):
    return list(read_tsv(path))


def test_smoke_runs_in_nine_minutes(workflow):
    """Two from corpora to tokenizers and the report, two for two models, three to tune
    one, two for the study.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = workflow.snakemake(configfile="config/smoke.yaml", timeout=1800)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert run.returncode == 0, run.stdout[-4000:]
    # of the processors: other tests run at the same time; on one core alone, this is
    # the clock
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert seconds < 540, f"{seconds:.0f} s"

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
        for row in table(results / f"tokenizers/{name}/parity.tsv"):
            assert float(row["share"]) >= 0.999, row
    assert len(table(results / "allocation/small/vocabulary.tsv")) == 1995
    for name in ("knn-small", "causal-small"):
        lines = (results / f"pretraining/{name}/metrics.jsonl").read_text("utf-8").splitlines()
        losses = [json.loads(line)["exact_loss"] for line in lines]
        assert losses[-1] < losses[0]
        assert (results / f"pretraining/{name}/model/model.safetensors").exists()
    average = json.loads((results / "finetuning/knn-small/average.json").read_text("utf-8"))
    assert set(average["tasks"]) == {"xnli", "pawsx", "udpos", "panx", "xquad", "mlqa", "tydiqa"}
    assert not average["missing"]
    benchmarks = (results / "logs/benchmarks/finetuning").rglob("*.tsv")
    took = [row["cpu_time"] for path in benchmarks for row in table(path)]
    assert sum(float(seconds) for seconds in took if seconds != "NA") < 180
    assert len(table(results / "correlation/points.tsv")) == 3
    assert table(results / "report/tables/paper-correlation.tsv")[-1]["sizes"] == "3"
    assert (results / "report/index.html").stat().st_size < 5_000_000
