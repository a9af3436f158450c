"""Pairs of sentences to inputs: `<s> A </s></s> B </s>`, the longer one cut first."""

from collections.abc import Sequence

import numpy as np

from vocap.finetuning.encoding.features import NO_LABEL, PairFeatures
from vocap.finetuning.encoding.inputs import InputEncoder, check_room
from vocap.finetuning.encoding.ragged import Ragged
from vocap.finetuning.examples import Pair


def encode_pairs(
    examples: Sequence[Pair], tokenizer, labels: Sequence[str], max_length: int = 256
) -> PairFeatures:
    """One input a pair, in order, at most `max_length` ids with the special tokens.

    `tokenizer`: a Hugging Face fast one, or an `InputEncoder`; `labels`: the task's, by number. Raises KeyError
    for a label that is none of them, UsageError for a length without room.
    """
    encoder = InputEncoder.of(tokenizer)
    before, between, after = encoder.before, encoder.between, encoder.after
    budget = max_length - len(before) - len(between) - len(after)
    check_room(budget, 2, max_length)
    firsts = encoder.ids([example.first for example in examples])
    seconds = encoder.ids([example.second for example in examples])
    rows, second = [], np.zeros(len(examples), dtype=np.int32)
    for number, (left, right) in enumerate(zip(firsts, seconds, strict=True)):
        kept, other = longest_first(len(left), len(right), budget)
        row = [*before, *left[:kept], *between, *right[:other], *after]
        second[number] = len(before) + kept + len(between)
        rows.append(np.array(row, dtype=np.int32))
    numbers = {label: number for number, label in enumerate(labels)} | {None: NO_LABEL}
    return PairFeatures(
        ids=Ragged.of(rows, np.int32),
        example=np.arange(len(examples), dtype=np.int32),
        second=second,
        examples=len(examples),
        label=np.array([numbers[example.label] for example in examples], dtype=np.int32),
    )


def longest_first(first: int, second: int, budget: int) -> tuple[int, int]:
    """What is left of two lengths when the longer loses its last token (of equals: the second) until both fit.

    >>> longest_first(10, 3, 8), longest_first(10, 9, 7)
    ((5, 3), (4, 3))
    """
    if first + second <= budget:
        return first, second
    half = budget // 2
    if second <= half:
        return budget - second, second
    if first <= budget - half:
        return first, budget - first
    return budget - half, half
