"""The check of XTREME's files as rules: a damaged one stops its training alone, before anything trains."""

import pytest

CHECKS = "results/smoke/finetuning/checks"
TRAININGS = ["xnli", "pawsx", "udpos", "panx", "squad", "tydiqa"]


@pytest.fixture
def smoke(workflow):
    """The smoke configuration, whose XTREME folder comes with the project."""
    (workflow.folder / "test.yaml").write_bytes((workflow.folder / "config/smoke.yaml").read_bytes())
    return workflow


def test_a_damaged_file_stops_its_own_training(smoke):
    damaged = smoke.folder / "config/smoke-xtreme/panx/train-en.tsv"
    damaged.write_text(damaged.read_text("utf-8").replace("B-LOC", "B-MISC", 1), "utf-8")
    targets = [f"{CHECKS}/{training}.tsv" for training in TRAININGS]
    assert smoke.planned("--", *targets) == {"check_xtreme": 6}
    run = smoke.snakemake("--keep-going", "--", *targets)
    assert run.returncode != 0
    assert sorted(path.stem for path in (smoke.folder / CHECKS).iterdir()) == sorted({*TRAININGS} - {"panx"})
    said = (smoke.folder / "results/smoke/logs/finetuning/check_xtreme/panx.log").read_text("utf-8")
    assert "panx/train-en.tsv, line " in said and "'B-MISC' is none of B-LOC" in said and "Traceback" not in said
    # inputs are made of checked files alone, and a new file has its own training checked again, no other
    planned = smoke.planned("finetuning")
    assert (planned["check_xtreme"], planned["encode"]) == (1, 6)
    new = smoke.folder / "config/smoke-xtreme/xnli/test-sw.tsv"
    new.write_bytes((smoke.folder / "config/smoke-xtreme/xnli/test-de.tsv").read_bytes())
    assert smoke.planned("--", f"{CHECKS}/xnli.tsv", f"{CHECKS}/squad.tsv") == {"check_xtreme": 1}
