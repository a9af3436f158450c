"""The plan of what is read of a text's files, and the estimates from it, against their
definitions and simulated corpora.
"""

from itertools import islice

import numpy as np
import pytest

from vocap.corpora.shard_plan import (
    estimate_total,
    part_at,
    positions,
    spread_quotas,
    student_quantile,
)


def test_every_prefix_of_the_positions_is_spread_evenly():
    for seed in range(5):
        places = np.array(list(islice(positions(seed), 500)))
        for count in (5, 40, 500):
            gaps = np.diff(np.sort(np.append(places[:count], places[:count].min() + 1)))
            assert gaps.max() < 2.7 / count  # of independent positions about log(count) / count


def test_a_position_falls_into_each_part_in_proportion_to_its_bytes():
    sizes = np.array([10, 0, 30, 60])
    found = [part_at(sizes, place) for place in (np.arange(1000) + 0.5) / 1000]
    counts = np.bincount([index for index, _ in found], minlength=4)
    assert counts.tolist() == [100, 0, 300, 600]
    inner = [place for index, place in found if index == 3]
    assert min(inner) < 0.01 and max(inner) > 0.99 and np.mean(inner) == pytest.approx(0.5)


def test_quotas_follow_sizes_and_keep_the_limit():
    generator = np.random.default_rng(1)
    for seed in range(20):
        sizes = generator.integers(1, 5000, 60)
        limit = int(sizes.sum() * generator.random())
        counts = spread_quotas(sizes, limit, 100, positions(seed))
        taken = np.minimum(counts * 100, sizes)
        assert limit - 100 < taken.sum() <= limit or taken.sum() > 0.99 * sizes.sum()
        expected = sizes / sizes.sum() * counts.sum()
        assert abs(counts - expected).max() < 3  # a fair sample: its parts are as the files'


def test_one_position_gives_the_total_on_average():
    generator = np.random.default_rng(2)
    sizes = generator.integers(100, 1000, 30)
    lines = (sizes * generator.random(30)).astype(int)
    estimates = []
    for place in (np.arange(20_000) + 0.5) / 20_000:
        index, _ = part_at(sizes, place)
        span, value = sizes[[index]], lines[[index]]
        estimates.append(estimate_total(sizes.sum(), np.ones(1), span, value)[0])
    assert np.mean(estimates) == pytest.approx(lines.sum(), rel=1e-3)


def estimated(sizes, lines, count, seed):
    """The estimate from `count` positions, parts read whole."""
    drawn = np.zeros(len(sizes))
    for place in islice(positions(seed), count):
        drawn[part_at(sizes, place)[0]] += 1
    read = drawn > 0
    return estimate_total(sizes.sum(), drawn[read], sizes[read], lines[read])


@pytest.mark.parametrize("drift", [0.0, 1.0])
def test_the_interval_holds_the_total(drift):
    """Of 200 corpora of 400 parts each, whose lines grow shorter by `drift`."""
    generator = np.random.default_rng(3)
    held, errors = 0, []
    for seed in range(200):
        sizes = generator.integers(500, 1500, 400)
        ratio = 1 + drift * np.linspace(0, 1, 400) + 0.1 * generator.standard_normal(400)
        lines = sizes * ratio
        found, interval = estimated(sizes, lines, 40, seed)
        held += interval[0] <= lines.sum() <= interval[1]
        errors.append(abs(found / lines.sum() - 1))
    assert held >= 180
    assert np.mean(errors) < 0.02


def test_the_interval_closes_where_everything_is_read_and_needs_two_parts():
    sizes = np.array([10, 20])
    value, interval = estimate_total(30, np.array([1, 2]), sizes, np.array([5, 10]))
    assert value == pytest.approx(15) and interval == pytest.approx((15, 15))
    assert estimate_total(30, np.ones(1), sizes[:1], np.array([5])) == (15, None)


def test_the_quantiles_are_those_of_student():
    table = {1: 12.706, 4: 2.776, 5: 2.571, 6: 2.447, 10: 2.228, 20: 2.086, 30: 2.042, 120: 1.980}
    for freedom, quantile in table.items():
        assert student_quantile(freedom) == pytest.approx(quantile, rel=2e-3)
