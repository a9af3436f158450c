"""What models are given: inputs of one data set as arrays, and how they belong to the examples."""

from dataclasses import dataclass

import numpy as np

from vocap.finetuning.encoding.ragged import Ragged

NO_LABEL = -1  # of a blank test file


@dataclass(frozen=True)
class Features:
    """Inputs in the order of their examples.

    `ids`: int32, whole inputs with their special tokens. `example`: int32 [inputs], the example that an input is
    of. `second`: int32 [inputs], where the second text begins (after the special tokens before it), for models
    that tell two segments apart; the input's length where there is none. `examples`: how many there are.
    """

    ids: Ragged
    example: np.ndarray
    second: np.ndarray
    examples: int

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class PairFeatures(Features):
    """One input an example. `label`: int32 [inputs], numbers of the task's labels, or NO_LABEL."""

    label: np.ndarray


@dataclass(frozen=True)
class TagFeatures(Features):
    """One input or several a sentence, of whole words, together every word once, in order.

    For each word of an input, int32: `first` and `last`, the positions in `ids` of its first subword and one past
    its last; `word`, its index in the sentence; `label`, the number of its tag, or NO_LABEL.
    """

    first: Ragged
    last: Ragged
    word: Ragged
    label: Ragged


@dataclass(frozen=True)
class SpanFeatures(Features):
    """One input a window of the context.

    `start`, `end`: int32 [inputs], positions in `ids` of the first answer's first and last subword, both 0 where
    the window lacks some of it. `offsets`: int32 [length, 2], code points of the original context that a position
    stands for, from and to, -1 outside the context. `best`: bool [length], whether this window gives the token
    the most context of all windows.
    """

    start: np.ndarray
    end: np.ndarray
    offsets: Ragged
    best: Ragged
