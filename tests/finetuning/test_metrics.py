"""The measures against the official scripts' own numbers, the definitions, and cases
worked by hand.
"""

import re
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import read_cases
from vocap.errors import VocapError
from vocap.files.io import read_object
from vocap.finetuning import metrics

OFFICIAL = read_object(Path(__file__).with_name("official_scores.json"))
CASES = read_cases(__file__)
UPOS = ["ADJ", "CCONJ", "INTJ", "NOUN", "SCONJ", "SYM", "X"]
IOB = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


# --- the official scripts' numbers


def test_tags_as_seqeval_scores_them():
    for case in OFFICIAL["tags"]:
        expected = {name: case[name] for name in ("precision", "recall", "f1")}
        assert metrics.chunk_f1(case["gold"], case["pred"]) == expected, case


def test_answers_as_the_script_of_squad_scores_them():
    for case in OFFICIAL["squad"]:
        expected = {name: case[name] for name in ("exact_match", "f1")}
        assert metrics.squad_score(case["predictions"], case["references"]) == expected, case


def test_answers_as_the_script_of_mlqa_scores_them():
    for case in OFFICIAL["mlqa"]:
        expected = {name: case[name] for name in ("exact_match", "f1")}
        found = metrics.mlqa_score(case["predictions"], case["references"], case["language"])
        assert found == expected, case


# --- tags


def test_nothing_to_find_scores_nothing():
    zero = {"precision": 0, "recall": 0, "f1": 0}
    assert (
        metrics.chunk_f1([], [])
        == metrics.chunk_f1([[]], [[]])
        == metrics.chunk_f1([["O"]], [["O"]])
        == zero
    )


def test_a_single_sentence_stands_for_a_list_of_one():
    gold, pred = ["B-PER", "O", "B-LOC"], ["B-PER", "O", "O"]
    assert metrics.chunk_f1(gold, pred) == metrics.chunk_f1([gold], [pred])


def bounds_of_iob(tags):
    """Chunks where every I follows a neighbour of its type: read off the text with a
    pattern.
    """
    text = "".join("O " if tag == "O" else tag[0] + tag[2] for tag in tags)
    return {
        (match[1], match.start() // 2, match.end() // 2)
        for match in re.finditer(r"B(\w)(?:I\1)*", text)
    }


def runs(tags):
    """Chunks of tags without prefix: equal neighbours, and every tag of S alone."""
    place, found = 0, set()
    for tag, group in groupby(tags):
        length = len(list(group))
        step = 1 if tag.startswith("S") else length
        found |= {(tag, place + start, place + start + step) for start in range(0, length, step)}
        place += length
    return found


def repaired(tags):
    """I without a left neighbour of its type becomes O, so that the sentence keeps to
    IOB2.
    """
    before, kept = "O", []
    for tag in tags:
        before = "O" if tag.startswith("I") and before[1:] != tag[1:] else tag
        kept.append(before)
    return kept


def sentences(tags):
    pair = st.integers(0, 6).flatmap(
        lambda words: st.tuples(
            *2 * [st.lists(st.sampled_from(tags), min_size=words, max_size=words)]
        )
    )
    return st.lists(pair, max_size=5)


@pytest.mark.parametrize(("tags", "chunks"), [(IOB, bounds_of_iob), (UPOS, runs)])
def test_chunks_by_their_definition(tags, chunks):
    @given(sentences(tags))
    def check(pairs):
        if tags is IOB:
            pairs = [tuple(map(repaired, pair)) for pair in pairs]
        gold, pred = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        expected = [[len(chunks(a) & chunks(b)), len(chunks(b)), len(chunks(a))] for a, b in pairs]
        assert metrics.chunk_counts(gold, pred).tolist() == expected
        correct, predicted, true = np.sum(expected, axis=0, initial=0) if expected else (0, 0, 0)
        f1 = 200 * correct / (predicted + true) if correct else 0
        assert metrics.chunk_f1(gold, pred)["f1"] == pytest.approx(f1)

    check()


@pytest.mark.parametrize(("measure", "gold", "pred"), CASES["misfits"])
def test_labels_that_do_not_fit_are_refused(measure, gold, pred):
    with pytest.raises(VocapError):
        getattr(metrics, measure)(gold, pred)


# --- labels


def test_accuracy():
    assert metrics.accuracy(["a", "b", "c"], ["a", "x", "c"]) == pytest.approx(66.66667)
    assert metrics.accuracy([0, 1], [0, 1]) == 100


# --- answers


def test_the_best_reference_counts_and_ids_without_prediction_are_wrong():
    references = {"1": ["red fox", "the fox"], "2": ["hen"], "3": []}
    score = metrics.squad_score({"1": "fox", "other": "hen"}, references)
    assert score == pytest.approx({"exact_match": 100 / 3, "f1": 100 / 3})


def test_questions_that_cannot_be_scored_are_refused():
    with pytest.raises(VocapError, match="no reference answers"):
        metrics.squad_score({"1": "cat"}, {})
    with pytest.raises(VocapError, match="question 1"):
        metrics.squad_score({"1": "cat"}, {"1": []})
    with pytest.raises(VocapError, match="fr: MLQA has no such language"):
        metrics.mlqa_score({"1": "chat"}, {"1": ["chat"]}, "fr")


# --- the average of Table 1; the printed ones are in tests/report/test_paper.py


@pytest.mark.parametrize("scores", CASES["no average"])
def test_an_average_without_its_numbers_is_refused(scores):
    with pytest.raises(VocapError):
        metrics.paper_average(scores)
