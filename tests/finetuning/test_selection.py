"""The grid of runs, development files, held-out questions, and the choice of a
setting.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.finetuning.factories import squad, write, xtreme_folder
from vocap.errors import UsageError, VocapError
from vocap.finetuning.examples import Answer, Question, held_out
from vocap.finetuning.scores import Score, choose_setting
from vocap.finetuning.settings import Finetuning, Tuned, make_grid
from vocap.finetuning.tasks import SELECTIONS, TASKS, TRAININGS, development


def test_the_paper_chooses_by_all_languages_and_tydiqa_by_the_english_test_file():
    for training in ("xnli", "pawsx", "udpos", "panx"):
        files = development(training, "paper")
        assert (files.task, files.split, files.languages) == (
            training,
            "dev",
            TASKS[training].dev_languages,
        )
    squad = development("squad", "paper")
    assert (squad.task, squad.split, squad.languages) == ("mlqa", "dev", TASKS["mlqa"].languages)
    tydiqa = development("tydiqa", "paper")
    assert (tydiqa.split, tydiqa.languages, tydiqa.label) == (
        "test",
        ("en",),
        "chosen on the English test file",
    )
    assert [development(name, "paper").metric for name in TRAININGS] == [
        "acc",
        "acc",
        "f1",
        "f1",
        "f1",
        "f1",
    ]


def test_english_dev_never_looks_at_a_test_file_or_another_language():
    for training in TRAININGS:
        files = development(training, "english-dev")
        assert files.split != "test" and files.languages == ("en",)
    with pytest.raises(UsageError, match="the rules paper, english-dev"):
        development("xnli", "best")
    assert SELECTIONS == ("paper", "english-dev")


def question(number, context):
    return Question("same id", "Who?", f"{context} did.", (Answer(str(context), 0),))


@given(st.lists(st.integers(0, 30), min_size=1))
def test_held_out_questions_are_a_tenth_of_the_contexts_whole(contexts):
    questions = [question(number, context) for number, context in enumerate(contexts)]
    distinct = len(set(contexts))
    if distinct < 2:
        with pytest.raises(VocapError, match="too few to hold one out"):
            held_out(questions)
        return
    kept, held = held_out(questions)
    assert len(kept) + len(held) == len(questions)
    of_kept, of_held = ({one.context for one in part} for part in (kept, held))
    assert not of_kept & of_held and len(of_held) == max(1, round(distinct / 10))
    assert len({one.id for one in held}) == len(held)
    again = held_out(questions[::-1])[1]
    assert {one.context for one in again} == of_held


def scores(values):
    """Of each run (learning rate, epochs, seed), its values by language."""
    return [
        Score(*run, "dev", code, "f1", value)
        for run, one in values.items()
        for code, value in one.items()
    ]


def test_of_equals_the_lowest_rate_and_fewest_epochs():
    chosen = choose_setting(scores({(rate, 4, 1): {"en": 1.0} for rate in (3e-5, 1e-5, 2e-5)}))
    assert (chosen["learning_rate"], chosen["epochs"], chosen["seeds"]) == (1e-5, 4, [1])


SMOKE = str(Path(__file__).parents[2] / "config" / "smoke-xtreme")


def test_where_the_file_that_chooses_is_blank_the_training_is_left_out(tmp_path):
    """TyDiQA under the paper's rule, on a folder as XTREME's own scripts leave it."""
    folder = xtreme_folder(tmp_path / "download")
    blank = squad(("Kyoto was the capital.", [("q1", "Which city?", [("", 0)])]))
    name = "tydiqa/tydiqa-goldp-v1.1-dev/tydiqa.goldp.{}.dev.json"

    def planned(**more) -> tuple[list[str], list[str]]:
        settings = Finetuning.model_validate(
            {"xtreme": str(folder), "tasks": ["tydiqa", "panx"], **more}
        )
        grid = make_grid(settings, ["m"])
        return grid.tasks, [f"{what}: {why}" for what, why in grid.left_out]

    write(folder, name.format("fi"), blank)  # chooses nothing
    assert planned() == (["panx", "tydiqa"], [])
    write(folder, name.format("en"), blank)
    tasks, (left_out,) = planned()
    assert tasks == ["panx"] and left_out.startswith(
        "fine-tuning on tydiqa: tydiqa/test-en, on which"
    )
    assert "xTune's files, or write finetuning: selection: english-dev" in left_out
    assert planned(selection="english-dev") == (["panx", "tydiqa"], [])
    write(folder, name.format("en"), "{")  # what is wrong with it, the job of its inputs says
    assert planned() == (["panx", "tydiqa"], [])


def test_a_model_has_its_own_tasks_and_what_is_trained_for_them():
    models = {
        "a": Tuned(),
        "b": Tuned(model="a", tasks=["mlqa", "panx"]),
        "c": Tuned(model="a", tasks=["pawsx"]),
    }
    grid = make_grid(
        Finetuning(xtreme=SMOKE, models=models, tasks=["udpos", "panx", "xquad", "mlqa"]), ["a"]
    )
    assert grid.tasks_for("a") == ["udpos", "panx", "xquad", "mlqa"]
    assert grid.tasks_for("b") == ["panx", "mlqa"]  # in the paper's order
    assert {TASKS[task].training for task in grid.tasks_for("a")} == {"udpos", "panx", "squad"}
    assert {TASKS[task].training for task in grid.tasks_for("b")} == {"panx", "squad"}
    assert "c" not in grid.models  # pawsx is no task of this configuration
    assert grid.left_out == [("fine-tuning of c", "none of its tasks, pawsx, can run")]


def test_a_task_that_is_none_is_named():
    with pytest.raises(ValidationError, match="no task 'ner'"):
        Tuned(tasks=["ner"])
