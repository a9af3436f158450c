"""Sizes by fixed shares, against the definition written with sets."""

import pytest

from tests.allocation.factories import Case
from vocap.allocation.algorithm_1 import allocate_by_shares


@pytest.mark.parametrize("shares", [[1.0] * 4, [1.0, 3.0, 0.5, 20.0]])
@pytest.mark.parametrize("seed", range(8))
def test_the_largest_scale_that_fits(seed, shares):
    case = Case(seed, languages=4, sizes=6, holes=seed % 2)
    for capacity in (45, 80, 120, 1000):
        choice = allocate_by_shares(case.problem(capacity, ["z"]), shares)
        smallest = case.union([0] * 4, ["z"])
        if len(smallest) > capacity:
            assert choice.fitting is None
            continue
        assert len(case.union(choice.fitting, ["z"])) == choice.fitting_union <= capacity
        # the largest size within scale x share, for all alike: no step was taken later than one that still waits
        state = list(zip(range(4), case.sizes, choice.fitting, shares, case.weights, strict=True))
        moved = [sizes[rank] / share for _, sizes, rank, share, _ in state if rank]
        due = [
            (sizes[rank + 1] / share, -weight, k)
            for k, sizes, rank, share, weight in state
            if rank + 1 < len(sizes)
        ]
        assert not moved or not due or max(moved) <= min(due)[0]
        if due:  # the next step, of equal ones that of the largest weight, does not fit
            ranks = list(choice.fitting)
            ranks[min(due)[2]] += 1
            assert len(case.union(ranks, ["z"])) > capacity
