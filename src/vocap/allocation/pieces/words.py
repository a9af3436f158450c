"""Whole words as candidates of a branch.

Classic seeds lack a word that the same character always follows, most often the next word's space; so at large T
neither trunk nor pool holds enough of them. A word is here a stretch of a word type that is a valid piece, as long
as possible: without the punctuation, for example, where no piece mixes scripts.
"""

import numpy as np

from vocap.allocation.pieces.language import PieceTable
from vocap.unigram.seeds import valid_stretches
from vocap.unigram.word_types import WordTypes

OCCURRENCES = 2  # in one language, as of a seed


class WholeWords:
    """The words of all languages, each with its value: the sum over languages of weight x occurrences a line x
    characters.

    At most `most` of each language are counted, those of the largest values in it.
    """

    def __init__(self, most: int):
        self._most = most
        self._table = PieceTable()
        self._values = np.zeros(0)
        self._scores = np.zeros(0, np.float32)

    def add(self, words: WordTypes, weight: float) -> None:
        """Count the words of one language."""
        place, length, types = valid_stretches(words)
        numbers = PieceTable().add(words.text, place, length)
        _, first = np.unique(numbers, return_index=True)
        occurrences = np.zeros(len(first), np.int64)
        np.add.at(occurrences, numbers, words.frequencies[types])
        total = occurrences.sum()
        best = np.argsort(-occurrences * length[first], kind="stable")[: self._most]
        best = np.sort(best[occurrences[best] >= OCCURRENCES])
        place, length, occurrences = place[first[best]], length[first[best]], occurrences[best]
        numbers = self._table.add(words.text, place, length)
        new = len(self._table) - len(self._values)
        self._values = np.append(self._values, np.zeros(new))
        self._scores = np.append(self._scores, np.full(new, -np.inf, np.float32))
        self._values[numbers] += weight / words.sentences["train"] * (occurrences * length)
        self._scores[numbers] = np.maximum(self._scores[numbers], np.log(occurrences / total).astype(np.float32))

    def best(self, most: int) -> tuple[list[str], np.ndarray]:
        """The `most` words of the largest values, by (value descending, text), and their scores float32.

        A score is the log of a word's largest share in a language.
        """
        least = np.partition(self._values, -most)[-most] if len(self._values) > most else 0
        numbers = np.flatnonzero(self._values >= least)
        words, values = self._table.strings(numbers), self._values[numbers].tolist()
        order = sorted(range(len(words)), key=lambda place: (-values[place], words[place]))[:most]
        return [words[place] for place in order], self._scores[numbers[order]]
