"""The plan of what is read of a text's files, and the estimates from it, against their
definitions and simulated corpora.
"""

import numpy as np
import pytest

from vocap.corpora.shard_plan import (
    draw_items,
    draw_lengths,
    estimate_total,
    fit_chances,
    student_quantile,
)

STARTS = (np.arange(4000) + 0.5) / 4000


def test_items_are_drawn_by_their_chances_and_never_twice():
    chances = np.array([0.25, 1.0, 0.0, 0.7, 0.05, 0.5, 1.0, 0.3])
    drawn = np.array([draw_items(chances, start) for start in STARTS])
    assert drawn.mean(0) == pytest.approx(chances, abs=1e-3)
    assert set(drawn.sum(1)) <= {3, 4}  # the sum of the chances is 3.8


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.9])
def test_the_same_share_of_every_file_is_read_on_average(rate):
    """Of files below the quota, above it, and so large that they are always read."""
    sizes = np.array([3, 0, 40, 99, 101, 250, 900, 30_000, 7, 120, 100, 5000])
    lengths = np.array([draw_lengths(sizes, rate, 100, start) for start in STARTS])
    assert lengths.mean(0) == pytest.approx(rate * sizes, rel=0.02, abs=0.02)
    read = lengths > 0
    assert (lengths <= sizes).all() and (lengths >= np.minimum(sizes, 100))[read].all()


def test_lowered_chances_keep_the_limit_from_every_start():
    costs = np.random.default_rng(1).integers(5, 29, 240)
    chances = np.full(240, 0.125)
    fitted = fit_chances(chances, costs, costs.sum() / 8)
    assert np.ptp(fitted) == 0 and 0.7 < fitted[0] / chances[0] < 1
    most = max(costs[draw_items(fitted, start)].sum() for start in STARTS)
    assert most <= 1.03 * costs.sum() / 8
    assert (fit_chances(chances, costs, 10**9) == chances).all()
    alone = fit_chances(chances, np.array([10**6, *costs[1:]]), costs.sum() / 8)
    assert 0.45 < alone[0] / chances[0] < 0.55  # the first item can never be read


@pytest.mark.parametrize("drift", [0.0, 1.0])
def test_the_interval_holds_the_total(drift):
    """Of 200 corpora of 400 files each, whose lines grow shorter by `drift`."""
    generator = np.random.default_rng(3)
    held, errors = 0, []
    for _ in range(200):
        sizes = generator.integers(50, 1500, 400)
        ratio = 1 + drift * np.linspace(0, 1, 400) + 0.1 * generator.standard_normal(400)
        lengths = draw_lengths(sizes, 0.1, 500, generator.random())
        read = lengths > 0
        values = (lengths * ratio)[read]
        found, interval = estimate_total(sizes.sum(), lengths[read], values)
        true = float(sizes @ ratio)
        held += interval[0] <= true <= interval[1]
        errors.append(abs(found / true - 1))
    assert held >= 180
    assert np.mean(errors) < 0.03


def test_the_interval_closes_where_everything_is_read_and_needs_two_parts():
    sizes = np.array([10, 20])
    value, interval = estimate_total(30, sizes, np.array([5, 10]))
    assert value == pytest.approx(15) and interval == pytest.approx((15, 15))
    assert estimate_total(30, sizes[:1], np.array([5])) == (15, None)


def test_the_quantiles_are_those_of_student():
    table = {1: 12.706, 4: 2.776, 5: 2.571, 6: 2.447, 10: 2.228, 20: 2.086, 30: 2.042, 120: 1.980}
    for freedom, quantile in table.items():
        assert student_quantile(freedom) == pytest.approx(quantile, rel=2e-3)
