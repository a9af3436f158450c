"""The check of an XTREME folder and its command, on made folders and on the real one."""

import os
import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.commands import vocap
from tests.finetuning.factories import PAIRS, one_question, squad, write, xtreme_folder
from vocap.errors import UsageError
from vocap.files.tsv import read_tsv
from vocap.finetuning.grid import check, described, make_grid
from vocap.finetuning.reading import parse
from vocap.finetuning.settings import Finetuning, Tuned
from vocap.finetuning.tasks import TASKS

SMOKE = str(Path(__file__).parents[2] / "config" / "smoke-xtreme")


def run(folder, tmp_path, *options):
    """The table of the command, by task, split and language, or None; its status and standard error."""
    output = tmp_path / "check.tsv"
    result = vocap("xtreme", folder, "-o", output, *options)
    rows = (
        {(row["task"], row["split"], row["language"]): row for row in read_tsv(output)}
        if output.exists()
        else None
    )
    return rows, result.returncode, result.stderr


def test_every_file_has_a_row_and_missing_ones_are_named(tmp_path):
    rows, status, said = run(xtreme_folder(tmp_path / "download"), tmp_path)
    assert status == 0
    assert len(rows) == sum(len(counts) for task in TASKS.values() for counts in task.rows.values())
    assert rows["xnli", "dev", "de"] == {
        "task": "xnli",
        "split": "dev",
        "language": "de",
        "status": "ok",
        "rows": "2",
        "known_rows": "2490",
        "labelled": "true",
        "file": "xnli/dev-de.tsv",
        "note": "not the known number of rows",
    }
    missing = rows["xnli", "dev", "fr"]
    assert (missing["status"], missing["rows"], missing["file"]) == ("missing", "", "")
    assert "xnli train: 1 of 1 files (2 rows)" in said
    assert "xnli dev: 3 of 15 files (6 rows); left out: ar bg el es fr hi ru sw th tr ur vi" in said


def test_languages_outside_the_paper_s_are_said_and_kept(tmp_path):
    rows, status, said = run(
        xtreme_folder(tmp_path / "download", ("en", "jv", "yo")), tmp_path, "--tasks=udpos,panx"
    )
    assert status == 0 and {key[0] for key in rows} == {"udpos", "panx"}
    outside = {key[::2] for key, row in rows.items() if "86" in row["note"]}
    assert outside == {("udpos", "yo"), ("panx", "jv"), ("panx", "yo")}
    assert said.count("panx test: not among the paper's 86 languages, kept: jv yo") == 1


def test_labels_kept_back_are_said(tmp_path):
    folder = xtreme_folder(tmp_path / "download")
    write(folder, "pawsx/test-de.tsv", "a\tb\r\nc\td\r\n")
    rows, status, said = run(folder, tmp_path, "--tasks=pawsx")
    assert status == 0 and rows["pawsx", "test", "de"]["labelled"] == "false"
    assert "test labels withheld, predicted and never scored: de" in said


def test_where_the_file_that_chooses_is_blank_the_training_is_left_out(tmp_path):
    """TyDiQA under the paper's rule, on a folder as XTREME's own scripts leave it."""
    folder = xtreme_folder(tmp_path / "download")
    blank = squad(("Kyoto was the capital.", [("q1", "Which city?", [("", 0)])]))
    name = "tydiqa/tydiqa-goldp-v1.1-dev/tydiqa.goldp.{}.dev.json"

    def planned(**more) -> tuple[list[str], list[str]]:
        settings = Finetuning.model_validate({"xtreme": str(folder), "tasks": ["tydiqa", "panx"], **more})
        grid = make_grid(settings, ["m"])
        return grid.tasks, [f"{what}: {why}" for what, why in grid.left_out]

    write(folder, name.format("fi"), blank)  # chooses nothing
    assert planned() == (["panx", "tydiqa"], [])
    write(folder, name.format("en"), blank)
    tasks, (left_out,) = planned()
    assert tasks == ["panx"] and left_out.startswith("fine-tuning on tydiqa: tydiqa/test-en, on which")
    assert "xTune's files, or write finetuning: selection: english-dev" in left_out
    assert planned(selection="english-dev") == (["panx", "tydiqa"], [])
    assert planned(stand_ins={"tydiqa/test": "xquad/test"}) == (["panx", "tydiqa"], [])
    write(folder, name.format("en"), "{")  # what is wrong with it, the job of its check says
    assert planned() == (["panx", "tydiqa"], [])


def test_stand_ins_are_said(tmp_path):
    folder = xtreme_folder(tmp_path / "download")
    (folder / "squad/train-v1.1.json").unlink()
    options = [
        "--stand-in=squad/train=tydiqa/train",
        "--stand-in=xnli/train=xnli/dev:1/2",
        "--stand-in=mlqa/test=mlqa/dev",
    ]
    rows, status, said = run(folder, tmp_path, *options)
    assert status == 0
    assert rows["xquad", "train", "en"]["note"] == "stand-in: tydiqa/train"
    assert rows["xnli", "train", "en"]["rows"] == "1"
    assert rows["mlqa", "test", "zh"]["note"] == "stand-in: mlqa/dev; the file itself is there and is not read"
    assert "xquad train: stand-in: tydiqa/train: en" in said
    assert "squad/train" in run(folder, tmp_path, "--tasks=mlqa")[2]  # without it: cannot be trained


