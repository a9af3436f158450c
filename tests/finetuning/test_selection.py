"""Development files, held-out questions, and the choice of a setting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocap.errors import UsageError, VocapError
from vocap.finetuning.scores import Score, choose
from vocap.finetuning.tasks import SELECTIONS, TASKS, TRAININGS, Answer, Question, development, held_out


def test_the_paper_chooses_by_all_languages_and_tydiqa_by_the_english_test_file():
    for training in ("xnli", "pawsx", "udpos", "panx"):
        files = development(training, "paper")
        assert (files.task, files.split, files.languages) == (training, "dev", TASKS[training].dev_languages)
    squad = development("squad", "paper")
    assert (squad.task, squad.split, squad.languages) == ("mlqa", "dev", TASKS["mlqa"].languages)
    tydiqa = development("tydiqa", "paper")
    assert (tydiqa.split, tydiqa.languages, tydiqa.label) == ("test", ("en",), "chosen on the English test file")
    assert [development(name, "paper").metric for name in TRAININGS] == ["acc", "acc", "f1", "f1", "f1", "f1"]


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
    return [Score(*run, "dev", code, "f1", value) for run, one in values.items() for code, value in one.items()]


def test_of_equals_the_lowest_rate_and_fewest_epochs():
    assert choose(scores({(rate, 4, 1): {"en": 1.0} for rate in (3e-5, 1e-5, 2e-5)})).learning_rate == 1e-5
