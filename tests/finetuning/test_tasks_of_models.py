"""Models that are fine-tuned on some of the tasks."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from vocap.finetuning.grid import make_grid
from vocap.finetuning.settings import Finetuning, Tuned
from vocap.finetuning.tasks import TASKS

XTREME = str(Path(__file__).parents[2] / "config" / "smoke-xtreme")


def test_a_model_has_its_own_tasks_and_what_is_trained_for_them():
    models = {"a": Tuned(), "b": Tuned(model="a", tasks=["mlqa", "panx"]), "c": Tuned(model="a", tasks=["pawsx"])}
    grid = make_grid(Finetuning(xtreme=XTREME, models=models, tasks=["udpos", "panx", "xquad", "mlqa"]), ["a"])
    assert grid.tasks_for("a") == ["udpos", "panx", "xquad", "mlqa"]
    assert grid.tasks_for("b") == ["panx", "mlqa"]  # in the paper's order
    assert {TASKS[task].training for task in grid.tasks_for("a")} == {"udpos", "panx", "squad"}
    assert {TASKS[task].training for task in grid.tasks_for("b")} == {"panx", "squad"}
    assert "c" not in grid.models  # pawsx is no task of this configuration
    assert grid.left_out == [("fine-tuning of c", "none of its tasks, pawsx, can run")]


def test_a_task_that_is_none_is_named():
    with pytest.raises(ValidationError, match="no task 'ner'"):
        Tuned(tasks=["ner"])
