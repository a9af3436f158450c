"""The vocabularies of every language and size, in numbers that the languages share, and the union of a choice."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vocap.allocation.envelope import step_gains
from vocap.vocabularies.index import PieceIndex, hash_pieces


@dataclass(frozen=True)
class Ladder:
    """One language: S sizes, their value and weighted gains, and the intervals of sizes in which it holds a piece.

    `ids` [P] is the shared number of each of its pieces; `entry`, `start`, `stop` [I] say that piece
    `ids[entry[k]]` is in the vocabularies of rank `start[k]` to `stop[k] - 1`; `piece` is `ids[entry]`.
    """

    language: str
    weight: float
    sizes: np.ndarray  # int64 [S]
    value: np.ndarray  # float64 [S]: what each size is worth, in nats a line: ALP, or with fairness `fair_values`
    gains: np.ndarray  # float64 [S - 1]: weight x gain in value per 1K of the step to the next size
    ids: np.ndarray
    entry: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    piece: np.ndarray
    entering: list[np.ndarray]  # by rank: pieces that this size has and the one before has not
    leaving: list[np.ndarray]  # by rank: pieces that the size before has and this one has not

    def members(self, rank: int) -> np.ndarray:
        """The shared numbers of the pieces of the vocabulary of this rank."""
        return self.piece[(self.start <= rank) & (rank < self.stop)]


@dataclass(frozen=True)
class Problem:
    """All languages, sorted by code, the pieces that must be in, and the room for the union."""

    ladders: list[Ladder]
    number: int  # of distinct pieces
    required: np.ndarray  # their shared numbers
    capacity: int  # T - 5

    def objective(self, ranks: Sequence[int]) -> float:
        """F = sum of w_i ALP_i (Equation 2), or of its fair values, on the curves as measured."""
        return float(sum(lad.weight * lad.value[rank] for lad, rank in zip(self.ladders, ranks, strict=True)))

    def weighed(self, weights: Sequence[float], values: Sequence[np.ndarray], curve: str = "hull") -> "Problem":
        """The same vocabularies with other weights and values; arguments as those of `merge`."""
        ladders = [
            replace(ladder, weight=weight, value=value, gains=weight * step_gains(ladder.sizes, value, curve))
            for ladder, weight, value in zip(self.ladders, weights, values, strict=True)
        ]
        return replace(self, ladders=ladders)

    def start(self) -> "Union":
        """Every language at its smallest size: Algorithm 1 reads a_{i,0} as minus infinity."""
        return Union(self, [0] * len(self.ladders))


class Union:
    """A size for each language, and how many of them hold each piece; a step costs as much as it changes."""

    def __init__(self, problem: Problem, ranks: Sequence[int]):
        self.problem = problem
        self.ranks = list(ranks)
        self.count = np.zeros(problem.number, np.int32)
        self.count[problem.required] += 1
        for ladder, rank in zip(problem.ladders, self.ranks, strict=True):
            self.count[ladder.members(rank)] += 1
        self.size = int(np.count_nonzero(self.count))

    def growth(self, language: int) -> int:
        """How much the union would grow by the language's next size: what is new less what nobody else holds."""
        ladder, rank = self.problem.ladders[language], self.ranks[language] + 1
        new = np.count_nonzero(self.count[ladder.entering[rank]] == 0)
        return int(new - np.count_nonzero(self.count[ladder.leaving[rank]] == 1))

    def step(self, language: int) -> None:
        """Take the language to its next size."""
        ladder = self.problem.ladders[language]
        rank = self.ranks[language] + 1
        entering, leaving = ladder.entering[rank], ladder.leaving[rank]
        self.size += int(np.count_nonzero(self.count[entering] == 0))
        self.count[entering] += 1
        self.count[leaving] -= 1
        self.size -= int(np.count_nonzero(self.count[leaving] == 0))
        self.ranks[language] = rank

    def costs(self, language: int) -> tuple[int, np.ndarray]:
        """The union of all the others, and how many pieces each size of this language would add to it [S]."""
        ladder = self.problem.ladders[language]
        present = ladder.members(self.ranks[language])
        self.count[present] -= 1
        own = self.count[ladder.piece] == 0
        self.count[present] += 1
        slots = len(ladder.sizes) + 1
        edges = np.bincount(ladder.start[own], minlength=slots) - np.bincount(ladder.stop[own], minlength=slots)
        added = np.cumsum(edges)[:-1]
        return self.size - int(added[self.ranks[language]]), added


def merge(
    languages: Sequence[str],
    indexes: Sequence[PieceIndex],
    values: Sequence[np.ndarray],
    weights: Sequence[float],
    required: Sequence[str],
    capacity: int,
    curve: str = "hull",
) -> Problem:
    """Number the pieces of all languages alike (by their hashes) and sort them into steps.

    `values[k]` [S] is the curve at `indexes[k].sizes`. `required` are the characters that must be in.
    """
    hashes = [index.hashes for index in indexes] + [hash_pieces(required)]
    _, numbers = np.unique(np.concatenate(hashes), return_inverse=True)
    numbers = numbers.astype(np.int32)
    bounds = np.concatenate([[0], np.cumsum([len(part) for part in hashes])])
    ladders = []
    rows = zip(languages, indexes, values, weights, strict=True)
    for which, (language, index, value, weight) in enumerate(rows):
        ids = numbers[bounds[which] : bounds[which + 1]]
        piece = ids[index.piece]
        ladders.append(
            Ladder(
                language=language,
                weight=weight,
                sizes=index.sizes.astype(np.int64),
                value=np.asarray(value, np.float64),
                gains=weight * step_gains(index.sizes, value, curve),
                ids=ids,
                entry=index.piece,
                start=index.start,
                stop=index.stop,
                piece=piece,
                entering=_by_rank(piece, index.start, len(index.sizes)),
                leaving=_by_rank(piece, index.stop, len(index.sizes)),
            )
        )
    required_ids = np.unique(numbers[bounds[-2] :])
    return Problem(ladders, int(numbers.max(initial=-1)) + 1, required_ids, capacity)


def _by_rank(piece: np.ndarray, rank: np.ndarray, sizes: int) -> list[np.ndarray]:
    order = np.argsort(rank, kind="stable")
    bounds = np.searchsorted(rank[order], np.arange(sizes + 1))
    by_rank = piece[order]
    return [by_rank[bounds[k] : bounds[k + 1]] for k in range(sizes)]
