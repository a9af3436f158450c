"""Algorithm 1 of Zheng et al. (2021): the problem, its choice on the curves' hulls, and
a bound of any choice.

Vocabularies of all languages and sizes have values and weighted gains (Equation 2);
their pieces have numbers that the languages share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vocap.tables.piece_index import PieceIndex, hash_pieces

ROUNDS = 60  # of the bound's subgradient method


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

    def start(self) -> "Union":
        """Every language at its smallest size: Algorithm 1 reads a_{i,0} as minus
        infinity.
        """
        return Union(self, [0] * len(self.curves))


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
    stays a sum over languages, so Algorithm 1 and the bound apply. Where the best is 0
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

    `fitting` has a union of at most the capacity, where the objective is compared with
    the bound; None when the smallest sizes alone are too many. `ranks` gives the
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
    step. The start is every language at its smallest size. Returns the last ranks whose
    union fits, and those of the step beyond.
    """
    union = problem.start()
    fitting, fitting_union, last = None, None, None
    gains = [next_gain(union, language) for language in range(len(problem.curves))]
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


def upper_bound(problem: Problem, rounds: int = ROUNDS) -> float:
    """A number that no allocation's objective exceeds while its union is within the capacity.

    In the unit of `Problem.objective`. `rounds` of the subgradient method: more give a
    lower bound, in proportional time. Split the price of a piece among the languages
    whose ladder ever holds it: shares y_ip >= 0, their sum over i at most 1. For any
    choice, of nested vocabularies or not, the union has at least sum_i c_i(t_i) pieces,
    c_i(t) the sum of y_ip over the pieces of V_i(t). So for every lambda >= 0

        max F <= lambda T + sum_i max_t [w_i ALP_i(t) - lambda c_i(t)].

    Each language is maximised alone, the best lambda found by bisection; then the
    shares move toward the languages that hold a piece at their present best size. Every
    round gives a bound; the smallest is returned. ALP as measured, not its hull. Pieces
    that every choice holds (required characters, and those that a language has at all
    its sizes) count once and cost no language anything.
    """
    shares = _PriceShares(problem)
    best = np.inf
    for number in range(rounds):
        costs = shares.costs()
        value, ranks = shares.minimise(costs)
        best = min(best, value)
        shares.share(ranks, 0.5 / (1 + 0.3 * number))
    return best


class _PriceShares:
    """The arrays of all languages end to end, without the pieces that every choice
    holds.
    """

    def __init__(self, problem: Problem):
        curves = problem.curves
        width = max(len(own.sizes) for own in curves)
        self.slots = width + 1
        self.values = np.full((len(curves), width), -np.inf)
        for which, own in enumerate(curves):
            self.values[which, : len(own.sizes)] = own.weight * own.value
        # pieces that every choice holds
        always = np.zeros(problem.number, bool)
        always[problem.required] = True
        for own in curves:
            always[own.piece[(own.start == 0) & (own.stop == len(own.sizes))]] = True
        self.available = problem.capacity - int(np.count_nonzero(always))
        # pieces of a single language, and the intervals of shared ones
        owners = np.zeros(problem.number, np.int32)
        for own in curves:
            owners[own.ids] += 1
        alone = owners == 1
        # edges of c_i from pieces of a single language
        self.fixed = np.zeros((len(curves), self.slots))
        shared_piece, pair, start, stop, language = [], [], [], [], []
        pairs = 0
        for which, own in enumerate(curves):
            mine = alone[own.piece] & ~always[own.piece]
            self.fixed[which] += np.bincount(own.start[mine], minlength=self.slots)
            self.fixed[which] -= np.bincount(own.stop[mine], minlength=self.slots)
            priced = ~alone[own.ids] & ~always[own.ids]
            local = np.cumsum(priced) - 1 + pairs
            kept = priced[own.entry]
            pair.append(local[own.entry[kept]])
            start.append(own.start[kept].astype(np.int64))
            stop.append(own.stop[kept].astype(np.int64))
            language.append(np.full(len(pair[-1]), which))
            shared_piece.append(own.ids[priced])
            pairs += int(np.count_nonzero(priced))
        self.pair, self.start, self.stop = map(np.concatenate, (pair, start, stop))
        self.language = np.concatenate(language)
        _, self.piece = np.unique(np.concatenate(shared_piece), return_inverse=True)
        self.pieces = int(self.piece.max(initial=-1)) + 1
        self.from_slot = self.language * self.slots + self.start
        self.to_slot = self.language * self.slots + self.stop
        self.shares = 1 / np.bincount(self.piece, minlength=self.pieces)[self.piece]

    def costs(self) -> np.ndarray:
        """c_i(t) [languages, sizes]."""
        share = self.shares[self.pair]
        cells = self.fixed.size
        edges = np.bincount(self.from_slot, share, cells) - np.bincount(self.to_slot, share, cells)
        return np.cumsum(self.fixed + edges.reshape(self.fixed.shape), axis=1)[:, :-1]

    def minimise(self, costs: np.ndarray) -> tuple[float, np.ndarray]:
        """The smallest bound over lambda (the bound is convex in it), and the best
        ranks there.
        """
        rows = np.arange(len(costs))

        def at(multiplier: float) -> tuple[float, float, np.ndarray]:
            ranks = np.argmax(self.values - multiplier * costs, axis=1)
            spent = float(costs[rows, ranks].sum())
            value = float(self.values[rows, ranks].sum()) + multiplier * (self.available - spent)
            return value, spent, ranks

        low, high = 0.0, 1e-9
        value, spent, ranks = at(low)
        if spent <= self.available:
            return value, ranks
        while at(high)[1] > self.available and high < 1e18:
            low, high = high, high * 4
        best = min((at(low), at(high)), key=lambda result: result[0])
        for _ in range(60):
            middle = (low + high) / 2
            result = at(middle)
            if result[0] < best[0]:
                best = result
            if result[1] > self.available:
                low = middle
            else:
                high = middle
        return best[0], at(high)[2]

    def share(self, ranks: np.ndarray, step: float) -> None:
        """Move the shares of a piece toward the languages that hold it at these
        ranks.
        """
        rank = ranks[self.language]
        holds = np.zeros(len(self.shares))
        holds[self.pair[(self.start <= rank) & (rank < self.stop)]] = 1
        holders = np.bincount(self.piece, holds, self.pieces)
        rate = np.where(holders > 0, step, 0.0)  # without a holder the shares stay
        part = rate / np.maximum(holders, 1)
        self.shares += part[self.piece] * holds - rate[self.piece] * self.shares
