"""The fairness weight against its definition, and what it does to an allocation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.allocation.factories import Case
from tests.allocation.test_solution import solved
from vocap.allocation.algorithm_1 import fair_values

CURVES = st.lists(st.floats(-400, -5), min_size=2, max_size=8).map(np.array)
N = [50.0, 3.0, 700.0, 20.0]


@given(CURVES, st.floats(0, 20))
def test_a_nat_is_worth_x_to_the_fairness(alp, fairness):
    """The slope of the worth, taken numerically, and the best size's worth, which is its ALP."""
    best = alp.max()
    for value in alp:
        step = 1e-6 * -value
        near = fair_values(np.array([value - step, value + step, best]), fairness)
        if value + step < best:
            assert (near[1] - near[0]) / (2 * step) == pytest.approx((value / best) ** fairness, rel=1e-3)
    assert fair_values(alp, fairness).max() == pytest.approx(best, rel=1e-12)


@given(CURVES, st.floats(0, 20), st.floats(0.1, 10))
def test_the_length_of_lines_has_no_say(alp, fairness, times):
    assert fair_values(times * alp, fairness) == pytest.approx(times * fair_values(alp, fairness), rel=1e-9)


def test_without_fairness_it_is_alp_itself():
    alp = np.array([-3.25, -2.0, -2.5])
    assert fair_values(alp, 0.0) is alp
    assert fair_values(np.array([-1.0, 0.0]), 3.0).tolist() == [-1.0, 0.0]  # a best of 0 has no x


def worst(case, sizes):
    """The largest x = ALP / best ALP of an allocation."""
    ranks = [grid.index(size) for grid, size in zip(case.sizes, sizes, strict=True)]
    return max(values[rank] / max(values) for values, rank in zip(case.alp, ranks, strict=True))


def test_the_worst_served_language_gains_and_the_sample_pays():
    """Over many cases, with weights that differ a hundredfold."""
    fairer, plain = [], []
    for seed in range(20):
        case = Case(seed, languages=4, sizes=6, clean=True)
        for fairness, found in ((0.0, plain), (50.0, fairer)):
            solution = solved(case, N, 105, fairness=fairness)
            found.append(worst(case, [row.size for row in solution.rows]))
    assert all(b <= a + 1e-12 for a, b in zip(plain, fairer, strict=True))
    assert sum(b < a for a, b in zip(plain, fairer, strict=True)) > 10


def test_chosen_and_bound_are_of_the_fair_values():
    case = Case(3, languages=4, sizes=5)
    solution = solved(case, N, 90, fairness=4.0)
    weights = [(count**0.7 / sum(other**0.7 for other in N)) ** 0.7 for count in N]
    smallest = sum(
        weight * fair_values(np.array(values), 4.0)[0] for weight, values in zip(weights, case.alp, strict=True)
    )
    assert solution.objective_smallest == pytest.approx(smallest)
    assert smallest < solution.chosen.objective <= solution.bound
