"""The problem of an allocation: the vocabularies of all languages and sizes, their values and gains, and unions.

Pieces have numbers that the languages share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vocap.tables.piece_index import PieceIndex, hash_pieces


@dataclass(frozen=True)
class LanguageCurve:
    """One language: S sizes, their value and weighted gains, and the intervals of sizes in which it holds a piece.

    `ids` [P] is the shared number of each of its pieces; `entry`, `start`, `stop` [I] say that piece
    `ids[entry[k]]` is in the vocabularies of rank `start[k]` to `stop[k] - 1`; `piece` is `ids[entry]`.
    """

    language: str
    weight: float
    sizes: np.ndarray  # int64 [S]
    value: np.ndarray  # float64 [S]: value of each size in nats a line: ALP, or with fairness `fair_values`
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
    """All languages, sorted by code, the required pieces, and the capacity of the union."""

    curves: list[LanguageCurve]
    number: int  # of distinct pieces
    required: np.ndarray  # their shared numbers
    capacity: int  # T - 5

    def objective(self, ranks: Sequence[int]) -> float:
        """F = sum of w_i ALP_i (Equation 2), or of its fair values, on the curves as measured."""
        return float(sum(own.weight * own.value[rank] for own, rank in zip(self.curves, ranks, strict=True)))

    def weighed(self, weights: Sequence[float], values: Sequence[np.ndarray], curve: str = "hull") -> "Problem":
        """This problem with other weights and values; arguments as those of `merge`."""
        curves = [
            replace(own, weight=weight, value=value, gains=weight * step_gains(own.sizes, value, curve))
            for own, weight, value in zip(self.curves, weights, values, strict=True)
        ]
        return replace(self, curves=curves)

    def start(self) -> "Union":
        """Every language at its smallest size: Algorithm 1 reads a_{i,0} as minus infinity."""
        return Union(self, [0] * len(self.curves))


class Union:
    """A size for each language, and how many of them hold each piece; a step costs as much as it changes."""

    def __init__(self, problem: Problem, ranks: Sequence[int]):
        self.problem = problem
        self.ranks = list(ranks)
        self.count = np.zeros(problem.number, np.int32)
        self.count[problem.required] += 1
        for own, rank in zip(problem.curves, self.ranks, strict=True):
            self.count[own.members(rank)] += 1
        self.size = int(np.count_nonzero(self.count))

    def growth(self, language: int) -> int:
        """Growth of the union by the language's next size: new pieces less those that only this language loses."""
        own, rank = self.problem.curves[language], self.ranks[language] + 1
        new = np.count_nonzero(self.count[own.entering[rank]] == 0)
        return int(new - np.count_nonzero(self.count[own.leaving[rank]] == 1))

    def step(self, language: int) -> None:
        """Take the language to its next size."""
        own = self.problem.curves[language]
        rank = self.ranks[language] + 1
        entering, leaving = own.entering[rank], own.leaving[rank]
        self.size += int(np.count_nonzero(self.count[entering] == 0))
        self.count[entering] += 1
        self.count[leaving] -= 1
        self.size -= int(np.count_nonzero(self.count[leaving] == 0))
        self.ranks[language] = rank


def merge(
    languages: Sequence[str],
    indexes: Sequence[PieceIndex],
    values: Sequence[np.ndarray],
    weights: Sequence[float],
    required: Sequence[str],
    capacity: int,
    curve: str = "hull",
) -> Problem:
    """Number the pieces of all languages by their hashes, and sort them into steps.

    `values[k]` [S] is the curve at `indexes[k].sizes`. `required`: the characters that every union holds.
    """
    hashes = [index.hashes for index in indexes] + [hash_pieces(required)]
    _, numbers = np.unique(np.concatenate(hashes), return_inverse=True)
    numbers = numbers.astype(np.int32)
    bounds = np.concatenate([[0], np.cumsum([len(part) for part in hashes])])
    curves = []
    rows = zip(languages, indexes, values, weights, strict=True)
    for which, (language, index, value, weight) in enumerate(rows):
        ids = numbers[bounds[which] : bounds[which + 1]]
        piece = ids[index.piece]
        curves.append(
            LanguageCurve(
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
    return Problem(curves, int(numbers.max(initial=-1)) + 1, required_ids, capacity)


def _by_rank(piece: np.ndarray, rank: np.ndarray, sizes: int) -> list[np.ndarray]:
    order = np.argsort(rank, kind="stable")
    bounds = np.searchsorted(rank[order], np.arange(sizes + 1))
    by_rank = piece[order]
    return [by_rank[bounds[k] : bounds[k + 1]] for k in range(sizes)]


def upper_hull(sizes: np.ndarray, alp: np.ndarray) -> np.ndarray:
    """The least concave function above the curve, at every size [S].

    `sizes` [S] rise, `alp` [S] in nats a line. The published code's repair of a curve equals this hull.

    >>> upper_hull(np.array([1, 2, 3]), np.array([0.0, 0.0, 4.0])).tolist()
    [0.0, 2.0, 4.0]
    """
    sizes, alp = np.asarray(sizes, np.float64), np.asarray(alp, np.float64)
    corners: list[int] = []
    for point in range(len(sizes)):
        while len(corners) > 1 and _left_of(sizes, alp, corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    hull = np.interp(sizes, sizes[corners], alp[corners])
    hull[corners] = alp[corners]  # exactly: interpolation rounds
    return hull


def _left_of(x: np.ndarray, y: np.ndarray, first: int, middle: int, last: int) -> bool:
    """Whether `middle` lies on or below the chord from `first` to `last`."""
    return (y[middle] - y[first]) * (x[last] - x[first]) <= (y[last] - y[first]) * (x[middle] - x[first])


def gains_per_1k(sizes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The gain of each step to the next size, per 1,000 pieces of the language's own size [S - 1].

    A size that could not be trained makes a longer step, not a better one.
    """
    return 1000 * np.diff(np.asarray(values, np.float64)) / np.diff(np.asarray(sizes, np.float64))


def step_gains(sizes: np.ndarray, alp: np.ndarray, curve: str) -> np.ndarray:
    """Gains per 1,000 of every step [S - 1]: on the `hull`, where they never rise, or on the `raw` curve."""
    return gains_per_1k(sizes, upper_hull(sizes, alp) if curve == "hull" else alp)


def fair_values(alp: np.ndarray, fairness: float) -> np.ndarray:
    """The value of every size of one language [S] in nats a line, with more weight far from its best ALP.

    `alp` [S] is its ALP, best its largest. A size then costs x = ALP / best times the nats of the language's best
    vocabulary, x >= 1, independent of the length of its lines. The value is

        best (x^(1 + fairness) + fairness) / (1 + fairness):

    its ALP where `fairness` is 0; else still best at its best, and one nat counts x^fairness times. This is
    the power family of fair objectives (Atkinson 1970; Mo and Walrand 2000 call it alpha-fairness): the larger
    `fairness`, the more the language of the largest x decides, and in the limit that one alone (max-min). The
    objective stays a sum over languages, so Algorithm 1 and the bound apply. Where the best is 0 the value is ALP.

    >>> fair_values(np.array([-15.0, -10.0]), 1.0).tolist()
    [-16.25, -10.0]
    """
    alp = np.asarray(alp, np.float64)
    best = alp.max()
    if fairness == 0 or best >= 0:
        return alp
    return best * ((alp / best) ** (1 + fairness) + fairness) / (1 + fairness)
