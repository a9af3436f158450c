"""Seed pieces: the substrings that the text itself suggests (`Trainer::MakeSeedSentencePieces`)."""

from dataclasses import dataclass

import numpy as np

from vocap.vocabularies.characters import RESERVED, SEPARATOR
from vocap.vocabularies.ladder.crew import ALONE, Crew
from vocap.vocabularies.ladder.kernels import kernel
from vocap.vocabularies.ladder.scripts import INHERITED, NO_SCRIPT, scripts
from vocap.vocabularies.ladder.suffixes import SeedText, independent_ranges
from vocap.vocabularies.ladder.word_types import SPACE

MAX_PIECE_LENGTH = 16  # max_sentencepiece_length
MAX_SEEDS = 1_000_000  # seed_sentencepiece_size

_SPACE, _RESERVED, _SEPARATOR = ord(SPACE), ord(RESERVED), ord(SEPARATOR)


@dataclass(frozen=True)
class Seeds:
    """S substrings of the text, best first: the suffixes `order[left[s]:right[s]]` begin with seed s, which has
    `depth[s]` characters and scores `score[s]` = frequency x depth (int32 [S], the last int64)."""

    left: np.ndarray
    right: np.ndarray
    depth: np.ndarray
    score: np.ndarray


def find_seeds(
    source: SeedText, order: np.ndarray, lcp: np.ndarray, limit: int = MAX_SEEDS, crew: Crew = ALONE
) -> Seeds:
    """Valid substrings with at least two different continuations; the `limit` best by (score, suffix order).

    `lcp` uint8: of `common_prefixes`, counted to more than MAX_PIECE_LENGTH.
    """
    bounds = independent_ranges(lcp)
    arguments = source.text, source.weight, order, lcp, scripts(source.text), np.int32(MAX_PIECE_LENGTH)
    parts = crew.all_of(len(bounds) - 1, lambda block: interval_tree(*arguments, *bounds[block : block + 2]))
    left, right, depth, frequency = map(np.concatenate, zip(*parts, strict=True))
    score = frequency * depth
    best = _first_best(score, limit)
    return Seeds(left[best], right[best], depth[best].astype(np.int32), score[best])


def _first_best(score: np.ndarray, limit: int) -> np.ndarray:
    """Indices of the `limit` highest scores, by (score descending, index)."""
    chosen = np.arange(len(score), dtype=np.int32)
    if len(score) > limit:
        least = np.partition(score, len(score) - limit)[len(score) - limit]
        chosen = np.flatnonzero(score >= least)
        ties = np.flatnonzero(score[chosen] == least)
        chosen = np.delete(chosen, ties[len(ties) - (len(chosen) - limit) :])
    return chosen[np.argsort(-score[chosen], kind="stable")]


@kernel("boolean(int32[::1], int64, int64, int16[::1])")
def is_valid(text, start, length, script):
    """`TrainerInterface::IsValidSentencePiece` for a substring of no more than the longest length."""
    previous = NO_SCRIPT
    for position in range(start, start + length):
        character = text[position]
        if character in (0, _RESERVED, _SEPARATOR):
            return False
        if character == _SPACE:
            if position > start:
                return False
            continue
        current = script[character]
        if current == INHERITED:
            current = previous
        if current != NO_SCRIPT and previous != NO_SCRIPT and current != previous:
            return False
        previous = current
    return True


@kernel(
    "Tuple((int32[::1], int32[::1], uint8[::1], int64[::1]))"
    "(int32[::1], int32[::1], int32[::1], uint8[::1], int16[::1], int32, int64, int64)"
)
def interval_tree(text, weight, order, lcp, script, longest, first, stop):
    """Walk the internal nodes of the suffix tree in the order of `esaxx_private::suffixtree`; keep the valid ones.

    A node is an interval of the suffix array whose suffixes share `depth` characters; here, those between `first`
    and `stop`. Suffixes of weight 0 (text that is not trained on) are passed over: a node counts if two of its
    children hold trained suffixes. Returns left, right int32, depth uint8 and frequency int64 of the nodes of 2 to
    `longest` characters.
    """
    size = stop - first
    # One node a position at most; memory is used as they are filled.
    left = np.empty(size + 1, np.int32)
    right = np.empty(size + 1, np.int32)
    depths = np.empty(size + 1, np.uint8)
    frequency = np.empty(size + 1, np.int64)
    found = 0
    # The stack of open intervals: where each begins, what its suffixes share, and its trained children so far.
    leaf = 256  # deeper than any node
    begin = np.empty(leaf + 2, np.int32)
    depth = np.empty(leaf + 2, np.int32)
    mass = np.empty(leaf + 2, np.int64)  # weight of all its suffixes
    children = np.empty(leaf + 2, np.int32)
    begin[0], depth[0], mass[0], children[0] = first, -1, 0, 0
    top = 0
    for rank in range(first, stop + 1):
        shared = np.int32(lcp[rank]) if first < rank < stop else np.int32(-1)
        start = rank
        carried = np.int64(0)  # weight of the interval closed last, which becomes a child
        while depth[top] > shared:
            mass[top] += carried
            children[top] += carried > 0
            start = begin[top]
            carried = mass[top]
            if (
                1 < depth[top] <= longest
                and children[top] >= 2
                and is_valid(text, order[start], depth[top], script)
            ):
                left[found], right[found], depths[found] = start, rank, depth[top]
                frequency[found] = carried
                found += 1
            top -= 1
        if depth[top] < shared:
            top += 1
            begin[top], depth[top], mass[top], children[top] = start, shared, 0, 0
        mass[top] += carried
        children[top] += carried > 0
        if rank < stop:  # the suffix itself, as a leaf
            top += 1
            begin[top], depth[top], mass[top], children[top] = rank, leaf, weight[order[rank]], 0
    return left[:found].copy(), right[:found].copy(), depths[:found].copy(), frequency[:found].copy()
