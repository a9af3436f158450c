"""Tagged words to inputs of whole words, and predictions of the inputs back to sentences."""

from collections.abc import Sequence

import numpy as np

from vocap.finetuning.encoding.features import NO_LABEL, TagFeatures
from vocap.finetuning.encoding.inputs import InputEncoder, check_room
from vocap.finetuning.encoding.ragged import Ragged
from vocap.finetuning.examples import Sentence


def encode_sentences(
    examples: Sequence[Sentence], tokenizer, labels: Sequence[str], max_length: int = 128
) -> TagFeatures:
    """Every word encoded alone; a sentence that is too long is cut between words, greedily, into several inputs.

    `tokenizer`: a Hugging Face fast one, or an `InputEncoder`; `labels`: the task's, by number. A word without any
    piece, or with more than an input holds, is the unknown token: no word is lost. Raises KeyError for a tag that
    is no label.
    """
    encoder = InputEncoder.of(tokenizer)
    before, after = encoder.before, encoder.between
    room = max_length - len(before) - len(after)
    check_room(room, 1, max_length)
    pieces = _pieces(examples, encoder, room)
    numbers = {label: number for number, label in enumerate(labels)}
    rows, example, first, last, word, label = [], [], [], [], [], []
    for number, sentence in enumerate(examples):
        words = [pieces[text] for text in sentence.words]
        tags = [NO_LABEL] * len(words) if sentence.tags is None else [numbers[tag] for tag in sentence.tags]
        for start, end in cuts([len(ids) for ids in words], room):
            ends = np.cumsum([len(before)] + [len(ids) for ids in words[start:end]])
            rows.append([*before, *(piece for ids in words[start:end] for piece in ids), *after])
            example.append(number)
            first.append(ends[:-1])
            last.append(ends[1:])
            word.append(range(start, end))
            label.append(tags[start:end])
    ids = Ragged.of(rows, np.int32)
    return TagFeatures(
        ids=ids,
        example=np.array(example, dtype=np.int32),
        second=ids.lengths.astype(np.int32),
        examples=len(examples),
        first=Ragged.of(first, np.int32),
        last=Ragged.of(last, np.int32),
        word=Ragged.of(word, np.int32),
        label=Ragged.of(label, np.int32),
    )


def _pieces(examples: Sequence[Sentence], encoder: InputEncoder, room: int) -> dict[str, list[int]]:
    """Every distinct word to its ids, at least one."""
    words = list(dict.fromkeys(text for sentence in examples for text in sentence.words))
    unknown = [encoder.unk_id]
    encoded = zip(words, encoder.ids(words), strict=True)
    return {text: ids if 0 < len(ids) <= room else unknown for text, ids in encoded}


def cuts(lengths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """The first word and one past the last of each part, as many words as fit in `room`, one part at least.

    >>> cuts([3, 2, 4, 1], 5)
    [(0, 2), (2, 4)]
    """
    parts, start, used = [], 0, 0
    for number, length in enumerate(lengths):
        if used + length > room and number > start:
            parts.append((start, number))
            start, used = number, 0
        used += length
    return [*parts, (start, len(lengths))]


def join_tags(features: TagFeatures, predicted: Sequence[np.ndarray], labels: Sequence[str]) -> list[list[str]]:
    """The tags of every sentence, one a word, from the label numbers of each input's words."""
    sentences: list[list[str]] = [[] for _ in range(features.examples)]
    for example, words, numbers in zip(features.example, features.word, predicted, strict=True):
        if len(numbers) != len(words):
            raise ValueError(
                f"{len(numbers)} predictions for the {len(words)} words of a part of sentence {example}"
            )
        sentences[example].extend(labels[number] for number in numbers)
    return sentences
