"""Prediction files: written and read in XTREME's form; files that do not fit the
examples are refused.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import read_cases
from vocap.errors import VocapError
from vocap.files.io import read_object
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
    assert path.name == "test-zh.json" and read_object(path) == {"q": "北京"}


MAKE = {"xnli": lambda ids: pairs(len(ids)), "panx": lambda ids: sentences(*ids)}


@pytest.mark.parametrize(("task", "content", "of"), read_cases(__file__)["refused"])
def test_another_file_is_refused(tmp_path, task, content, of):
    found = DataSet(TASKS[task], "test", "de")
    prediction_path(tmp_path, found).write_text(content)
    with pytest.raises(VocapError, match=r"test-de\.\w+ is not what `vocap finetune` writes: make"):
        read_predictions(tmp_path, found, MAKE.get(task, lambda ids: questions(*ids))(of))
