"""Which pieces languages share, small enough for the page: pieces that behave alike become one class.

Two pieces are alike where the same languages hold them at the same sizes: only how many there are matters to the
size of a union. Single characters stay apart, for any of them may be required.
"""

import base64
import itertools
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vocap.vocabularies.index import PieceIndex, hash_pieces


@dataclass(frozen=True)
class Overlap:
    """C classes of pieces, and for each language the intervals of sizes in which it holds a class.

    `times` int64 [C] is how many pieces a class stands for. The first `len(characters)` classes are these
    characters, by code point, one piece each. `entries[k]`: int64 arrays `class`, `start`, `stop` [E_k], by class:
    language k holds the class in the vocabularies of rank start to stop - 1.
    `thinned` is 1 where all pieces are counted; else of the pieces that languages share 1 in `thinned` was
    taken, by its hash, and stands for that many.
    """

    characters: str
    times: np.ndarray
    entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    thinned: int = 1

    def union(self, ranks: Sequence[int]) -> int:
        """How many pieces the vocabularies of these ranks hold together."""
        held = np.zeros(len(self.times), bool)
        for (piece, start, stop), rank in zip(self.entries, ranks, strict=True):
            held[piece[(start <= rank) & (rank < stop)]] = True
        return int(self.times[held].sum())


def find_overlap(
    indexes: Sequence[PieceIndex], tables: Sequence[Mapping[str, float] | None], thinned: int = 1
) -> Overlap:
    """The classes of the pieces of these languages. `tables`: the characters of each language's text.

    `thinned` is a power of 2.
    """
    single = [_single_characters(index) for index in indexes]
    characters = sorted({*(c for table in tables if table for c in table), *(c for s in single for c in s)})
    parts = [hash_pieces(characters), *(index.hashes for index in indexes)]
    hashes, number = np.unique(np.concatenate(parts), return_inverse=True)
    bounds = np.cumsum([len(part) for part in parts])
    mine = [number[low:high] for low, high in itertools.pairwise(bounds)]
    slots = max(len(index.sizes) for index in indexes) + 1
    code = np.concatenate(
        [(k * slots + index.start.astype(np.int64)) * slots + index.stop for k, index in enumerate(indexes)]
    )
    piece = np.concatenate([ids[index.piece] for ids, index in zip(mine, indexes, strict=True)])
    taken, times = _take(hashes, mine, thinned)
    is_character = np.zeros(len(hashes), bool)
    is_character[number[: len(characters)]] = True
    times[is_character], taken[is_character] = 1, True

    others = taken & ~is_character
    _, found = np.unique(_classify(piece, code, len(hashes))[others], return_inverse=True)
    classes = np.full(len(hashes), -1)
    classes[number[: len(characters)]] = np.arange(len(characters))
    classes[others] = len(characters) + found
    counts = np.bincount(classes[taken], times[taken]).astype(np.int64)
    kept = taken[piece]
    language, interval = np.divmod(code[kept], slots**2)
    distinct = np.unique((language * len(counts) + classes[piece[kept]]) * slots**2 + interval)
    owner, interval = np.divmod(distinct, slots**2)
    entries = []
    for k in range(len(indexes)):
        low, high = np.searchsorted(owner, [k * len(counts), (k + 1) * len(counts)])
        held = owner[low:high] - k * len(counts)
        entries.append((held, *np.divmod(interval[low:high], slots)))
    return Overlap("".join(characters), counts, entries, thinned)


def _take(hashes: np.ndarray, mine: list[np.ndarray], thinned: int) -> tuple[np.ndarray, np.ndarray]:
    """Which pieces are counted, and for how many each: all for one, or of those that are shared 1 in `thinned`."""
    owners = np.bincount(np.concatenate(mine), minlength=len(hashes))  # a language has a piece once in its index
    shared = owners > 1
    return ~shared | (hashes % np.uint64(thinned) == 0), np.where(shared, thinned, 1)


def _classify(piece: np.ndarray, code: np.ndarray, number: int) -> np.ndarray:
    """A class for each of `number` pieces [number]: pieces with the same codes have the same.

    The k-th pass tells pieces apart by their k-th code, so that near classes have near numbers.
    """
    span = int(code.max(initial=0)) + 1
    piece, code = np.divmod(np.sort(piece * span + code), span)
    first = np.searchsorted(piece, np.arange(number + 1))
    lengths, first = np.diff(first), first[:-1]
    classes = np.zeros(number, np.int64)
    rows, before, low, depth = np.flatnonzero(lengths > 0), 0, 1, 0
    while len(rows):
        _, found = np.unique((classes[rows] - before) * span + code[first[rows] + depth], return_inverse=True)
        classes[rows] = low + found
        before, low = low, low + int(found.max()) + 1
        depth += 1
        rows = rows[lengths[rows] > depth]
    return classes


def _single_characters(index: PieceIndex) -> list[str]:
    """The pieces that are one character."""
    lead = index.text[index.offsets[:-1]]
    length = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    return index.strings(np.flatnonzero(length == np.diff(index.offsets)))


def pack(overlap: Overlap, tables: Sequence[Mapping[str, float] | None], stops: Sequence[int]) -> str:
    """Base64 of the zlib stream that `overlap.js` reads; `stops[k]` is the number of sizes of language k.

    The arrays follow one another, each as planes: all lowest bytes, then all second ones and so on, for most of
    the higher ones are zero. uint32 `times` [C]; of all entries, language after language, the distance in classes
    to the one before, then start, then sizes from stop to the end of the ladder; of all rows of the tables the
    character's number, and float64 how often it stands in a line.
    """
    number = {character: place for place, character in enumerate(overlap.characters)}
    rows = [(number[character], per_line) for table in tables for character, per_line in (table or {}).items()]
    arrays = [
        overlap.times,
        np.concatenate([np.diff(piece, prepend=0) for piece, _, _ in overlap.entries]),
        np.concatenate([start for _, start, _ in overlap.entries]),
        np.concatenate([last - stop for (_, _, stop), last in zip(overlap.entries, stops, strict=True)]),
        np.array([character for character, _ in rows]),
    ]
    planes = [_planes(array.astype("<u4")) for array in arrays]
    planes.append(_planes(np.array([per_line for _, per_line in rows], "<f8")))
    return base64.b64encode(zlib.compress(b"".join(planes), 9)).decode()


def _planes(array: np.ndarray) -> bytes:
    return array.view(np.uint8).reshape(len(array), array.itemsize).T.tobytes()
