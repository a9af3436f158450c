"""Upper bounds of span extraction: scores of gold answers after encoding to tokens and decoding."""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from vocap.finetuning.encoding import MAX_ANSWER, best_answers, encode_questions, find_tokens
from vocap.finetuning.features import SpanFeatures
from vocap.finetuning.formats import Answer, Question, is_labelled
from vocap.finetuning.input_encoder import InputEncoder
from vocap.finetuning.metrics import span_score
from vocap.finetuning.reading import NONE, StandIns, locate, read
from vocap.finetuning.tasks import TASKS, Task

COLUMNS = ("task", "split", "language", "questions", "pieces_exact_match", "pieces_f1", "exact_match", "f1")


def ceiling(
    examples: Sequence[Question], tokenizer, task: Task, language: str
) -> tuple[float, float, float, float]:
    """EM and F1 (percent) of gold answers: by the bounds of pieces alone, and by all that limits an answer.

    The second pair is that of a model that is always right: windows, the choice of the window with most context
    and the limit of `MAX_ANSWER` subwords apply too. Of several references, the best decoded one is taken.
    """
    features = encode_questions(examples, tokenizer, task.max_length)
    returned = round_trips(features, examples)
    nearest = [_nearest(example, texts) for example, texts in zip(examples, returned, strict=True)]
    pieces = [texts[place] for texts, place in zip(returned, nearest, strict=True)]
    chosen = [example.answers[place] for example, place in zip(examples, nearest, strict=True)]
    whole = best_answers(features, examples, *oracle_scores(features, chosen))
    scores = [_score(examples, answers, task, language) for answers in (pieces, whole)]
    return scores[0]["exact_match"], scores[0]["f1"], scores[1]["exact_match"], scores[1]["f1"]


def round_trips(features: SpanFeatures, examples: Sequence[Question]) -> list[list[str]]:
    """Every answer of every question, decoded from its first to its last token."""
    texts: list[list[str]] = []
    for example, places in zip(examples, context_offsets(features), strict=True):
        spans = [find_tokens(places, answer) for answer in example.answers]
        texts.append(
            ["" if span is None else example.context[places[span[0], 0] : places[span[1], 1]] for span in spans]
        )
    return texts


def context_offsets(features: SpanFeatures) -> list[np.ndarray]:
    """int32 [tokens, 2] of every question: offsets of its whole context, each token's from its best window."""
    bounds = np.searchsorted(features.example, np.arange(features.examples + 1))
    return [
        np.concatenate([features.offsets[number][features.best[number]] for number in range(first, last)])
        for first, last in pairwise(bounds)
    ]


def oracle_scores(features: SpanFeatures, answers: Sequence[Answer]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Scores of starts and ends (float [length] of each input) of a model that knows the answer of each question.

    Of an answer with more than `MAX_ANSWER` subwords it takes the first ones.
    """
    lengths = []
    for answer, places in zip(answers, context_offsets(features), strict=True):
        span = find_tokens(places, answer)
        lengths.append(0 if span is None else span[1] - span[0] + 1)
    starts, ends = [], []
    for number, length in enumerate(features.ids.lengths):
        start, end = np.zeros(length), np.zeros(length)
        example = features.example[number]
        span = find_tokens(features.offsets[number], answers[example])
        if span is not None and span[1] - span[0] + 1 == lengths[example]:  # the window holds all of it
            start[span[0]] = 1
            end[min(span[1], span[0] + MAX_ANSWER - 1)] = 1
        starts.append(start)
        ends.append(end)
    return starts, ends


def _nearest(example: Question, texts: list[str]) -> int:
    same = [text == answer.text for text, answer in zip(texts, example.answers, strict=True)]
    return same.index(True) if any(same) else 0


def _score(examples: Sequence[Question], answers: Sequence[str], task: Task, language: str) -> dict[str, float]:
    # numbered, as ids of a training file repeat
    predictions = {str(number): answer for number, answer in enumerate(answers)}
    references = {
        str(number): [answer.text for answer in example.answers] for number, example in enumerate(examples)
    }
    return span_score(predictions, references, task.words(language))


def ceilings(
    folder: Path, tokenizer, tasks: Collection[str] = tuple(TASKS), stand_ins: StandIns = NONE
) -> Iterator[tuple]:
    """Rows of `COLUMNS`: every present dev and test file of these tasks with answers."""
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
