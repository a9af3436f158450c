"""The seed text, its suffix array and its longest common prefixes.

SentencePiece builds the suffix array of all sentences. Seeds never cross U+2581, so the text of the word types
with weights gives the same substrings, frequencies and order (see `seed_text`), and is 3 to 9 times shorter
where words repeat.
"""

from dataclasses import dataclass

import numpy as np

from vocap.errors import VocapError
from vocap.vocabularies.ladder.kernels import kernel
from vocap.vocabularies.ladder.word_types import SPACE, WordTypes

_MAX_BYTES = 2**31 - 1  # 32-bit positions


@dataclass(frozen=True)
class SeedText:
    """`text` int32 [N]: code points of all types, each with a separator after it. `weight` int64 [N]: how many
    places of the training text a position stands for, 0 at separators. Type t is `text[start[t]:start[t] +
    length[t]]` (int32 [T] both); separators at `start[t] + length[t]`. Positions from `size` on are second
    copies."""

    text: np.ndarray
    weight: np.ndarray
    start: np.ndarray
    length: np.ndarray
    size: int


def seed_text(words: WordTypes) -> SeedText:
    """Each type followed by what follows it in the corpus: U+2581, or 0 at the end of a line.

    A substring is a seed if it occurs with two different continuations. A type is followed by U+2581 (the next
    word) or by 0 (the end of the line); one that is followed by both gets a second copy with 0, after all others.
    """
    both = np.flatnonzero((words.inside > 0) & (words.last > 0))
    types = [
        word + (SPACE if inside else "\0") for word, inside in zip(words.types, words.inside.tolist(), strict=True)
    ]
    size_of = np.fromiter(map(len, types), np.int32, len(types))
    copies = [words.types[index] + "\0" for index in both.tolist()]
    text = np.frombuffer("".join(types + copies).encode("utf-32-le"), np.int32).copy()
    weight = np.concatenate(
        [
            np.repeat(np.where(words.inside > 0, words.inside, words.last), size_of),
            np.repeat(words.last[both], size_of[both]),
        ]
    )
    ends = np.cumsum(np.concatenate([size_of, size_of[both]]), dtype=np.int64)
    weight[ends - 1] = 0
    start = np.concatenate([[0], ends[: len(types) - 1]]).astype(np.int32) if types else np.zeros(0, np.int32)
    return SeedText(text, weight, start, size_of - 1, int(size_of.sum()))


def suffix_array(text: np.ndarray) -> np.ndarray:
    """Positions of `text` int32 [N] by the code points that follow, int32 [N]; no sentinel (`esaxx`).

    Raises VocapError for text of 2^31 bytes or more.
    """
    import pydivsufsort

    alphabet = np.flatnonzero(np.bincount(text))
    # Characters as one byte each, or as more, the highest first.
    code = np.dtype(np.uint8 if len(alphabet) <= 1 << 8 else ">u2" if len(alphabet) <= 1 << 16 else ">u4")
    if len(text) * code.itemsize > _MAX_BYTES:
        raise VocapError(f"{len(text)} characters in distinct words are too many; train on fewer lines")
    rank = np.zeros(int(alphabet[-1]) + 1, code)
    rank[alphabet] = np.arange(len(alphabet))
    order = pydivsufsort.divsufsort(rank[text].view(np.uint8))
    if code.itemsize == 1:
        return order
    # Suffixes that begin inside a character are left out.
    return (order[order % code.itemsize == 0] // code.itemsize).astype(np.int32)


@kernel("int32[::1](int32[::1], int32[::1])")
def common_prefixes(text, order):
    """How many characters the suffixes `order[r - 1]` and `order[r]` share, int32 [N] (Kasai et al. 2001)."""
    size = text.size
    previous = np.empty(size, np.int32)  # the suffix before this one in the order
    previous[order[0]] = -1
    for rank in range(1, size):
        previous[order[rank]] = order[rank - 1]
    shared = previous  # reused: previous[i] is read before shared[i] is written
    common = 0
    for position in range(size):
        other = previous[position]
        if other < 0:
            common = 0
            shared[position] = 0
            continue
        while (
            position + common < size and other + common < size and text[position + common] == text[other + common]
        ):
            common += 1
        shared[position] = common
        if common:
            common -= 1
    lcp = np.empty(size, np.int32)
    for rank in range(size):
        lcp[rank] = shared[order[rank]]
    return lcp
