"""The other seeds: those of SentencePiece 0.2.2, whole words among them (its `Trainer::MakeSeedSentencePieces`).

A classic seed has two different continuations, so a word that is always followed by a space is none. 0.2.2 takes
every substring of the whole text with two continuations, cuts it at spaces and line ends, and gives each part the
highest frequency of the substrings that it is a part of. Over word types this means: a space and a line end are
one and the same separator, 0; a seed either has two continuations or ends at separators, twice or more often.
The end of the text makes an exception, see `text_end`.
"""

import bisect
from collections.abc import Mapping

import numpy as np

from vocap.errors import VocapError
from vocap.vocabularies.ladder.kernels import kernel
from vocap.vocabularies.ladder.scripts import scripts
from vocap.vocabularies.ladder.seeds import MAX_PIECE_LENGTH, MAX_SEEDS, Seeds, is_valid
from vocap.vocabularies.ladder.suffixes import SeedText
from vocap.vocabularies.ladder.word_types import WordTypes

_MIN_FREQUENCY = 2


def word_seed_text(words: WordTypes) -> SeedText:
    """All word types, each followed by 0; a position weighs its type's occurrences in the training text."""
    occurrences = words.inside + words.last
    if occurrences.max(initial=0) > np.iinfo(np.int32).max:
        raise VocapError("a word occurs 2^31 times or more often; train on fewer lines")
    text, weight = words.text.copy(), np.repeat(occurrences.astype(np.int32), words.length + 1)
    separators = words.start + words.length
    text[separators] = 0
    weight[separators] = 0
    return SeedText(text, weight, words.start, words.length, len(text))


def find_word_seeds(
    source: SeedText, order: np.ndarray, lcp: np.ndarray, ending: Mapping[str, int], limit: int = MAX_SEEDS
) -> Seeds:
    """The `limit` best valid seeds by (score, length in UTF-8, text), highest and longest first.

    `lcp` uint8: of `common_prefixes`, counted to more than MAX_PIECE_LENGTH. `ending`: frequencies of seeds that
    depend on the end of the text (`text_end.frequencies_at_the_end`).
    """
    room = _room(source)
    left, right, depth, frequency = word_tree(
        source.text, source.weight, order, lcp, room, scripts(source.text), np.int32(MAX_PIECE_LENGTH)
    )
    depth = depth.astype(np.int32)
    _set_frequencies(source, order, left, depth, frequency, ending)
    size = _utf8_sizes(source.text, order[left], depth)
    score = np.where(frequency >= _MIN_FREQUENCY, frequency * depth, 0)
    best = np.lexsort((left, -size, -score))[: min(limit, np.count_nonzero(score))]
    return Seeds(left[best], right[best], depth[best], score[best])


def _room(source: SeedText) -> np.ndarray:
    """How many characters stand from each position to the next separator, as `lcp` counts, uint8 [N]."""
    sizes = source.length + 1
    room = np.repeat(source.start + source.length, sizes) - np.arange(len(source.text), dtype=np.int32)
    return np.minimum(room, MAX_PIECE_LENGTH + 1).astype(np.uint8)


def _utf8_sizes(text: np.ndarray, place: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Bytes of the substrings of `length` characters at `place`, int32."""
    size = 1 + (text >= 0x80) + (text >= 0x800) + (text >= 0x10000)
    until = np.concatenate([[0], np.cumsum(size)])
    return (until[place + length] - until[place]).astype(np.int32)


def _set_frequencies(source: SeedText, order, left, depth, frequency, ending: Mapping[str, int]) -> None:
    """Set the `frequency` of the seeds named in `ending`, which are always followed by a separator."""
    for seed, occurrences in ending.items():
        codes = [*map(ord, seed), 0]
        first = bisect.bisect_left(
            order, codes, key=lambda place: source.text[place : place + MAX_PIECE_LENGTH + 1].tolist()
        )
        frequency[(left == first) & (depth == len(seed))] = occurrences


@kernel(
    "Tuple((int32[::1], int32[::1], uint8[::1], int64[::1]))"
    "(int32[::1], int32[::1], int32[::1], uint8[::1], uint8[::1], int16[::1], int32)"
)
def word_tree(text, weight, order, lcp, room, script, longest):
    """Walk the suffix tree of words as `seeds.interval_tree` does that of the text; keep the valid seeds.

    `room` is the way to the next separator: common prefixes end there, and so does a suffix, as a leaf of that
    depth or inside the node of that depth. Suffixes of weight 0 are passed over. A node is a seed if trained words
    go on in two ways or end there. Returns left, right int32, depth uint8 and frequency int64 of the nodes of 2 to
    `longest` characters.
    """
    size = order.size
    # Two nodes a position at most; memory is used as they are filled.
    left = np.empty(2 * size + 1, np.int32)
    right = np.empty(2 * size + 1, np.int32)
    depths = np.empty(2 * size + 1, np.uint8)
    frequency = np.empty(2 * size + 1, np.int64)
    found = 0
    # The stack of open intervals: where each begins, what its suffixes share, and its trained ones so far.
    begin = np.empty(256 + 2, np.int32)
    depth = np.empty(256 + 2, np.int32)
    mass = np.empty(256 + 2, np.int64)  # weight of all its suffixes
    children = np.empty(256 + 2, np.int32)
    ending = np.empty(256 + 2, np.int64)  # weight of those that end here
    begin[0], depth[0], mass[0], children[0], ending[0] = 0, -1, 0, 0, 0
    top = 0
    for rank in range(size + 1):
        shared = np.int32(min(lcp[rank], room[order[rank]])) if 0 < rank < size else np.int32(-1)
        start = rank
        carried = np.int64(0)  # weight of the interval closed last, which becomes a child
        while depth[top] > shared:
            mass[top] += carried
            children[top] += carried > 0
            start = begin[top]
            carried = mass[top]
            if (
                1 < depth[top] <= longest
                and carried > 1
                and (children[top] >= 2 or ending[top] > 0)
                and is_valid(text, order[start], depth[top], script)
            ):
                left[found], right[found], depths[found] = start, rank, depth[top]
                frequency[found] = carried
                found += 1
            top -= 1
        if depth[top] < shared:
            top += 1
            begin[top], depth[top], mass[top], children[top], ending[top] = start, shared, 0, 0, 0
        mass[top] += carried
        children[top] += carried > 0
        if rank < size:  # the suffix itself
            place = order[rank]
            if depth[top] < room[place]:
                top += 1
                begin[top], depth[top], mass[top], children[top], ending[top] = rank, room[place], 0, 0, 0
            mass[top] += weight[place]
            ending[top] += weight[place]
    return left[:found].copy(), right[:found].copy(), depths[:found].copy(), frequency[:found].copy()
