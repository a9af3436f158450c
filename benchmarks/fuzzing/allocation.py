"""Allocations at random against the paper's text, and against all allocations tried.

    python benchmarks/fuzzing/allocation.py [--seed 1] [--minutes 10] [--first 0]
        [--inputs N]

Input number n is drawn from the seed and n alone: one to four languages of one to five
sizes with pieces that they share or not, nearly nested or not at all; curves that rise,
bend, fall, or tie; text of a line to 10^12 lines; T from below the characters to beyond
all pieces; alpha, beta, fairness, coverage.

`solve` is held to Algorithm 1 written anew from section 2.2 of the paper, with sets of
strings and exact fractions, and to the documented additions (docs/allocation.md): the
hull, required characters, clipping to exactly T - 5, no single character clipped. All
allocations are tried: no choice may be worth more than the best that fits. Where two
gains are equal but for rounding, either may move: those inputs are counted apart, and
only their totals are checked.

A difference is printed with its number; `--first N --inputs 1` repeats it. Exit status
1 where there was one.
"""

import argparse
import itertools
import random
import sys
import time
import traceback
from collections import Counter
from fractions import Fraction

import numpy as np

from vocap.allocation.inputs import Inputs, LanguageInput
from vocap.allocation.settings import Allocation
from vocap.allocation.solution import Solution, solve
from vocap.errors import UsageError
from vocap.tables.piece_index import build

SPECIALS = 5
# of two gains, relative: closer ones may be in either order after rounding
NEAR = Fraction(1, 10**9)


class Case:
    """`sizes[i][t]`, `sets[i][t]`, `alp[i][t]`, `n[i]`, `characters[i]` (None or per
    line), settings, coverage.
    """

    def __init__(self, rng: random.Random):
        count, most = rng.randint(1, 4), rng.randint(1, 5)
        step = rng.choice([1, 3, 10, 25])
        nested, shared = rng.choice([1.0, 0.97, 0.8, 0.0]), rng.choice([0.0, 0.3, 0.9])
        letters = rng.sample("abcdefghijklmnop", 6)
        self.sizes, self.sets, self.alp = [], [], []
        for language in range(count):
            grid = sorted(rng.sample(range(1, 2 * most + 1), rng.randint(1, most)))
            sizes, sets, held = [step * k + 2 for k in grid], [], []
            for size in sizes:
                held = [piece for piece in held if rng.random() < nested]
                while len(held) < size:
                    owner = "" if rng.random() < shared else str(language)
                    word = f"{owner}.{rng.randrange(6 * step * most + 20)}"
                    piece = rng.choice(letters) if rng.random() < 0.1 else word
                    if piece not in held or len(set(held)) == size - 1:
                        held.append(piece if piece not in held else f"{language}:{len(held)}")
                sets.append(set(held))
            self.sizes.append(sizes)
            self.sets.append(sets)
            self.alp.append(curve(rng, len(sizes)))
        self.codes = [f"l{language}" for language in range(count)]
        self.n = [
            float(rng.choice([1, 7, 7, 1000, 10 ** rng.randint(0, 12)])) for _ in range(count)
        ]
        self.characters = [
            {letter: rng.choice([0.5, 3.0]) for letter in rng.sample("abcdxyz", rng.randint(1, 5))}
            if rng.random() < 0.8
            else None
            for _ in range(count)
        ]
        everything = len(set().union(*(pieces for sets in self.sets for pieces in sets)))
        self.coverage = rng.choice([0.9995, 1.0])
        self.settings = Allocation(
            total=SPECIALS + rng.randint(1, everything + 12),
            alpha=rng.choice([0.0, 0.3, 0.7, 1.0, 10.0, rng.uniform(0, 2)]),
            beta=rng.choice([0.0, 0.0, 0.7, 1.0, 10.0, rng.uniform(0, 2)]),
            fairness=rng.choice([0.0, 0.0, 0.0, 1.0, 6.0, 50.0]),
        )

    def solve(self) -> Solution:
        languages = [
            LanguageInput(
                code, n, build(sizes, [sorted(s) for s in sets]), np.array(alp), characters
            )
            for code, n, sizes, sets, alp, characters in zip(
                self.codes, self.n, self.sizes, self.sets, self.alp, self.characters, strict=True
            )
        ]
        scores = {
            (code, size): {
                piece: -float(len(piece)) - k / 7 for k, piece in enumerate(sorted(pieces))
            }
            for code, sizes, sets in zip(self.codes, self.sizes, self.sets, strict=True)
            for size, pieces in zip(sizes, sets, strict=True)
        }
        return solve(
            Inputs(languages), self.settings, lambda code, size: scores[code, size], self.coverage
        )

    def union(self, ranks, required) -> set[str]:
        return set(required).union(
            *(sets[rank] for sets, rank in zip(self.sets, ranks, strict=True))
        )


