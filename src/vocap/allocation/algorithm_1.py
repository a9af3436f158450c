"""Algorithm 1 of Zheng et al. (2021): the problem, and its choice on the curves' hulls.

Vocabularies of all languages and sizes have values and weighted gains (Equation 2);
their pieces have numbers that the languages share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vocap.tables.piece_index import PieceIndex, hash_pieces


@dataclass(frozen=True)
class LanguageCurve:
    """One language: S sizes, their value and weighted gains, and the intervals of sizes
    in which it holds a piece.

    `ids` [P] is the shared number of each of its pieces; `entry`, `start`, `stop` [I]
    say that piece `ids[entry[k]]` is in the vocabularies of rank `start[k]` to
    `stop[k] - 1`; `piece` is `ids[entry]`.
    """

    language: str
    weight: float
    sizes: np.ndarray  # int64 [S]
    # float64 [S]: value of each size in nats a line: ALP, or with fairness
    # `fair_values`
    value: np.ndarray
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
    """All languages, sorted by code, the required pieces, and the capacity of the
    union.
    """

    curves: list[LanguageCurve]
    number: int  # of distinct pieces
    required: np.ndarray  # their shared numbers
    capacity: int  # T - 5

    def objective(self, ranks: Sequence[int]) -> float:
        """F = sum of w_i ALP_i (Equation 2), or of its fair values, on the curves as
        measured.
        """
        return float(
            sum(own.weight * own.value[rank] for own, rank in zip(self.curves, ranks, strict=True))
        )

    def weighed(self, weights: Sequence[float], values: Sequence[np.ndarray]) -> "Problem":
        """This problem with other weights and values; arguments as those of `merge`."""
        curves = [
            replace(own, weight=weight, value=value, gains=weight * hull_gains(own.sizes, value))
            for own, weight, value in zip(self.curves, weights, values, strict=True)
        ]
        return replace(self, curves=curves)


class Union:
    """A size for each language, and how many of them hold each piece; a step costs as
    much as it changes.
    """

    def __init__(self, problem: Problem, ranks: Sequence[int]):
        self.problem = problem
        self.ranks = list(ranks)
        self.count = np.zeros(problem.number, np.int32)
        self.count[problem.required] += 1
        for own, rank in zip(problem.curves, self.ranks, strict=True):
            self.count[own.members(rank)] += 1
        self.size = int(np.count_nonzero(self.count))

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
) -> Problem:
    """Number the pieces of all languages by their hashes, and sort them into steps.

    `values[k]` [S] is the curve at `indexes[k].sizes`. `required`: the characters that
    every union holds.
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
                gains=weight * hull_gains(index.sizes, value),
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

    `sizes` [S] rise, `alp` [S] in nats a line. The published code's repair of a curve
    equals this hull.

    >>> upper_hull(np.array([1, 2, 3]), np.array([0.0, 0.0, 4.0])).tolist()
    [0.0, 2.0, 4.0]
    """
    sizes, alp = np.asarray(sizes, np.float64), np.asarray(alp, np.float64)
    corners: list[int] = []

    def below_chord(first: int, middle: int, last: int) -> bool:
        rise = (alp[last] - alp[first]) * (sizes[middle] - sizes[first])
        return (alp[middle] - alp[first]) * (sizes[last] - sizes[first]) <= rise

    for point in range(len(sizes)):
        while len(corners) > 1 and below_chord(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    hull = np.interp(sizes, sizes[corners], alp[corners])
    hull[corners] = alp[corners]  # exactly: interpolation rounds
    return hull


def hull_gains(sizes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The gain of each step to the next size on the curve's hull, per 1,000 pieces [S -
    1]; it never rises.

    A size that could not be trained makes a longer step, not a better one.
    """
    return 1000 * np.diff(upper_hull(sizes, values)) / np.diff(np.asarray(sizes, np.float64))


def fair_values(alp: np.ndarray, fairness: float) -> np.ndarray:
    """The value of every size of one language [S] in nats a line, with more weight far
    from its best ALP.

    `alp` [S] is its ALP, best its largest. A size then costs x = ALP / best times the
    nats of the language's best vocabulary, x >= 1, independent of the length of its
    lines. The value is

        best (x^(1 + fairness) + fairness) / (1 + fairness):

    its ALP where `fairness` is 0; else still best at its best, and one nat counts
    x^fairness times. This is the power family of fair objectives (Atkinson 1970; Mo and
    Walrand 2000 call it alpha-fairness): the larger `fairness`, the more the language
    of the largest x decides, and in the limit that one alone (max-min). The objective
    stays a sum over languages, so Algorithm 1 applies. Where the best is 0
    the value is ALP.

    >>> fair_values(np.array([-15.0, -10.0]), 1.0).tolist()
    [-16.25, -10.0]
    """
    alp = np.asarray(alp, np.float64)
    best = alp.max()
    if fairness == 0 or best >= 0:
        return alp
    return best * ((alp / best) ** (1 + fairness) + fairness) / (1 + fairness)


@dataclass(frozen=True)
class SizeChoice:
    """A size for each language (its rank), with and without the step that overshoots.

    `fitting` has a union of at most the capacity; None when the smallest sizes alone are
    too many. `ranks` gives the
    vocabulary: its union reaches the capacity (and is then clipped), unless every curve
    is `exhausted`.
    """

    ranks: tuple[int, ...]
    union: int
    fitting: tuple[int, ...] | None
    fitting_union: int | None
    last: int | None  # the language of the step from `fitting` to `ranks`


def next_gain(union: Union, language: int) -> float:
    """Weighted gain per 1K of the language's next step; minus infinity where no step
    has a positive gain.
    """
    own, rank = union.problem.curves[language], union.ranks[language]
    if rank + 1 >= len(own.sizes) or not own.gains[rank] > 0:
        return -np.inf
    return float(own.gains[rank])


def allocate_greedy(problem: Problem) -> SizeChoice:
    """Take the step of the largest weighted gain per 1K until the union holds the
    capacity: Algorithm 1.

    Of equal gains the first language in the order of `problem.curves` moves. The gains
    along a hull never rise, so a language without a positive gain takes no further
    step. The start is every language at its smallest size, as Algorithm 1 reads a_{i,0} as
    minus infinity. Returns the last ranks whose
    union fits, and those of the step beyond.
    """
    union = Union(problem, [0] * len(problem.curves))
    fitting, fitting_union, last = None, None, None
    gains = np.array([next_gain(union, language) for language in range(len(problem.curves))])
    while True:
        if union.size <= problem.capacity:
            fitting, fitting_union = tuple(union.ranks), union.size
        best = int(np.argmax(gains))
        if union.size >= problem.capacity or gains[best] == -np.inf:
            break
        union.step(best)
        gains[best] = next_gain(union, best)
        last = best
    if union.size <= problem.capacity or fitting is None:
        last = None
    return SizeChoice(tuple(union.ranks), union.size, fitting, fitting_union, last)
