"""Real XTREME files, predictions made from their gold by a rule: the numbers that the official scripts printed.

Printed by seqeval v0.0.12, facebookresearch/MLQA @24bf470b and SQuAD's script in google-research/xtreme @838c13b6.
"""

import os
from pathlib import Path

import pytest

from tests.finetuning.factories import read
from vocap.finetuning.scores import score
from vocap.finetuning.tasks import TASKS

pytestmark = pytest.mark.skipif(
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


@pytest.mark.parametrize(
    ("name", "split", "language", "precision", "recall", "f1"),
    [
        ("panx", "dev", "en", 51.44712962078517, 76.14873462462887, 61.40690913236803),
        ("panx", "dev", "ml", 55.15669515669516, 81.68776371308016, 65.85034013605441),
        ("panx", "dev", "my", 59.375, 89.76377952755905, 71.47335423197492),
        ("udpos", "test", "th", 85.96545501417891, 87.83121740504663, 86.88832143415499),
        ("udpos", "test", "mr", 87.24035608308606, 88.28828828828829, 87.76119402985074),
    ],
)
def test_tags(name, split, language, precision, recall, f1):
    task = TASKS[name]
    examples = read(Path(os.environ["VOCAP_DATA"]) / "xtreme", task, split, language)
    scores = score(task, language, examples, moved_tags(examples, task.labels))
    assert scores == {"precision": precision, "recall": recall, "f1": f1}


@pytest.mark.parametrize(
    ("name", "split", "language", "exact_match", "f1"),
    [
        ("mlqa", "dev", "ar", 38.684719535783366, 79.32263455683835),
        ("mlqa", "dev", "de", 34.9609375, 77.38476535940735),
        ("mlqa", "dev", "en", 41.55052264808362, 78.2716380265254),
        ("mlqa", "dev", "es", 40.8, 81.992927230293),
        ("mlqa", "dev", "hi", 33.13609467455621, 76.76407843525942),
        ("mlqa", "dev", "vi", 37.37769080234834, 80.69772592061561),
        ("mlqa", "dev", "zh", 17.261904761904763, 78.62288114482716),
        ("xquad", "test", "th", 29.41176470588235, 64.10302243249636),
        ("xquad", "test", "el", 34.95798319327731, 77.8740810803133),
        ("tydiqa", "test", "bn", 26.548672566371682, 65.46866936637886),
        ("tydiqa", "test", "ko", 22.10144927536232, 49.16340213432691),
    ],
)
def test_answers(name, split, language, exact_match, f1):
    task = TASKS[name]
    questions = read(Path(os.environ["VOCAP_DATA"]) / "xtreme", task, split, language)
    scores = score(task, language, questions, moved_answers(questions))
    assert scores == {"exact_match": exact_match, "f1": f1}
