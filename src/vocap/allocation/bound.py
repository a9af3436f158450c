"""How good could any allocation be? A bound by Lagrange multipliers with shared piece prices."""

import numpy as np

from vocap.allocation.ladders import Problem

ROUNDS = 60


def upper_bound(problem: Problem, rounds: int = ROUNDS) -> float:
    """A number that no allocation's objective exceeds while its union is within the capacity.

    Split the price of a piece among the languages whose ladder ever holds it: shares y_ip >= 0, their sum over i
    at most 1. Whatever is chosen, nested vocabularies or not, the union has at least sum_i c_i(t_i) pieces, c_i(t)
    the sum of y_ip over the pieces of V_i(t). So for every lambda >= 0

        max F <= lambda T + sum_i max_t [w_i ALP_i(t) - lambda c_i(t)].

    Each language is maximised alone, the best lambda found by bisection; then the shares move toward the languages
    that hold a piece at their present best size, and so on: every round gives a bound, the smallest is returned.
    ALP as measured, not its hull. Pieces that every choice holds (required characters, and those that a language
    has at all its sizes) are paid once and cost nobody anything.
    """
    contest = _Contest(problem)
    best = np.inf
    for number in range(rounds):
        costs = contest.costs()
        value, ranks = contest.minimise(costs)
        best = min(best, value)
        contest.share(ranks, 0.5 / (1 + 0.3 * number))
    return best


class _Contest:
    """The arrays of all languages end to end, without the pieces that every choice holds."""

    def __init__(self, problem: Problem):
        ladders = problem.ladders
        width = max(len(ladder.sizes) for ladder in ladders)
        self.slots = width + 1
        self.values = np.full((len(ladders), width), -np.inf)
        for which, ladder in enumerate(ladders):
            self.values[which, : len(ladder.sizes)] = ladder.weight * ladder.value
        always = np.zeros(problem.number, bool)
        always[problem.required] = True
        for ladder in ladders:
            always[ladder.piece[(ladder.start == 0) & (ladder.stop == len(ladder.sizes))]] = True
        self.room = problem.capacity - int(np.count_nonzero(always))
        owners = np.zeros(problem.number, np.int32)
        for ladder in ladders:
            owners[ladder.ids] += 1
        alone = owners == 1
        self.fixed = np.zeros((len(ladders), self.slots))  # edges of c_i from pieces of a single language
        shared_piece, pair, start, stop, language = [], [], [], [], []
        pairs = 0
        for which, ladder in enumerate(ladders):
            mine = alone[ladder.piece] & ~always[ladder.piece]
            self.fixed[which] += np.bincount(ladder.start[mine], minlength=self.slots)
            self.fixed[which] -= np.bincount(ladder.stop[mine], minlength=self.slots)
            contested = ~alone[ladder.ids] & ~always[ladder.ids]
            local = np.cumsum(contested) - 1 + pairs
            kept = contested[ladder.entry]
            pair.append(local[ladder.entry[kept]])
            start.append(ladder.start[kept].astype(np.int64))
            stop.append(ladder.stop[kept].astype(np.int64))
            language.append(np.full(len(pair[-1]), which))
            shared_piece.append(ladder.ids[contested])
            pairs += int(np.count_nonzero(contested))
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
            value = float(self.values[rows, ranks].sum()) + multiplier * (self.room - spent)
            return value, spent, ranks

        low, high = 0.0, 1e-9
        value, spent, ranks = at(low)
        if spent <= self.room:
            return value, ranks
        while at(high)[1] > self.room and high < 1e18:
            low, high = high, high * 4
        best = min((at(low), at(high)), key=lambda result: result[0])
        for _ in range(60):
            middle = (low + high) / 2
            result = at(middle)
            if result[0] < best[0]:
                best = result
            if result[1] > self.room:
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
        rate = np.where(holders > 0, step, 0.0)  # nobody holds it: the shares stay
        part = rate / np.maximum(holders, 1)
        self.shares += part[self.piece] * holds - rate[self.piece] * self.shares
