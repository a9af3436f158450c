"""The demonstration on real text and XTREME's files, as a dry run."""

import os
from pathlib import Path

import pytest

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
    said = clone.ran("-n", configfile=DEMO)
    assert "left out" not in said
    counts = parse_counts(said)
    assert counts["ladder"] == 8 and counts["pretrain"] == 2 and counts["average"] == 4
    # two states on the way, the study
    assert (counts["score"], counts["finetune"]) == (
        2 * 7 + 2 + 4,
        2 * 6 + 2 + 4,
    )
    assert counts["studied_model"] == 4 and counts["report"] == 1
