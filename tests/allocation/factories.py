"""Small made cases, as plain sets of strings, and the problem that the library makes of
them.
"""

import random

import numpy as np

from vocap.allocation.algorithm_1 import merge
from vocap.tables.piece_index import build


class Case:
    """`sets[i][t]`: the pieces of language i at size t; `alp[i][t]`; `weights[i]`;
    `sizes[i][t]`.
    """

    def __init__(self, seed, languages=3, sizes=4, clean=False, step=10, holes=False):
        rng = random.Random(seed)
        self.sizes, self.sets, self.alp, self.weights = [], [], [], []
        common = [f"c{k}" for k in range(step * sizes)]
        for language in range(languages):
            grid = [step * (k + 1) for k in range(sizes)]
            if holes and sizes > 2:
                grid.remove(rng.choice(grid))
            present, sets = [], []
            for size in grid:
                # nearly nested
                present = [piece for piece in present if clean or rng.random() > 0.06]
                while len(present) < size:
                    own = f"l{language}.{rng.randrange(10 * step * sizes)}"
                    piece = rng.choice(common) if rng.random() < 0.4 else own
                    if piece not in present:
                        present.append(piece)
                sets.append(set(present))
            gains = sorted((rng.uniform(0.1, 5) for _ in grid), reverse=True)
            values = -50 + np.cumsum(gains)
            if not clean:
                values = values + np.array([rng.gauss(0, 0.4) for _ in grid])
            self.sizes.append(grid)
            self.sets.append(sets)
            self.alp.append([float(value) for value in values])
            self.weights.append(rng.uniform(0.2, 2))
        self.languages = [f"l{language}" for language in range(languages)]

    def problem(self, capacity, required=()):
        indexes = [
            build(sizes, [sorted(s) for s in sets])
            for sizes, sets in zip(self.sizes, self.sets, strict=True)
        ]
        values = [np.array(alp) for alp in self.alp]
        return merge(self.languages, indexes, values, self.weights, list(required), capacity)

    def union(self, ranks, required=()):
        return set(required).union(
            *(sets[rank] for sets, rank in zip(self.sets, ranks, strict=True))
        )

    def objective(self, ranks):
        return sum(
            w * values[rank] for w, values, rank in zip(self.weights, self.alp, ranks, strict=True)
        )


def naive_hull(sizes, values):
    """Each point, or the best chord above it: the definition of the least concave
    function above the points.
    """
    hull = []
    for k, size in enumerate(sizes):
        best = values[k]
        for i in range(k):
            for j in range(k + 1, len(sizes)):
                share = (size - sizes[i]) / (sizes[j] - sizes[i])
                best = max(best, values[i] + share * (values[j] - values[i]))
        hull.append(best)
    return hull


def naive_gain(case, language, rank):
    """Weighted gain per 1,000 pieces of the step from `rank` to the next."""
    sizes = case.sizes[language]
    values = naive_hull(sizes, case.alp[language])
    return (
        case.weights[language]
        * (values[rank + 1] - values[rank])
        / (sizes[rank + 1] - sizes[rank])
        * 1000
    )