def curve(rng: random.Random, sizes: int) -> list[float]:
    """ALP of each size, below 0."""
    match rng.randrange(5):
        case 0:  # gains that fall
            gains = sorted((rng.uniform(0, 5) for _ in range(sizes)), reverse=True)
            return [float(value) for value in -60 + np.cumsum(gains)]
        case 1:
            return [rng.uniform(-60, -20) for _ in range(sizes)]
        case 2:  # whole numbers, which tie
            return [-50.0 + rng.choice([k, 2 * k, min(k, 2), 0]) for k in range(sizes)]
        case 3:  # falls, with a last size that is better
            return [
                -50.0 - rng.uniform(0, 1) * (0 < k < sizes - 1) + 1e-3 * k for k in range(sizes)
            ]
        case _:
            return [-50.0 + rng.gauss(0, 1e-6) for _ in range(sizes)]


def weights_of(case: Case) -> list[float]:
    """q_i^beta of Equations 2 and 3."""
    powers = [(n / max(case.n)) ** case.settings.alpha for n in case.n]
    return [(power / sum(powers)) ** case.settings.beta for power in powers]


def values_of(case: Case) -> list[list[float]]:
    """ALP, or best (x^(1 + phi) + phi) / (1 + phi) with x = ALP / best."""
    phi = case.settings.fairness
    if phi == 0:
        return case.alp
    best = [max(alp) for alp in case.alp]
    return [
        [b * ((a / b) ** (1 + phi) + phi) / (1 + phi) for a in alp]
        for alp, b in zip(case.alp, best, strict=True)
    ]


def hull(sizes: list[int], values: list[Fraction]) -> list[Fraction]:
    """The least concave function above the points: each point, or the highest chord
    over it.
    """
    points = list(zip(map(Fraction, sizes), values, strict=True))
    return [
        max(
            [value]
            + [
                left + (right - left) * (size - first) / (last - first)
                for first, left in points[:k]
                for last, right in points[k + 1 :]
            ]
        )
        for k, (size, value) in enumerate(points)
    ]


def algorithm_1(case: Case, weights, values, required):
    """The ranks at the end, the last ones that fit, and whether a step hung on rounding.

    Of the paper: t_i = 0 and a_{i,0} = -infinity, so every language first takes its
    smallest vocabulary; then the largest increment, the first of equal ones, until |V|
    >= T. An increment is per piece here, as sizes may be missing.
    """
    gains = []
    for sizes, weight, value in zip(case.sizes, weights, values, strict=True):
        exact = [Fraction(v) for v in value]
        exact = hull(sizes, exact)
        gains.append(
            [
                Fraction(weight) * (b - a) / (t - s)
                for a, b, s, t in zip(exact[:-1], exact[1:], sizes[:-1], sizes[1:], strict=True)
            ]
        )
    scale = max(
        (abs(w * v) for w, row in zip(weights, values, strict=True) for v in row), default=1.0
    )
    noise = Fraction(scale) / 10**12
    ranks, fitting, near = [0] * len(case.sizes), None, False
    capacity = case.settings.total - SPECIALS
    while True:
        if (size := len(case.union(ranks, required))) <= capacity:
            fitting = tuple(ranks)
        offers = [(gains[i][rank], i) for i, rank in enumerate(ranks) if rank < len(gains[i])]
        if size >= capacity or not offers:
            break
        best, chosen = max(offers, key=lambda offer: (offer[0], -offer[1]))
        near |= any(
            i != chosen and abs(gain - best) <= NEAR * abs(best) + noise for gain, i in offers
        )
        near |= any(abs(gain) <= noise and gain != 0 for gain, _ in offers)
        if best <= 0:
            break
        ranks[chosen] += 1
    return tuple(ranks), fitting, near


