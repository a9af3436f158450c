"""An upper bound of the objective of any allocation, by Lagrange multipliers with shared piece prices."""

import numpy as np

from vocap.allocation.problem import Problem

ROUNDS = 60


def upper_bound(problem: Problem, rounds: int = ROUNDS) -> float:
    """A number that no allocation's objective exceeds while its union is within the capacity.

    In the unit of `Problem.objective`. `rounds` of the subgradient method: more give a lower bound, in
    proportional time. Split the price of a piece among the languages whose ladder ever holds it: shares y_ip >=
    0, their sum over i at most 1. For any choice, of nested vocabularies or not, the union has at least sum_i
    c_i(t_i) pieces, c_i(t) the sum of y_ip over the pieces of V_i(t). So for every lambda >= 0

        max F <= lambda T + sum_i max_t [w_i ALP_i(t) - lambda c_i(t)].

    Each language is maximised alone, the best lambda found by bisection; then the shares move toward the languages
    that hold a piece at their present best size. Every round gives a bound; the smallest is returned.
    ALP as measured, not its hull. Pieces that every choice holds (required characters, and those that a language
    has at all its sizes) count once and cost no language anything.
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
    """The arrays of all languages end to end, without the pieces that every choice holds."""

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
        self.fixed = np.zeros((len(curves), self.slots))  # edges of c_i from pieces of a single language
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
        """The smallest bound over lambda (the bound is convex in it), and the best ranks there."""
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
        """Move the shares of a piece toward the languages that hold it at these ranks."""
        rank = ranks[self.language]
        holds = np.zeros(len(self.shares))
        holds[self.pair[(self.start <= rank) & (rank < self.stop)]] = 1
        holders = np.bincount(self.piece, holds, self.pieces)
        rate = np.where(holders > 0, step, 0.0)  # without a holder the shares stay
        part = rate / np.maximum(holders, 1)
        self.shares += part[self.piece] * holds - rate[self.piece] * self.shares
