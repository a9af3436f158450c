"""Scores of a task's examples, and the parts that any sample of examples is scored from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocap.errors import VocapError
from vocap.finetuning.scores import parts, ratio, score
from vocap.finetuning.tasks import TASKS, Answer, Pair, Question, Sentence

TAGS = TASKS["panx"].labels
ANSWERS = ("the cat", "cat", "a red cat", "", "北京")


def pair(label):
    return Pair("a", "b", label)


def question(number, *answers):
    return Question(str(number), "Which?", "a cat", tuple(Answer(text, 0) for text in answers))


def test_each_task_has_its_own_measures():
    assert score(TASKS["pawsx"], "de", [pair("0"), pair("1")], ["0", "0"]) == {"acc": 50}
    sentences = [Sentence(("x", "y"), ("B-LOC", "O"))]
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
        ("udpos", [Sentence(("x",), None)], [["X"]]),
        ("tydiqa", [question(1)], {"1": ""}),
        ("xnli", [], []),
    ],
)
def test_blanks_are_never_scored(task, examples, predictions):
    for function in (score, parts):
        with pytest.raises(VocapError, match="have no label"):
            function(TASKS[task], "de", examples, predictions)


def test_questions_that_share_an_id_are_refused():
    with pytest.raises(VocapError, match="share an id"):
        score(TASKS["tydiqa"], "de", [question(1, "x"), question(1, "y")], {"1": "x"})


def labelled(task):
    """Examples and predictions of a task, drawn."""
    if task.kind == "pairs":
        labels = st.tuples(*2 * [st.sampled_from(task.labels)])
        rows = st.lists(labels, min_size=1, max_size=8)
        return rows.map(lambda rows: ([pair(gold) for gold, _ in rows], [pred for _, pred in rows]))
    if task.kind == "tags":
        words = st.lists(st.tuples(*2 * [st.sampled_from(TAGS)]), min_size=1, max_size=6)

        def sentences(drawn):
            examples = [Sentence(("w",) * len(one), tuple(gold for gold, _ in one)) for one in drawn]
            return examples, [[pred for _, pred in one] for one in drawn]

        return st.lists(words, min_size=1, max_size=6).map(sentences)
    answer = st.sampled_from(ANSWERS)
    rows = st.lists(st.tuples(st.lists(answer, min_size=1, max_size=3), answer), min_size=1, max_size=6)
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
            predictions if isinstance(predictions, dict) else [predictions[place] for place in sorted(places)]
        )
        expected = score(task, "zh", some, answers)
        for metric, values in parts(task, "zh", examples, predictions).items():
            assert values.shape == (len(examples), 2)
            assert ratio(values[sorted(places)].sum(axis=0)) == pytest.approx(expected[metric])

    check()