def test_broken_files_are_all_named_and_nothing_is_written(tmp_path):
    folder = xtreme_folder(tmp_path / "download")
    write(folder, "udpos/dev-en.tsv", "a\tNN\n")
    write(folder, "xnli/test-de.tsv", "")
    rows, status, said = run(folder, tmp_path)
    assert status == 1 and rows is None and "Traceback" not in said
    assert "udpos/dev-en.tsv, line 1: 'NN' is none of" in said and "xnli/test-de.tsv: the file is empty" in said


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("xnli/dev-zh.tsv", PAIRS["xnli"] * 2, "xnli/dev-zh.tsv: 4 rows, xnli/dev-de.tsv has 2.*row 3 has no"),
        ("pawsx/test-de.tsv", "a\tb\t1\n", "pawsx/test-de.tsv: 1 rows, pawsx/test-en.tsv has 2.*row 2 has no"),
    ],
)
def test_translations_have_equal_rows(tmp_path, name, content, message):
    folder = xtreme_folder(tmp_path / "download")
    write(folder, name, content)
    task, (split, language) = name.split("/")[0], name.split("/")[1].removesuffix(".tsv").split("-")
    files = check(folder, [task])
    broken = [file for file in files if file["status"] == "broken"]
    assert [(file["split"], file["language"]) for file in broken] == [(split, language)]
    assert re.search(message, broken[0]["note"])


def test_the_file_with_the_known_rows_is_right(tmp_path):
    """Against a majority of files that were cut."""
    folder = xtreme_folder(tmp_path / "download", ("de", "en", "zh"))
    write(folder, "pawsx/dev-en.tsv", "a\tb\t1\n" * 2000)
    broken = [
        file["language"]
        for file in check(folder, ["pawsx"])
        if file["status"] == "broken" and file["split"] == "dev"
    ]
    assert broken == ["de", "zh"]


def test_one_file_alone_is_enough(tmp_path):
    folder = tmp_path / "download"
    write(folder, "xquad/xquad.hi.json", one_question())
    files = check(folder)
    assert [file["language"] for file in files if file["status"] == "ok"] == ["hi"]
    assert any("the task cannot be trained" in line for line in described(files))


def test_folders_that_cannot_be_meant(tmp_path):
    with pytest.raises(UsageError, match="no such folder"):
        check(tmp_path / "nosuch")
    xtreme_folder(tmp_path / "download")
    with pytest.raises(UsageError, match=r"holds no file of .*; did you mean .*download\?"):
        check(tmp_path)
    assert run(tmp_path / "download", tmp_path, "--tasks=nosuch")[1] == 2
    assert run(tmp_path / "download", tmp_path, "--stand-in=xnli/train")[1] == 2
    with pytest.raises(UsageError, match="take one with the same labels"):
        check(tmp_path / "download", ["xnli"], parse({"xnli/train": "panx/dev"}))


@pytest.mark.skipif("VOCAP_DATA" not in os.environ, reason="needs XTREME's files: set VOCAP_DATA")
def test_the_real_folder():
    files = check(Path(os.environ["VOCAP_DATA"]) / "xtreme")
    assert {file["status"] for file in files} == {"ok", "missing"}
    there = [file for file in files if file["status"] == "ok"]
    assert len(there) == 128 and not any("known number" in file["note"] for file in there)
    assert [(file["task"], file["language"]) for file in there if not file["labelled"]] == [("panx", "af")]


def test_a_model_has_its_own_tasks_and_what_is_trained_for_them():
    models = {"a": Tuned(), "b": Tuned(model="a", tasks=["mlqa", "panx"]), "c": Tuned(model="a", tasks=["pawsx"])}
    grid = make_grid(Finetuning(xtreme=SMOKE, models=models, tasks=["udpos", "panx", "xquad", "mlqa"]), ["a"])
    assert grid.tasks_for("a") == ["udpos", "panx", "xquad", "mlqa"]
    assert grid.tasks_for("b") == ["panx", "mlqa"]  # in the paper's order
    assert {TASKS[task].training for task in grid.tasks_for("a")} == {"udpos", "panx", "squad"}
    assert {TASKS[task].training for task in grid.tasks_for("b")} == {"panx", "squad"}
    assert "c" not in grid.models  # pawsx is no task of this configuration
    assert grid.left_out == [("fine-tuning of c", "none of its tasks, pawsx, can run")]


def test_a_task_that_is_none_is_named():
    with pytest.raises(ValidationError, match="no task 'ner'"):
        Tuned(tasks=["ner"])