def check(case: Case) -> str:
    """The kind of input. Raises AssertionError where `solve` differs from what is
    documented.
    """
    settings, capacity = case.settings, case.settings.total - SPECIALS
    weights, values = weights_of(case), values_of(case)
    try:
        solution = case.solve()
    except UsageError as error:
        assert "use a total of at least" in str(error), error
        least = int(str(error).split("at least ")[1].split(",")[0].replace(",", ""))
        assert least > settings.total, error
        return "refused: below the single characters"
    assert [row.weight for row in solution.rows] == [w if w else 0.0 for w in weights] or all(
        abs(row.weight - w) <= 1e-12 * w for row, w in zip(solution.rows, weights, strict=True)
    )
    weights = [row.weight for row in solution.rows]
    required = {piece for piece, held in solution.vocabulary.items() if not held}
    assert all(len(piece) == 1 for piece in required) and len(required) == solution.required_added
    known = set().union(*(c or {} for c in case.characters))
    assert solution.required <= len(known)
    if len(known) != solution.required:
        return "characters left out"  # the rule of coverage has tests of its own
    ranks = tuple(
        sizes.index(row.size) for sizes, row in zip(case.sizes, solution.rows, strict=True)
    )
    union = case.union(ranks, known)
    assert required == known - case.union(ranks, ())
    assert solution.union == len(union)
    assert len(solution.vocabulary) == min(capacity, len(union)) == capacity - solution.short
    assert set(solution.vocabulary) <= union and {p for p in union if len(p) == 1} <= set(
        solution.vocabulary
    )
    for piece, held in solution.vocabulary.items():
        expected = [
            c for c, s, r in zip(case.codes, case.sets, ranks, strict=True) if piece in s[r]
        ]
        assert held == expected, piece

    final, fitting, near = algorithm_1(case, weights, values, known)
    if settings.rule == "paper" and not near:
        assert ranks == final, (ranks, final)
    worth = {
        every: sum(w * v[rank] for w, v, rank in zip(weights, values, every, strict=True))
        for every in itertools.product(*(range(len(sizes)) for sizes in case.sizes))
    }
    fits = [value for every, value in worth.items() if len(case.union(every, known)) <= capacity]
    lowest = (0,) * len(case.sizes)
    chosen = solution.chosen
    if len(case.union(lowest, known)) > capacity:
        assert chosen.objective is None and ranks == lowest
        return "smallest sizes do not fit"
    tolerance = 1e-9 * max(map(abs, worth.values()))
    assert chosen.union <= capacity and chosen.objective <= max(fits) + tolerance
    if settings.rule == "paper" and not near:
        assert abs(chosen.objective - worth[fitting]) <= tolerance
        assert chosen.union == len(case.union(fitting, known))
    return "a step hangs on rounding" if near else settings.rule


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--inputs", type=int, default=10**9)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    until = time.monotonic() + 60 * options.minutes
    for number in range(options.first, options.first + options.inputs):
        if time.monotonic() > until:
            break
        case = Case(random.Random(f"{options.seed} {number}"))
        try:
            counts[check(case)] += 1
        except Exception as error:
            counts["DIFFERENT"] += 1
            last = "".join(traceback.format_tb(error.__traceback__)[-1:])
            print(
                f"--seed {options.seed} --first {number} --inputs 1: {case.settings}: "
                f"{error!r}\n{last}",
                flush=True,
            )
    print(
        f"{sum(counts.values())} inputs:",
        "; ".join(f"{count} {kind}" for kind, count in sorted(counts.items())),
    )
    return counts["DIFFERENT"] > 0


if __name__ == "__main__":
    sys.exit(main())
