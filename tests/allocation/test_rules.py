"""The rules against their definitions, written with sets of strings and by trying
everything.
"""

import numpy as np
import pytest

from tests.allocation.factories import Case, naive_gain, naive_hull
from vocap.allocation.algorithm_1 import allocate_greedy, hull_gains, upper_hull
from vocap.allocation.inputs import Inputs, LanguageInput, uneven_lines
from vocap.allocation.settings import Allocation

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_hull_is_the_least_concave_function_above(seed):
    case = Case(seed, languages=1, sizes=9, holes=seed % 2)
    hull = upper_hull(np.array(case.sizes[0]), np.array(case.alp[0]))
    assert hull.tolist() == pytest.approx(naive_hull(case.sizes[0], case.alp[0]), rel=1e-12)
    gains = hull_gains(np.array(case.sizes[0]), np.array(case.alp[0]))
    assert gains.tolist() == pytest.approx((1000 * np.diff(hull) / np.diff(case.sizes[0])).tolist())
    assert (np.diff(gains) <= 1e-9).all()


def naive_algorithm_1(case, capacity, required=()):
    """Algorithm 1 with strings: returns the final ranks and the last that fit."""
    ranks = [0] * len(case.sets)
    fitting = None
    while True:
        size = len(case.union(ranks, required))
        if size <= capacity:
            fitting = tuple(ranks)
        if size >= capacity:
            break
        gains = {
            k: naive_gain(case, k, rank)
            for k, rank in enumerate(ranks)
            if rank + 1 < len(case.sizes[k])
        }
        gains = {k: round(gain, 6) for k, gain in gains.items() if gain > 1e-9}
        if not gains:
            break
        best = max(gains, key=lambda k: (gains[k], -k))
        ranks[best] += 1
    return tuple(ranks), fitting


@pytest.mark.parametrize("seed", SEEDS)
def test_greedy_is_algorithm_1(seed):
    case = Case(seed, languages=4, sizes=5, holes=seed % 3 == 0)
    required = ["c0", "q", "z"]
    for capacity in (30, 60, 90, 130, 1000):
        choice = allocate_greedy(case.problem(capacity, required))
        ranks, fitting = naive_algorithm_1(case, capacity, required)
        assert choice.ranks == ranks
        assert choice.fitting == fitting
        assert choice.union == len(case.union(ranks, required))
        if fitting is not None:
            assert choice.fitting_union == len(case.union(fitting, required))
        if choice.last is not None:
            moved = [a - b for a, b in zip(choice.ranks, choice.fitting, strict=True)]
            assert moved[choice.last] == 1 and sum(map(abs, moved)) == 1


def test_falling_curve_stops_at_its_top():
    """Without a positive gain a language takes no step, below the capacity too."""
    case = Case(0, languages=2, sizes=4, clean=True)
    case.alp[0] = [-50.0, -40.0, -41.0, -45.0]
    choice = allocate_greedy(case.problem(10_000))
    assert choice.ranks == (1, 3)
    assert choice.fitting == choice.ranks and choice.last is None


def warned(nats, **settings):
    """The warning of languages whose lines hold so many nats under their smallest
    vocabularies.
    """
    languages = [
        LanguageInput(code, 1.0, None, np.array([-own, -own / 2]), None)
        for code, own in nats.items()
    ]
    return uneven_lines(Inputs(languages), Allocation(total=400, **settings))


LIKE = {"aa": 100.0, "bb": 130.0, "cc": 70.0}


def test_lines_of_like_length_and_of_characters_are_passed_over():
    assert not warned(LIKE) and not warned({"aa": 100.0})
    assert not warned(LIKE | {"ee": 300.0}, per="character")


@pytest.mark.parametrize(
    ("nats", "said"),
    [
        (LIKE | {"ee": 300.0}, "too many for ee (2.6 times)"),
        (LIKE | {"dd": 110.0, "ee": 30.0}, "too few for ee (0.3 times)"),
        (
            {f"l{k}": 1000.0 + k for k in range(7)} | {f"s{k}": 100.0 for k in range(8)},
            "and 2 more (nats",
        ),
    ],
)
def test_languages_are_named_with_both_remedies(nats, said):
    (warning,) = warned(nats)
    assert said in warning and "split_sentences: true" in warning and "per: character" in warning
