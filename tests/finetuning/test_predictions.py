"""Prediction files: written and read in XTREME's form; files that do not fit the
examples are refused.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocap.errors import VocapError
from vocap.finetuning.examples import Answer, Pair, Question, TaggedSentence
from vocap.finetuning.predictions import prediction_path, read_predictions, write_predictions
from vocap.finetuning.tasks import TASKS, DataSet


def pairs(count):
    return [Pair("a", "b", "neutral")] * count


def sentences(*lengths):
    return [TaggedSentence(("word",) * length, None) for length in lengths]


def questions(*ids):
    return [Question(name, "Who?", "She did.", (Answer("She", 0),)) for name in ids]


LABELS = st.lists(st.sampled_from(TASKS["xnli"].labels))
TAGS = st.lists(st.lists(st.sampled_from(TASKS["panx"].labels), min_size=1))
ANSWERS = st.dictionaries(st.text(min_size=1), st.text(st.characters(exclude_categories=())))


@given(LABELS, TAGS, ANSWERS)
def test_files_give_back_what_was_written(tmp_path_factory, labels, tags, answers):
    folder = tmp_path_factory.mktemp("predictions")
    for task, predictions, examples in (
        ("xnli", labels, pairs(len(labels))),
        ("panx", tags, sentences(*map(len, tags))),
        ("tydiqa", answers, questions(*answers)),
    ):
        write_predictions(folder, DataSet(TASKS[task], "test", "de"), predictions)
        assert read_predictions(folder, DataSet(TASKS[task], "test", "de"), examples) == predictions


def test_files_have_the_form_of_a_submission(tmp_path):
    """As `evaluate.py` of google-research/xtreme reads them."""
    path = write_predictions(
        tmp_path, DataSet(TASKS["panx"], "test", "de"), [["B-LOC", "O"], ["O"]]
    )
    assert path == tmp_path / "test-de.tsv" and path.read_bytes() == b"B-LOC\nO\n\nO\n\n"
    path = write_predictions(
        tmp_path, DataSet(TASKS["xnli"], "dev", "de"), ["neutral", "entailment"]
    )
    assert path.read_bytes() == b"neutral\nentailment\n"
    path = write_predictions(tmp_path, DataSet(TASKS["mlqa"], "test", "zh"), {"q": "北京"})
    assert path.name == "test-zh.json" and json.loads(path.read_text("utf-8")) == {"q": "北京"}


def test_a_submission_from_elsewhere_is_read(tmp_path):
    prediction_path(tmp_path, DataSet(TASKS["panx"], "test", "de")).write_bytes(
        b"B-LOC\r\nO\r\n\r\nO"
    )
    read = read_predictions(tmp_path, DataSet(TASKS["panx"], "test", "de"), sentences(2, 1))
    assert read == [["B-LOC", "O"], ["O"]]


@pytest.mark.parametrize(
    ("task", "content", "examples", "said"),
    [
        ("xnli", None, pairs(1), r"test-de.tsv: no such file; predict test of de first"),
        ("xnli", b"neutral\nmaybe\n", pairs(2), r"line 2: 'maybe' is no label of xnli"),
        ("xnli", b"neutral\n", pairs(2), r"1 labels for 2 pairs"),
        ("panx", b"O\n\nB-CAT\n\n", sentences(1, 1), r"line 3: 'B-CAT' is no label of panx"),
        ("panx", b"O\n\nO\nO\n\n", sentences(1, 1), r"line 4: 2 tags for 1 words"),
        ("panx", b"O\n\n", sentences(1, 1), r"tags of 1 sentences for 2"),
        ("panx", b"", sentences(1), r"tags of 0 sentences for 1"),
        ("xquad", b'{"a": "x",\n"b" "y"}', questions("a"), r"not JSON \(.*line 2"),
        ("xquad", b'{"a": 1}', questions("a"), r"not an object of question id to text"),
        (
            "xquad",
            b'{"a": "x"}',
            questions("a", "b"),
            r"1 questions without an answer or not asked: b",
        ),
        (
            "xquad",
            b'{"a": "x", "c": "x"}',
            questions("a"),
            r"1 questions without an answer or not asked: c",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, task, content, examples, said):
    if content is not None:
        prediction_path(tmp_path, DataSet(TASKS[task], "test", "de")).write_bytes(content)
    with pytest.raises(VocapError, match=said):
        read_predictions(tmp_path, DataSet(TASKS[task], "test", "de"), examples)
