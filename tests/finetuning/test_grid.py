"""What a configuration can run, by the files of an XTREME folder."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.finetuning.factories import squad, write, xtreme_folder
from vocap.finetuning.settings import Finetuning, Tuned, make_grid
from vocap.finetuning.tasks import TASKS

SMOKE = str(Path(__file__).parents[2] / "config" / "smoke-xtreme")


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
    write(folder, name.format("en"), "{")  # what is wrong with it, the job of its inputs says
    assert planned() == (["panx", "tydiqa"], [])


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
