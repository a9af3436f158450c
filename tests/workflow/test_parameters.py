"""What results were made with stands beside them: an edit counts after a move, a copy, and
without Snakemake's own records; what is made again is named.
"""

import json
import shutil
from pathlib import Path

import pytest

from tests.cases import read_cases, read_lines_of_json
from tests.workflow.conftest import Workflow, parse_counts
from vocap import __version__
from vocap.errors import UsageError
from vocap.workflow.parameters import (
    Made,
    as_text,
    excerpts,
    find_changes,
    read_parameters,
    write_parameters,
)

EDIT = {"allocation": {"a": {"total": 500, "beta": 0.3}}}
MADE_AGAIN = {"allocate": 1, "fit": 1, "export": 1, "evaluate": 1, "report": 1, "all": 1}
BETA = "made again: allocate, 1 job: settings: --total=500 -> --total=500 --beta=0.3"


@pytest.fixture
def moved(finished_once: Workflow, tmp_path: Path) -> Workflow:
    """The results of a finished run in a folder of another name, without `.snakemake`."""
    folder = tmp_path / "another place"
    shutil.copytree(
        finished_once.folder, folder, symlinks=True, ignore=shutil.ignore_patterns(".snakemake")
    )
    (folder / "results").rename(folder / "its results")
    workflow = Workflow(folder)
    workflow.write_config(results="its results")
    return workflow


def edit_records(workflow: Workflow, **changes) -> None:
    """Change every line of the files of parameters."""
    for path in workflow.folder.glob("*results/*/parameters.jsonl"):
        jobs = [job | changes for job in read_lines_of_json(path)]
        path.write_text("".join(f"{json.dumps(job)}\n" for job in jobs), "utf-8")


def test_an_edit_counts_after_a_move(moved):
    said = moved.ran()
    assert "Nothing to be done" in said
    assert "unknown parameters" not in said and "made again" not in said
    moved.write_config(results="its results", **EDIT)
    said = moved.ran("-n")
    assert parse_counts(said) == MADE_AGAIN and BETA in said
    target = "its results/allocation/a/summary.json"
    before = (moved.folder / target).read_bytes()
    assert BETA in moved.ran("--", target)
    assert (moved.folder / target).read_bytes() != before
    shutil.rmtree(moved.folder / ".snakemake")
    assert "allocate" not in moved.planned("--", target)


def test_a_lost_model_is_made_again(finished, moved):
    for workflow, results in ((finished, "results"), (moved, "its results")):
        model = f"{results}/vocabularies/ru/models/150.model"
        (workflow.folder / model).unlink()
        said = workflow.ran("-n")
        assert parse_counts(said)["ladder"] == 1
        assert f"made again: ladder, 1 job: models: made -> lost: {model}" in said
        workflow.ran("vocabularies")
        assert (workflow.folder / model).exists()


def test_unknown_parameters_and_other_versions_are_named(moved):
    edit_records(moved, version="0.1.5")
    (moved.folder / "its results/corpora/parameters.jsonl").unlink()
    moved.write_config(results="its results", **EDIT)
    said = moved.ran("-n")
    assert parse_counts(said) == MADE_AGAIN
    assert "results of unknown parameters, taken as they are: corpora (8)" in said
    assert BETA.replace("1 job:", "1 job, made by 0.1.5:") in said
    start = f"results of 0.1.5, this is {__version__}: made again: allocation (settings), "
    assert start in said and "taken as they are: vocabularies" in said
    moved.ran("--touch", "--forceall")
    shutil.rmtree(moved.folder / ".snakemake")
    said = moved.ran("-n")
    assert parse_counts(said) == {} and "unknown parameters" not in said


def test_a_parameter_that_snakemake_finds_changed_has_its_name(finished):
    for path in finished.folder.glob("results/*/parameters.jsonl"):
        path.unlink()  # as of an earlier version
    finished.write_config(**EDIT)
    said = finished.ran("-n")
    assert "allocate, 1 job: settings: '--total=500' -> '--total=500 --beta=0.3'" in said
    assert f"results of a version before 0.2.0, this is {__version__}" not in said  # version.txt


@pytest.mark.parametrize(("value", "results", "text"), read_cases(__file__))
def test_the_folder_of_a_run_has_another_name_in_records(value, results, text):
    assert as_text(value, results) == text


def test_the_working_folder_has_a_name_in_records():
    assert as_text(str(Path.cwd() / "text"), "results") == "<run>/text"


def test_a_record_is_read_as_written_and_other_lines_stay(tmp_path):
    for stage in ("corpora", "report"):
        (tmp_path / stage).mkdir()
    one, two = Made(["corpora/x", "corpora/y"], None, {"a": "1"}), Made(["report/z"], "1", {})
    three = Made(["corpora/a"], "0.2.0", {"b": "ä"})
    write_parameters(tmp_path, [one, two], [])
    assert read_parameters(tmp_path) == [one, two]
    again = one._replace(outputs=["corpora/y"])
    write_parameters(tmp_path, [again, three], read_parameters(tmp_path))
    assert read_parameters(tmp_path) == [three, again, two]
    changes = find_changes("rule", one, {"a": "2", "c": ""})
    assert [change[1:4] for change in changes] == [("a", "1", "2"), ("c", "", "")]
    (tmp_path / "corpora/parameters.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match=r"corpora/parameters.jsonl: .*delete it"):
        read_parameters(tmp_path)


def test_of_long_values_the_difference_is_shown():
    before, now = excerpts("a" * 500 + "b", "a" * 500 + "c")
    assert before.startswith("...a") and before.endswith("ab") and now.endswith("ac")
    assert len(before) < 80
