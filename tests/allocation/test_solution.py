"""A whole allocation, from sets of pieces to the clipped vocabulary, against the same written with sets."""

import itertools
import random

import numpy as np
import pytest

from tests.allocation.factories import Case
from tests.allocation.test_rules import naive_algorithm_1
from vocap.allocation.inputs import Inputs, LanguageInput
from vocap.allocation.settings import Allocation
from vocap.allocation.solution import solve
from vocap.tables.piece_index import build


def scores_of(case):
    """A score of each piece in each model; it differs between models, as in reality."""
    rng = random.Random("scores")
    return {
        (language, size): {piece: rng.uniform(-15, -3) for piece in sorted(pieces)}
        for language, sizes, sets in zip(case.languages, case.sizes, case.sets, strict=True)
        for size, pieces in zip(sizes, sets, strict=True)
    }


def solved(case, n, total, **options):
    languages = [
        LanguageInput(code, count, build(sizes, [sorted(s) for s in sets]), np.array(alp), {"z": 3, "q": 1})
        for code, count, sizes, sets, alp in zip(case.languages, n, case.sizes, case.sets, case.alp, strict=True)
    ]
    scores = scores_of(case)
    return solve(Inputs(languages), Allocation(total=total, **options), lambda code, size: scores[code, size])


def naive_clip(case, ranks, fitting, capacity, required):
    """The last slice's new pieces by their score in that model, then all pieces by their best score."""
    scores = scores_of(case)
    union = case.union(ranks, required)
    if fitting is not None:
        language = next(k for k, (a, b) in enumerate(zip(ranks, fitting, strict=True)) if a != b)
        model = scores[case.languages[language], case.sizes[language][ranks[language]]]
        new = case.union(ranks, required) - case.union(fitting, required)
        for piece in sorted(new, key=lambda piece: (model[piece], piece)):
            if len(union) > capacity and len(piece) > 1:
                union.remove(piece)
    best = {}
    for code, sizes, rank in zip(case.languages, case.sizes, ranks, strict=True):
        for piece, score in scores[code, sizes[rank]].items():
            best[piece] = max(score, best.get(piece, -99.0))
    for piece in sorted(best, key=lambda piece: (best[piece], piece)):
        if len(union) > capacity and len(piece) > 1 and piece in union:
            union.remove(piece)
    return union


@pytest.mark.parametrize("seed", range(10))
def test_vocabulary_is_the_clipped_union(seed):
    case = Case(seed, languages=4, sizes=5, holes=seed % 2 == 0)
    n = [50.0, 3.0, 700.0, 20.0]
    powers = [count**0.6 for count in n]
    case.weights = [(power / sum(powers)) ** 0.5 for power in powers]
    clipped = 0
    for capacity in (25, 55, 80, 110, 140):
        solution = solved(case, n, capacity + 5, alpha=0.6, beta=0.5)
        ranks, fitting = naive_algorithm_1(case, capacity, ["q", "z"])
        sizes = [sizes[rank] for sizes, rank in zip(case.sizes, ranks, strict=True)]
        assert [row.size for row in solution.rows] == sizes
        overshoots = fitting if len(case.union(ranks, ["q", "z"])) > capacity else None
        expected = naive_clip(case, ranks, overshoots, capacity, ["q", "z"])
        assert set(solution.vocabulary) == expected and list(solution.vocabulary) == sorted(expected)
        assert solution.clipped == len(case.union(ranks, ["q", "z"])) - len(expected)
        clipped += solution.clipped
        for piece, languages in solution.vocabulary.items():
            assert languages == [
                code
                for code, sets, rank in zip(case.languages, case.sets, ranks, strict=True)
                if piece in sets[rank]
            ]
        for row, sets, rank in zip(solution.rows, case.sets, ranks, strict=True):
            others = [s[r] for s, r in zip(case.sets, ranks, strict=True) if s is not sets]
            assert row.own_pieces == len(sets[rank] - set().union(*others))
        assert solution.required == solution.required_added == 2
    assert clipped > 0


def test_a_piece_that_others_hold_is_not_new():
    """The last step brings `shared` with the lowest score of all, but another language has it: it stays."""
    case = Case(0, languages=2, sizes=2)
    case.sizes = [[2, 3], [2, 5]]
    case.sets = [[{"aa", "shared"}, {"aa", "shared", "ax"}], [{"bb", "bc"}, {"bb", "bc", "shared", "bd", "be"}]]
    case.alp = [[-10.0, -10.0], [-10.0, -5.0]]
    scores = {"bb": -1.0, "bc": -1.0, "shared": -99.0, "bd": -4.0, "be": -3.0}
    languages = [
        LanguageInput(code, 1.0, build(sizes, [sorted(s) for s in sets]), np.array(alp), None)
        for code, sizes, sets, alp in zip(case.languages, case.sizes, case.sets, case.alp, strict=True)
    ]
    solution = solve(Inputs(languages), Allocation(total=5 + 5), lambda code, size: scores)
    assert [row.size for row in solution.rows] == [2, 5]
    assert list(solution.vocabulary) == ["aa", "bb", "bc", "be", "shared"]
    assert solution.vocabulary["shared"] == ["l0", "l1"]


def test_weights_change_the_shares():
    case = Case(2, languages=3, sizes=6)
    for k in range(3):
        favoured = solved(case, [1e6 if j == k else 1.0 for j in range(3)], 100, alpha=1.0, beta=1.0)
        assert max(favoured.rows, key=lambda row: row.size).language == case.languages[k]
    assert {row.weight for row in solved(case, [1e6, 5.0, 1.0], 100, beta=0.0).rows} == {1.0}


def falling(seed):
    """Curves that fall as measured below a hull that rises: the first steps lose, the last size is the best."""
    rng = random.Random(seed)
    case = Case(seed, languages=3, sizes=5)
    for values in case.alp:
        for rank in range(1, len(values) - 1):
            values[rank] = values[0] - rng.uniform(-0.5, 1)
        values[-1] = values[0] + rng.uniform(0, 0.5)
    return case


def test_way_percent_is_a_share_though_curves_fall():
    """0 below the smallest sizes, 100 only at the best that fits, from all allocations tried."""
    below = 0
    for seed in range(40):
        case = falling(seed)
        for capacity in (32, 45, 60, 80, 1000):
            solution = solved(case, [1.0, 1.0, 1.0], capacity + 5)
            if solution.bound is None:
                continue
            weights = [row.weight for row in solution.rows]
            worth = {
                ranks: sum(w * alp[rank] for w, alp, rank in zip(weights, case.alp, ranks, strict=True))
                for ranks in itertools.product(range(5), repeat=3)
            }
            fits = [value for ranks, value in worth.items() if len(case.union(ranks, ["q", "z"])) <= capacity]
            smallest, way, reached = worth[0, 0, 0], solution.chosen.way_percent, solution.chosen.objective
            assert 0 <= way <= 100
            if reached > smallest:
                assert way == pytest.approx(100 * (reached - smallest) / (solution.bound - smallest))
                assert way <= 100 * (reached - smallest) / (max(fits) - smallest) + 1e-9
            if way == 100:
                assert reached == pytest.approx(max(fits), abs=1e-9)
            lost = reached < smallest - 1e-9
            assert lost <= (way == 0)
            below += lost
    assert below > 5
