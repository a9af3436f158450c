"""The engine on a vocabulary that is given: expected counts and best segmentations over word counts.

Pieces are numbered from 1, as an unknown node counts for piece 0 in the engine's E step: 0 is <unk>. Lattices are
made for some types at a time and dropped again: memory is that of the word table (`word_table.py`), the trie and
one batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vocap.vocabularies.ladder.expectation import UNKNOWN_PENALTY, expected_counts
from vocap.vocabularies.ladder.kernels import kernel
from vocap.vocabularies.ladder.lattice import FIRST, Lattice
from vocap.vocabularies.ladder.segmentation import encoder_counts
from vocap.vocabularies.ladder.trie import BORDER, build_trie, fill_lattice
from vocap.vocabularies.ladder.word_table import TEXTS, WordTable
from vocap.vocabularies.ladder.word_types import SPACE

LONGEST = FIRST - 1  # characters of a piece: `Lattice.length` has seven bits
BATCH_CHARACTERS = 1 << 21  # of distinct words: some 20 edges each in languages with long words, 5 bytes an edge


class FixedPieces:
    """Distinct pieces whose counts are asked for under changing scores.

    Raises ValueError for a piece of more than 127 characters, or with U+2581 but as its first: words end there.
    """

    def __init__(self, pieces: Sequence[str]):
        for piece in pieces:
            if len(piece) > LONGEST or SPACE in piece[1:]:
                raise ValueError(
                    f"the piece {piece!r} is longer than {LONGEST} characters, or holds a space inside"
                )
        self.size = len(pieces)
        self.trie = build_trie(pieces)

    def expected(self, words: WordTable, scores: np.ndarray) -> np.ndarray:
        """Expected counts of the pieces under `scores` (log probabilities [n]), float64 [n] (`RunEStep`).

        A character that is no piece scores 10 less than the worst piece, and counts for none.
        """
        total = np.zeros(self.size + 1, np.float64)
        node_scores = self._node_scores(scores)
        for batch in self._batches(words):
            total += expected_counts(
                *batch.lattices, batch.frequency, node_scores, self.size + 1, arithmetic="fast"
            )
        return total[1:]

    def best(self, words: WordTable, scores: np.ndarray) -> np.ndarray:
        """How often each piece stands in the best segmentations under `scores`, int64 [n] (`EncodeOptimized`)."""
        counts = np.zeros((1, self.size + 2), np.int64)
        node_scores = self._node_scores(scores)
        for batch in self._batches(words):
            encoder_counts(*batch.lattices, batch.frequency[None], node_scores, self.size + 1, counts)
        return counts[0, 1:-1]

    def _node_scores(self, scores: np.ndarray) -> np.ndarray:
        """Of <unk>, which no edge bears, the pieces, and an unknown node."""
        scores = np.asarray(scores, np.float32)
        worst = scores.min() - UNKNOWN_PENALTY
        return np.concatenate([[worst], scores, [worst]]).astype(np.float32)

    def _batches(self, words: WordTable) -> Iterator["Batch"]:
        bounds = words.bounds[: words.known + 1]
        begin = 0
        while begin < words.known:
            end = int(np.searchsorted(bounds, bounds[begin] + BATCH_CHARACTERS, side="right")) - 1
            end = min(max(end, begin + 1), words.known)
            text, start, size = lay_out_types(words.store, bounds, begin, end)
            lattice = Lattice(*fill_lattice(text, self.size + 1, *self.trie.arrays))
            frequency = words.counts[begin:end, TEXTS].copy()
            yield Batch((lattice.first, lattice.piece, lattice.length, start, size), frequency)
            begin = end


@dataclass(frozen=True)
class Batch:
    """Some types: what `kernels.LATTICES` lists, and `frequency` int64 [types]."""

    lattices: tuple[np.ndarray, ...]
    frequency: np.ndarray


@kernel("Tuple((int32[::1], int32[::1], int32[::1]))(int32[::1], int64[::1], int64, int64)")
def lay_out_types(store, bounds, begin, end):
    """Types `begin` to `end` of a word table: text with a border after each, where they start, and their sizes."""
    count = end - begin
    text = np.empty(bounds[end] - bounds[begin] + count, np.int32)
    start = np.empty(count, np.int32)
    size = np.empty(count, np.int32)
    at = 0
    for number in range(count):
        start[number] = at
        size[number] = bounds[begin + number + 1] - bounds[begin + number]
        for character in range(bounds[begin + number], bounds[begin + number + 1]):
            text[at] = store[character]
            at += 1
        text[at] = BORDER
        at += 1
    return text, start, size
