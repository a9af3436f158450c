"""The seed text, its suffix array and its longest common prefixes.

SentencePiece builds the suffix array of all sentences. Seeds never cross U+2581, so the text of the word types
with weights gives the same substrings, frequencies and order (see `seed_text`), and is 3 to 9 times shorter
where words repeat.
"""

from dataclasses import dataclass

import numpy as np

from vocap.errors import VocapError
from vocap.unigram.kernels import ONE_THREAD, Workers, kernel
from vocap.unigram.word_types import WordTypes

_MAX = 2**31 - 1  # positions, and occurrences of a type, are 32-bit numbers
_BLOCK = 1 << 17  # suffixes that a thread takes at a time: some milliseconds


@dataclass(frozen=True)
class SeedText:
    """`text` int32 [N]: code points of all types, each with a separator after it. `weight` int32 [N]: the number
    of places in the training text of a position, 0 at separators. Type t is `text[start[t]:start[t] +
    length[t]]` (int32 [T] both); separators at `start[t] + length[t]`. Positions from `size` on are second
    copies."""

    text: np.ndarray
    weight: np.ndarray
    start: np.ndarray
    length: np.ndarray
    size: int


def seed_text(words: WordTypes) -> SeedText:
    """Each type with the character after it in the corpus: U+2581, or 0 at the end of a line.

    A substring is a seed if it occurs with two different continuations. A type is followed by U+2581 (the next
    word) or by 0 (the end of the line); one that is followed by both gets a second copy with 0, after all others.
    Raises VocapError for a type that occurs 2^31 times.
    """
    weight = np.where(words.inside > 0, words.inside, words.last)
    both = np.flatnonzero((words.inside > 0) & (words.last > 0))
    if max(weight.max(initial=0), words.last.max(initial=0)) > _MAX:
        raise VocapError(f"a word occurs more than {_MAX} times; train on fewer lines")
    last = words.last[both].astype(np.int32)
    text, weight = copy_types(words.text, words.start, words.length, weight.astype(np.int32), both, last)
    return SeedText(text, weight, words.start, words.length, len(words.text))


@kernel("UniTuple(int32[::1], 2)(int32[::1], int32[::1], int32[::1], int32[::1], int64[::1], int32[::1])")
def copy_types(text, start, length, weight, both, last):
    """The text and, behind it, the types `both`, each with two 0 after it; the weight of each position."""
    size = text.size
    for t in both:
        size += length[t] + 2
    copied = np.zeros(size, np.int32)
    weights = np.zeros(size, np.int32)
    copied[: text.size] = text
    for t in range(start.size):
        weights[start[t] : start[t] + length[t]] = weight[t]
    at = text.size
    for number in range(both.size):
        begin, size = start[both[number]], length[both[number]]
        copied[at : at + size] = text[begin : begin + size]
        weights[at : at + size] = last[number]
        at += size + 2
    return copied, weights


def suffix_array(text: np.ndarray) -> np.ndarray:
    """Positions of `text` int32 [N] by the code points that follow, int32 [N]; no sentinel (`esaxx`).

    Raises VocapError for text of 2^31 bytes or more. Memory: 4 bytes a position and, for more than 256
    different characters, 10 more (20 for more than 65,536).
    """
    import pydivsufsort

    counts = code_point_counts(text)
    alphabet = np.flatnonzero(counts)
    width = 1 if len(alphabet) <= 1 << 8 else 2 if len(alphabet) <= 1 << 16 else 4
    if len(text) * width > _MAX:
        raise VocapError(f"{len(text)} characters in distinct words are too many; train on fewer lines")
    rank = np.zeros(len(counts), np.int32)
    rank[alphabet] = np.arange(len(alphabet))
    order = pydivsufsort.divsufsort(to_bytes(text, rank, width))
    return order if width == 1 else whole_characters(order, width)


@kernel("int64[::1](int32[::1])")
def code_point_counts(text):
    """Occurrences of each code point, indexed by code point up to the highest."""
    highest = np.int32(0)
    for character in text:
        highest = max(highest, character)
    counts = np.zeros(highest + 1, np.int64)
    for character in text:
        counts[character] += 1
    return counts


@kernel("uint8[::1](int32[::1], int32[::1], int64)")
def to_bytes(text, rank, width):
    """The rank of each character in `width` bytes, the highest first, so that bytes sort like characters."""
    data = np.empty(text.size * width, np.uint8)
    at = 0
    for character in text:
        number = rank[character]
        for byte in range(width - 1, -1, -1):
            data[at] = number >> (8 * byte) & 255
            at += 1
    return data


@kernel("int32[::1](int32[::1], int64)")
def whole_characters(order, width):
    """The suffixes that begin where a character of `width` bytes does; positions counted in characters."""
    kept = np.empty(order.size // width, np.int32)
    at = 0
    for position in order:
        if position % width == 0:
            kept[at] = position // width
            at += 1
    return kept


def common_prefixes(
    text: np.ndarray, order: np.ndarray, longest: int, workers: Workers = ONE_THREAD
) -> np.ndarray:
    """The number of characters that suffixes `order[r - 1]` and `order[r]` share, up to `longest`, uint8 [N].

    Seeds are short, so comparing neighbours costs less than the algorithm for any length (Kasai et al. 2001),
    which jumps through the text three times.
    """
    shared = np.zeros(len(order), np.uint8)
    bounds = [*range(0, len(order), _BLOCK), len(order)]
    workers.map(
        len(bounds) - 1,
        lambda block: compare_neighbours(text, order, longest, *bounds[block : block + 2], shared),
    )
    return shared


@kernel("void(int32[::1], int32[::1], int64, int64, int64, uint8[::1])")
def compare_neighbours(text, order, longest, begin, stop, shared):
    """Fill `shared` from `begin` to `stop`."""
    size = text.size
    for rank in range(max(begin, 1), stop):
        a, b = order[rank - 1], order[rank]
        most = min(longest, size - max(a, b))
        common = 0
        while common < most and text[a + common] == text[b + common]:
            common += 1
        shared[rank] = common


def independent_ranges(shared: np.ndarray) -> np.ndarray:
    """Bounds in the suffix array, int64 [ranges + 1], with no seed on both sides of one.

    `shared` of `common_prefixes`: at a bound, neighbours have less than two characters in common.
    """
    return cut(shared, _BLOCK)


@kernel("int64[::1](uint8[::1], int64)")
def cut(shared, least):
    """The `independent_ranges` of `least` suffixes or more, but for the last."""
    bounds = np.zeros(shared.size // least + 2, np.int64)
    count = 0
    for rank in range(1, shared.size):
        if shared[rank] <= 1 and rank - bounds[count] >= least:
            count += 1
            bounds[count] = rank
    bounds[count + 1] = shared.size
    return bounds[: count + 2].copy()
