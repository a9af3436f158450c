"""Questions on contexts to windows: `<s> question </s></s> part of the context </s>`."""

from collections.abc import Iterator, Sequence

import numpy as np

from vocap.finetuning.encoding.features import SpanFeatures
from vocap.finetuning.encoding.inputs import InputEncoder, check_room
from vocap.finetuning.encoding.ragged import Ragged
from vocap.finetuning.examples import Answer, Question


def encode_questions(
    examples: Sequence[Question], tokenizer, max_length: int = 384, stride: int = 128, max_question: int = 64
) -> SpanFeatures:
    """One input a window; every question has at least one, and every token of its context is in one.

    `tokenizer`: a Hugging Face fast one, or an `InputEncoder`. `stride` is the number of tokens from the start of
    one window to that of the next (`doc_stride` of the original BERT code, not an overlap); questions are cut to
    `max_question` tokens.
    """
    encoder = InputEncoder.of(tokenizer)
    before, between, after = encoder.before, encoder.between, encoder.after
    rows, example, second, start, end, offsets, best = [], [], [], [], [], [], []
    for number, question, context, places in _encoded(examples, encoder):
        head = [*before, *question[:max_question], *between]
        room = max_length - len(head) - len(after)
        check_room(room, 1, max_length)
        target = None
        if examples[number].answers:
            target = find_tokens(places, examples[number].answers[0])
        parts = windows(len(context), room, stride)
        most = most_context(len(context), parts)
        for part, (first, last) in enumerate(parts):
            rows.append(np.concatenate([head, context[first:last], after]).astype(np.int32))
            inner = slice(len(head), len(head) + last - first)
            offsets.append(np.full((len(rows[-1]), 2), -1, dtype=np.int32))
            offsets[-1][inner] = places[first:last]
            best.append(np.zeros(len(rows[-1]), dtype=bool))
            best[-1][inner] = most[first:last] == part
            inside = target is not None and first <= target[0] and target[1] < last
            start.append(len(head) + target[0] - first if inside else 0)
            end.append(len(head) + target[1] - first if inside else 0)
            second.append(len(head))
            example.append(number)
    return SpanFeatures(
        ids=Ragged.of(rows, np.int32),
        example=np.array(example, dtype=np.int32),
        second=np.array(second, dtype=np.int32),
        examples=len(examples),
        start=np.array(start, dtype=np.int32),
        end=np.array(end, dtype=np.int32),
        offsets=Ragged.of(offsets, np.int32, (2,)),
        best=Ragged.of(best, bool),
    )


def _encoded(
    examples: Sequence[Question], encoder: InputEncoder
) -> Iterator[tuple[int, list[int], np.ndarray, np.ndarray]]:
    """Number, ids of the question, ids and offsets of the context, encoded once for neighbours that share it."""
    changes = [
        number
        for number, example in enumerate(examples)
        if number == 0 or example.context != examples[number - 1].context
    ]
    contexts = encoder.ids_and_offsets([examples[number].context for number in changes])
    questions = encoder.ids([example.question for example in examples])
    new = set(changes)
    for number, question in enumerate(questions):
        if number in new:
            context, places = next(contexts)
        yield number, question, context, places


def windows(length: int, room: int, stride: int) -> list[tuple[int, int]]:
    """From and to of each window of at most `room` tokens, until one reaches the end; one at least.

    >>> windows(10, 4, 3)
    [(0, 4), (3, 7), (6, 10)]
    """
    parts = []
    start = 0
    while True:
        end = min(length, start + room)
        parts.append((start, end))
        if end == length:
            return parts
        start += min(room, stride)


def most_context(length: int, parts: Sequence[tuple[int, int]]) -> np.ndarray:
    """int [length]: the window that gives each token most context, the smaller side counting.

    Of equals, the longer window has a hundredth of its length in advance; then the first (`_check_is_max_context`
    of the original BERT code).
    """
    places = np.arange(length)
    most, highest = np.zeros(length, dtype=np.int32), np.full(length, -1.0)
    for part, (start, end) in enumerate(parts):
        inside = slice(start, end)
        score = np.minimum(places[inside] - start, end - 1 - places[inside]) + 0.01 * (end - start)
        better = score > highest[inside]
        most[inside][better] = part
        highest[inside][better] = score[better]
    return most


def find_tokens(offsets: np.ndarray, answer: Answer) -> tuple[int, int] | None:
    """The first and last token (its index) that share a character with the answer; None where none does.

    `offsets`: int32 [tokens, 2].
    """
    first, last = answer.start, answer.start + len(answer.text)
    touching = np.flatnonzero((offsets[:, 0] < last) & (offsets[:, 1] > first))
    return (int(touching[0]), int(touching[-1])) if len(touching) else None
