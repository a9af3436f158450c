"""Scores of a task's examples, also by official scripts on real files, and parts that
samples are scored from.
"""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import read_cases
from tests.finetuning.factories import read
from vocap.errors import VocapError
from vocap.finetuning.comparison import score_parts
from vocap.finetuning.examples import Answer, Pair, Question, TaggedSentence
from vocap.finetuning.scores import score
from vocap.finetuning.tasks import TASKS

TAGS = TASKS["panx"].labels
ANSWERS = ("the cat", "cat", "a red cat", "", "北京")


def pair(label):
    return Pair("a", "b", label)


def question(number, *answers):
    return Question(str(number), "Which?", "a cat", tuple(Answer(text, 0) for text in answers))


def test_each_task_has_its_own_measures():
    assert score(TASKS["pawsx"], "de", [pair("0"), pair("1")], ["0", "0"]) == {"acc": 50}
    sentences = [TaggedSentence(("x", "y"), ("B-LOC", "O"))]
    assert score(TASKS["panx"], "de", sentences, [["B-LOC", "B-PER"]])["precision"] == 50
    answered = [question(1, "los gatos")]
    assert score(TASKS["mlqa"], "es", answered, {"1": "gatos"}) == {"exact_match": 100, "f1": 100}
    assert score(TASKS["xquad"], "es", answered, {"1": "gatos"}) == pytest.approx(
        {"exact_match": 0, "f1": 200 / 3}
    )


@pytest.mark.parametrize(
    ("task", "examples", "predictions"),
    [
        ("xnli", [pair("neutral"), pair(None)], ["neutral", "neutral"]),
        ("udpos", [TaggedSentence(("x",), None)], [["X"]]),
        ("tydiqa", [question(1)], {"1": ""}),
        ("xnli", [], []),
    ],
)
def test_blanks_are_never_scored(task, examples, predictions):
    for function in (score, score_parts):
        with pytest.raises(VocapError, match="have no label"):
            function(TASKS[task], "de", examples, predictions)


def labelled(task):
    """Examples and predictions of a task, drawn."""
    if task.kind == "pairs":
        labels = st.tuples(*2 * [st.sampled_from(task.labels)])
        rows = st.lists(labels, min_size=1, max_size=8)
        return rows.map(lambda rows: ([pair(gold) for gold, _ in rows], [pred for _, pred in rows]))
    if task.kind == "tags":
        words = st.lists(st.tuples(*2 * [st.sampled_from(TAGS)]), min_size=1, max_size=6)

        def sentences(drawn):
            examples = [
                TaggedSentence(("w",) * len(one), tuple(gold for gold, _ in one)) for one in drawn
            ]
            return examples, [[pred for _, pred in one] for one in drawn]

        return st.lists(words, min_size=1, max_size=6).map(sentences)
    answer = st.sampled_from(ANSWERS)
    rows = st.lists(
        st.tuples(st.lists(answer, min_size=1, max_size=3), answer), min_size=1, max_size=6
    )
    return rows.map(
        lambda rows: (
            [question(number, *answers) for number, (answers, _) in enumerate(rows)],
            {str(number): text for number, (_, text) in enumerate(rows)},
        )
    )


@pytest.mark.parametrize("name", ["pawsx", "panx", "xquad", "mlqa"])
def test_parts_of_any_examples_sum_up_to_their_score(name):
    task = TASKS[name]

    @given(labelled(task), st.data())
    def check(drawn, data):
        examples, predictions = drawn
        places = data.draw(st.sets(st.sampled_from(range(len(examples))), min_size=1))
        some = [examples[place] for place in sorted(places)]
        answers = (
            predictions
            if isinstance(predictions, dict)
            else [predictions[place] for place in sorted(places)]
        )
        expected = score(task, "zh", some, answers)
        for metric, values in score_parts(task, "zh", examples, predictions).items():
            assert values.shape == (len(examples), 2)
            top, bottom = values[sorted(places)].sum(axis=0)
            percent = 100 * top / bottom if bottom else 0
            assert percent == pytest.approx(expected[metric])

    check()


needs_data = pytest.mark.skipif(
    "VOCAP_DATA" not in os.environ, reason="needs real files: set VOCAP_DATA to the data folder"
)


def moved_tags(examples, labels):
    """Every tenth tag of the file becomes another."""
    sentences, number = [], 0
    for example in examples:
        sentences.append([])
        for tag in example.tags:
            number += 1
            place = labels.index(tag) + number if number % 10 == 0 else labels.index(tag)
            sentences[-1].append(labels[place % len(labels)])
    return sentences


def moved_answers(questions):
    """Up to two characters more before an answer; one fewer to three more after it."""
    answers = {}
    for number, question in enumerate(questions):
        gold = question.answers[0]
        start, end = max(0, gold.start - number % 3), gold.start + len(gold.text) + number % 5 - 1
        answers[question.id] = question.context[start:end]
    return answers


@needs_data
@pytest.mark.parametrize("case", read_cases(__file__), ids=str)
def test_scores_are_those_of_the_official_scripts(case):
    name, split, language = case.split()
    task = TASKS[name]
    examples = read(Path(os.environ["VOCAP_DATA"]) / "xtreme", task, split, language)
    if task.kind == "tags":
        predicted = moved_tags(examples, task.labels)
    else:
        predicted = moved_answers(examples)
    assert score(task, language, examples, predicted) == read_cases(__file__)[case]
