"""What subwords alone cost in span extraction: scores of gold answers after their way to tokens and back."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from vocap.finetuning.encoding.answers import MAX_ANSWER, best_answers
from vocap.finetuning.encoding.features import SpanFeatures
from vocap.finetuning.encoding.inputs import InputEncoder
from vocap.finetuning.encoding.spans import encode_questions, encoded, find_tokens
from vocap.finetuning.examples import Question, is_labelled
from vocap.finetuning.metrics import mlqa_score, squad_score
from vocap.finetuning.reading import NONE, StandIns, locate, read
from vocap.finetuning.tasks import TASKS, Task

COLUMNS = ("task", "split", "language", "questions", "pieces_exact_match", "pieces_f1", "exact_match", "f1")


def ceiling(
    examples: Sequence[Question], tokenizer, task: Task, language: str
) -> tuple[float, float, float, float]:
    """EM and F1 (percent) of gold answers: by the bounds of pieces alone, and by all that limits an answer.

    The second pair is that of a model that is always right: windows, their best-context rule and the limit of
    `MAX_ANSWER` subwords take their share too. Of several references, the one that comes back best is taken.
    """
    encoder = InputEncoder.of(tokenizer)
    returned = round_trips(examples, encoder)
    best = [_nearest(example, texts) for example, texts in zip(examples, returned, strict=True)]
    pieces = _score(examples, [texts[place] for texts, place in zip(returned, best, strict=True)], task, language)
    first = [
        replace(example, answers=(example.answers[place],)) for example, place in zip(examples, best, strict=True)
    ]
    features = encode_questions(first, encoder, task.max_length)
    answers = best_answers(features, first, *oracle_scores(features))
    whole = _score(examples, answers, task, language)
    return pieces["exact_match"], pieces["f1"], whole["exact_match"], whole["f1"]


def round_trips(examples: Sequence[Question], tokenizer) -> list[list[str]]:
    """Every answer of every question as its first to last token give it back from the context."""
    texts: list[list[str]] = []
    for number, _, _, places in encoded(examples, InputEncoder.of(tokenizer)):
        context = examples[number].context
        spans = [find_tokens(places, answer) for answer in examples[number].answers]
        texts.append(["" if span is None else context[places[span[0], 0] : places[span[1], 1]] for span in spans])
    return texts


def _nearest(example: Question, texts: list[str]) -> int:
    same = [text == answer.text for text, answer in zip(texts, example.answers, strict=True)]
    return same.index(True) if any(same) else 0


def oracle_scores(features: SpanFeatures) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Scores of starts and ends (float [length] of each input) of a model that knows the answers.

    Of an answer with more than `MAX_ANSWER` subwords it takes the first ones.
    """
    starts, ends = [], []
    for number, length in enumerate(features.ids.lengths):
        start, end = np.zeros(length), np.zeros(length)
        if first := features.start[number]:
            start[first] = 1
            end[min(features.end[number], first + MAX_ANSWER - 1)] = 1
        starts.append(start)
        ends.append(end)
    return starts, ends


def _score(examples: Sequence[Question], answers: Sequence[str], task: Task, language: str) -> dict[str, float]:
    # numbered, as ids of a training file repeat
    predictions = {str(number): answer for number, answer in enumerate(answers)}
    references = {
        str(number): [answer.text for answer in example.answers] for number, example in enumerate(examples)
    }
    if task.name == "mlqa":
        return mlqa_score(predictions, references, language)
    return squad_score(predictions, references)


def ceilings(
    folder: Path, tokenizer, tasks: Collection[str] = tuple(TASKS), stand_ins: StandIns = NONE
) -> Iterator[tuple]:
    """Rows of `COLUMNS`: every dev and test file of these tasks that is there and has answers."""
    encoder = InputEncoder.of(tokenizer)
    for task in TASKS.values():
        if task.kind != "spans" or task.name not in tasks:
            continue
        for split in ("dev", "test"):
            for language in task.languages_of(split):
                if locate(folder, task, split, language, stand_ins) is None:
                    continue
                examples = read(folder, task, split, language, stand_ins)
                if is_labelled(examples[0]):
                    reached = ceiling(examples, encoder, task, language)
                    yield (task.name, split, language, len(examples), *reached)
