"""The correlation study: its jobs, its reruns, and a whole run on made text."""

import json

import pytest

from tests.cases import read_cases
from tests.commands import ended
from tests.workflow.conftest import parse_counts
from vocap.correlation.study import StudyPoint, unreached
from vocap.files.io import read_object, read_tsv
from vocap.files.written import read_records
from vocap.tables.curve import read_points as read_curve

SECTIONS = read_cases(__file__)
STUDY, TUNING = SECTIONS["correlation"], SECTIONS["finetuning"]
JOBS = ("studied_tokenizer", "studied_text", "studied_model", "encode", "finetune", "score")


@pytest.fixture
def study(workflow):
    workflow.write_config(correlation=STUDY, finetuning=TUNING)
    return workflow


def counts(workflow, **changes):
    workflow.write_config(correlation=STUDY | changes, finetuning=TUNING)
    return workflow.planned("correlation")


def test_jobs_are_those_of_the_grid(study):
    planned = counts(study)
    assert [planned[name] for name in JOBS] == [3] * 6
    assert planned["own_files"] == planned["correlate"] == 1
    planned = counts(study, seeds=[1, 2], sizes=[50, 150])
    assert planned["finetune"] == 4 and planned["studied_model"] == planned["score"] == 2


def test_without_its_files_models_are_pretrained_and_what_they_wait_for_is_named(study):
    def assert_models_alone(notice):
        said = study.ran("-n")
        assert notice in said
        planned = parse_counts(said)
        assert [planned.get(name, 0) for name in JOBS] == [3, 3, 3, 0, 0, 0]
        assert planned["report"] == 1 and "correlate" not in planned

    (study.folder / "config/smoke-xtreme/panx/train-ru.tsv").unlink()
    assert_models_alone(
        "left out: correlation study: panx in ru: no config/smoke-xtreme/panx/train-ru.tsv"
    )
    study.write_config(correlation=STUDY)  # without an XTREME folder
    assert_models_alone(
        "left out: POS and NER of the correlation study: no finetuning.xtreme; its 3 models are "
        "pre-trained"
    )


def test_a_run_gives_the_points_of_its_scores_and_a_hole_where_the_text_ends(study):
    asked = {"sizes": [50, 150, 300, 100_000]}
    study.write_config(correlation=STUDY | asked, finetuning=TUNING, vocabularies=asked)
    assert study.planned("correlation")["studied_model"] == 4  # before the curve is known
    study.ran("correlation")
    folder = study.folder / "results/correlation"
    curve = read_curve(study.folder / "results/vocabularies/ru/curve.tsv")
    assert unreached(study.folder / "results/vocabularies", ["ru"], asked["sizes"]) == {
        "ru": [100_000]
    }
    assert not (folder / "ru/100000").exists()
    points = read_records(folder / "points.tsv", StudyPoint, "correlate")
    assert [(point.size, point.alp) for point in points] == [
        (one.size, one.alp) for one in curve if one.ok
    ]
    own = sorted(path.name for path in (folder / "ru/xtreme/panx").iterdir())
    assert own == ["dev-ru.tsv", "test-ru.tsv", "train-en.tsv"]
    english = (folder / "ru/xtreme/panx/train-en.tsv").read_bytes()
    assert english == (study.folder / "config/smoke-xtreme/panx/train-ru.tsv").read_bytes()
    one = points[0]
    assert (one.language, one.task, one.split, one.seeds, one.steps) == ("ru", "panx", "test", 1, 5)
    described = read_object(folder / f"ru/{one.size}/pretrained/description.json")
    assert (described["vocabulary"], described["languages"]) == (one.size + 2, ["ru"])
    (row,) = read_tsv(folder / "correlations.tsv")
    assert (row["sizes"], row["holes"]) == ("3", "1")
    assert study.planned("correlation") == {}
    said = ended("plan", "--json", "--configfile", "test.yaml", cwd=study.folder)
    rules = json.loads(said.stdout)["rules"]
    assert [rules[name]["jobs"] for name in JOBS] == [3] * 6  # the hole is known
    changed = STUDY | asked | {"seeds": [1, 2]}
    study.write_config(correlation=changed, finetuning=TUNING, vocabularies=asked)
    planned = study.planned("correlation")
    assert planned == {"finetune": 3, "score": 3, "correlate": 1, "correlation": 1}
