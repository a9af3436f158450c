"""The demonstration on real text and XTREME's files, and the trial of the worth of
pre-training, as dry runs.
"""

import json
import os
from pathlib import Path

import pytest

from tests.commands import ended
from tests.workflow.conftest import copy_workflow, parse_counts

DATA = Path(os.environ.get("VOCAP_DATA", "/nonexistent"))
pytestmark = pytest.mark.skipif(
    not (DATA / "text").exists() or not (DATA / "xtreme").exists(),
    reason="needs VOCAP_DATA with text/ and xtreme/",
)
MLQA = "mlqa/MLQA_V1/{0}/{0}-context-{1}-question-{1}.json.xz"
MISSING = {  # files that are not at hand: others in their place
    "xnli/train-en.tsv.xz": "xnli/dev-en.tsv.xz",
    "pawsx/train-en.tsv.xz": "pawsx/dev-en.tsv.xz",
    "squad/train-v1.1.json.xz": "tydiqa/tydiqa-goldp-v1.1-train/tydiqa.goldp.en.train.json.xz",
    **{
        MLQA.format("test", code): MLQA.format("dev", code)
        for code in ("ar", "de", "en", "es", "hi", "vi", "zh")
    },
}
DEMO = "config/demo.yaml"


@pytest.fixture
def clone(tmp_path):
    files = {str(path.relative_to(DATA)): path for path in DATA.rglob("*") if path.is_file()}
    files |= {f"xtreme/{name}": DATA / "xtreme" / other for name, other in MISSING.items()}
    for name, path in files.items():
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).symlink_to(path)
    return copy_workflow(tmp_path)


def test_all_stages_run_to_table_1_and_nothing_is_left_out(clone):
    run = clone.snakemake("-n", configfile=DEMO)
    assert run.returncode == 0 and "left out" not in run.stdout, run.stdout[-3000:]
    counts = parse_counts(run.stdout)
    assert counts["ladder"] == 8 and counts["pretrain"] == 2 and counts["average"] == 4
    # two states on the way, the study
    assert (counts["score"], counts["finetune"]) == (
        2 * 7 + 2 + 4,
        2 * 6 + 2 + 4,
    )
    assert counts["studied_model"] == 4 and counts["report"] == 1


def test_two_cores_are_forecast_to_need_less_than_half_an_hour(clone):
    plan = json.loads(ended("plan", "--json", "--configfile", DEMO, cwd=clone.folder).stdout)
    assert plan["total"]["cpu_s"] / 2 < 1800  # on two cores
    assert set(plan["rules"]) >= {"ladder", "finetune", "average", "correlate", "report"}


def test_the_trial_tunes_a_model_with_and_without_pre_training(clone):
    counts = clone.planned("finetuning", configfile="config/sanity.yaml")
    assert counts["tokenize"] == 11 and counts["pretrain"] == 1  # one for all three
    assert counts["encode"] == 2 and counts["finetune"] == 3 * 2 * 2 and counts["score"] == 3 * 2
