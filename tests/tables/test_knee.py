"""Knees of curves whose knee is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocap.tables.curve import Point, find_knee, outline

SIZES = np.arange(1000, 50_001, 1000)


@pytest.mark.parametrize("scale", [3_000, 8_000, 20_000])
@pytest.mark.parametrize("sizes", [SIZES, SIZES[4:], np.arange(250, 30_001, 250)])
def test_the_knee_is_where_the_slope_is_that_of_the_chord(scale, sizes):
    curve = -100 - 80 * np.exp(-sizes / scale)
    chord = (curve[-1] - curve[0]) / (sizes[-1] - sizes[0])
    knee = -scale * np.log(chord * scale / 80)  # 80 / scale exp(-x / scale) = chord
    assert abs(sizes[find_knee(sizes, curve)] - knee) <= sizes[1] - sizes[0]


def test_two_straight_lines_bend_where_they_meet():
    curve = np.where(SIZES < 12_000, SIZES / 100, 120 + (SIZES - 12_000) / 1000) - 300
    assert SIZES[find_knee(SIZES, curve)] == 12_000


def test_a_curve_that_falls_at_its_top_or_is_rough_keeps_its_knee():
    curve = -100 - 80 * np.exp(-SIZES / 6_000)
    knee = find_knee(SIZES, curve)
    fallen = curve.copy()
    fallen[-3:] -= [0.1, 0.2, 0.3]
    rough = curve + np.where(np.arange(50) % 2, 0.05, -0.05)
    assert abs(find_knee(SIZES, fallen) - knee) <= 1
    assert abs(find_knee(SIZES, rough) - knee) <= 2


def test_there_is_no_knee_without_a_bend():
    assert find_knee([1000], [-5]) is None
    assert find_knee([1000, 2000], [-5, -4]) is None
    assert find_knee(SIZES, SIZES * 0.001 - 200) is None
    assert find_knee(SIZES, np.full(50, -7.3)) is None
    assert find_knee(SIZES, (SIZES / 1000.0) ** 2 - 5000) is None  # bends the other way
    assert find_knee([1000, 2000, 3000], [-9, -6, -5]) == 1


@given(
    st.lists(st.floats(0.01, 50), min_size=2, max_size=40),
    st.floats(0.1, 10),
    st.floats(-1000, 1000),
    st.floats(0.5, 4),
)
def test_scales_do_not_matter(gains, height, offset, width):
    alp = np.cumsum(sorted(gains, reverse=True))
    size = np.arange(len(alp)) * 1000.0
    above = alp - alp[0] - (alp[-1] - alp[0]) * size / size[-1]
    knee, other = find_knee(size, alp), find_knee(width * size + 5, height * alp + offset)
    if knee is not None and other is not None:
        assert above[knee] == pytest.approx(above[other], abs=1e-6)


def made(size, alp=None, heldout=None, status="ok"):
    return Point(size, size if status == "ok" else None, alp, heldout, None if alp is None else 9.0, status)


def test_an_outline_says_where_a_curve_starts_bends_and_ends_and_why():
    points = [
        made(1000, status="too small: 1500 required characters need at least 1503 pieces"),
        made(2000, -90.0, -95.0),
        made(3000, -70.0, -75.0),
        made(4000, -65.0, -74.0),
        made(5000, -62.0, -76.0),
        made(6000, status="too little text: at most 5100 pieces"),
        made(7000, status="too little text: at most 5100 pieces"),
    ]
    found = outline(points)
    assert (found.start, found.knee, found.end) == (points[1], points[2], points[4])
    assert found.best_heldout == points[3]
    assert (found.start_reason, found.end_reason) == (points[0].status, points[5].status)
    whole = outline(points[1:5])
    assert (whole.start_reason, whole.end_reason) == ("the smallest size asked for", "the largest size asked for")


def test_an_outline_of_one_point_or_none():
    assert outline([]) is None
    assert outline([made(1000, status="no text")]) is None
    one = outline([made(1000, -90.0)])
    assert one.start == one.end and one.knee is None and one.best_heldout is None
