"""The demonstration on real text and XTREME's files, and the trial of the worth of pre-training, as dry runs."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.workflow.conftest import BIN, ROOT, parse_counts

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
    **{MLQA.format("test", code): MLQA.format("dev", code) for code in ("ar", "de", "en", "es", "hi", "vi", "zh")},
}
DEMO = ("--configfile", "config/demo.yaml")


@pytest.fixture
def folder(tmp_path):
    for name in ("rules", "config", "envs", "profiles", "slurm"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "Snakefile", tmp_path)
    files = {str(path.relative_to(DATA)): path for path in DATA.rglob("*") if path.is_file()}
    files |= {f"xtreme/{name}": DATA / "xtreme" / other for name, other in MISSING.items()}
    for name, path in files.items():
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).symlink_to(path)
    return tmp_path


def run(folder, *command) -> str:
    done = subprocess.run(
        [BIN / command[0], *command[1:]],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def test_all_stages_run_to_table_1_and_nothing_is_left_out(folder):
    said = run(folder, "snakemake", "-n", "--cores", "2", *DEMO)
    assert "left out" not in said
    counts = parse_counts(said)
    assert counts["ladder"] == 8 and counts["pretrain"] == 2 and counts["average"] == 4
    assert (counts["score"], counts["finetune"]) == (
        2 * 7 + 2 + 4,
        2 * 6 + 2 + 4,
    )  # two states on the way, the study
    assert counts["studied_model"] == 4 and counts["report"] == 1


def test_two_cores_are_forecast_to_need_less_than_half_an_hour(folder):
    plan = json.loads(run(folder, "vocap", "plan", "--json", "--cores", "2", *DEMO))
    assert plan["schedule"]["wall_s"] < 1800
    assert set(plan["rules"]) >= {"ladder", "finetune", "average", "correlate", "report"}


def test_the_trial_tunes_a_model_with_and_without_pre_training(folder):
    said = run(folder, "snakemake", "-n", "--cores", "2", "finetuning", "--configfile", "config/sanity.yaml")
    counts = parse_counts(said)
    assert counts["tokenize"] == 11 and counts["pretrain"] == 1  # one for all three
    assert counts["encode"] == 2 and counts["finetune"] == 3 * 2 * 2 and counts["score"] == 3 * 2
