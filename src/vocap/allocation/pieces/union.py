"""The pieces of all languages in one numbering, as arrays: there may be millions of them."""

from collections.abc import Iterable

import numpy as np

from vocap.vocabularies.ladder.kernels import kernel
from vocap.vocabularies.ladder.word_table import WordTable, find_word


class Union:
    """Distinct pieces, numbered as they are added: piece k is `store[bounds[k]:bounds[k + 1]]` of the table."""

    def __init__(self):
        self._table = WordTable(texts=0)

    def __len__(self) -> int:
        return self._table.known

    def add(self, text: np.ndarray, place: np.ndarray, length: np.ndarray) -> np.ndarray:
        """The numbers of the pieces `text[place[i]:place[i] + length[i]]`, int32 [i]; new pieces get new ones."""
        table = self._table
        table.reserve(len(place), int(length.sum(dtype=np.int64)))
        numbers = np.empty(len(place), np.int32)
        table.known = number_pieces(text, place, length, numbers, table.known, *table.arrays())
        return numbers

    def add_characters(self, characters: Iterable[str]) -> np.ndarray:
        """The numbers of single characters."""
        text = np.array([ord(character) for character in characters], np.int32)
        return self.add(text, np.arange(len(text), dtype=np.int32), np.ones(len(text), np.int32))

    def strings(self, numbers: np.ndarray) -> list[str]:
        """The pieces of these numbers."""
        store, bounds = self._table.store, self._table.bounds
        begins, ends = bounds[numbers].tolist(), bounds[numbers + 1].tolist()
        return [store[begin:end].tobytes().decode("utf-32-le") for begin, end in zip(begins, ends, strict=True)]


@kernel(
    "int64(int32[::1], int32[::1], int32[::1], int32[::1], int64, int32[::1], int64[::1], uint64[::1], int32[::1])"
)
def number_pieces(text, place, length, numbers, known, store, bounds, hashes, slots):
    """Fill `numbers`; returns how many pieces are known now."""
    for piece in range(place.size):
        number = find_word(text, place[piece], place[piece] + length[piece], known, store, bounds, hashes, slots)
        numbers[piece] = number
        known = max(known, number + 1)
    return known
