"""From predictions and labelled examples to the measures of a task."""

from collections.abc import Sequence

import numpy as np

from vocap.finetuning import metrics
from vocap.finetuning.examples import Example, is_labelled
from vocap.finetuning.predictions import Predictions
from vocap.finetuning.tasks import Task


def score(task: Task, language: str, examples: Sequence[Example], predictions: Predictions) -> dict[str, float]:
    """All measures of one language in percent, by the names of contract.md.

    Pairs: acc. Tags: precision, recall, f1. Spans: exact_match, f1. Raises ScoringError where an example has no
    label, or predictions do not fit.
    """
    _check_labelled(examples)
    if task.kind == "pairs":
        return {"acc": metrics.accuracy([example.label for example in examples], predictions)}
    if task.kind == "tags":
        return metrics.chunk_f1([example.tags for example in examples], predictions)
    references = _references(examples)
    if task.name == "mlqa":
        return metrics.mlqa_score(predictions, references, language)
    return metrics.squad_score(predictions, references)


def parts(
    task: Task, language: str, examples: Sequence[Example], predictions: Predictions
) -> dict[str, np.ndarray]:
    """What each example adds to the measures that count: float64 [examples, 2], numerators and denominators.

    The measure of any multiset of examples is 100 times the ratio of the two sums, 0 where both are 0. Raises
    ScoringError as `score`.
    """
    _check_labelled(examples)
    if task.kind == "tags":
        counts = metrics.chunk_counts([example.tags for example in examples], predictions)
        correct, predicted, expected = counts.T
        return {"f1": np.stack([2.0 * correct, 1.0 * predicted + expected], axis=1)}
    if task.kind == "pairs":
        columns = {"acc": metrics.label_hits([example.label for example in examples], predictions)}
    else:
        words = metrics.mlqa_words(language) if task.name == "mlqa" else metrics.squad_words
        scores = metrics.answer_scores(predictions, _references(examples), words)
        columns = {"exact_match": scores[:, 0], "f1": scores[:, 1]}
    return {name: np.stack([values, np.ones(len(values))], axis=1) for name, values in columns.items()}


def ratio(sums: np.ndarray) -> np.ndarray:
    """Percent from summed `parts`: float64 [..., 2] to [...]."""
    numerator, denominator = sums[..., 0], sums[..., 1]
    return 100 * np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def _check_labelled(examples: Sequence[Example]) -> None:
    blank = sum(not is_labelled(example) for example in examples)
    if blank or not examples:
        raise metrics.ScoringError(
            f"{blank} of {len(examples)} examples have no label: XTREME keeps those of its test files back; "
            "score what has all of them (xTune's scripts leave them in)"
        )


def _references(examples: Sequence[Example]) -> dict[str, list[str]]:
    references = {example.id: [answer.text for answer in example.answers] for example in examples}
    if len(references) < len(examples):
        raise metrics.ScoringError(
            f"{len(examples) - len(references)} questions share an id with another; answers cannot be told apart"
        )
    return references
