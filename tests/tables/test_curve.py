"""Curves, characters and parallel weights: what is written is read, errors are named,
knees are those known.
"""

import numpy as np
import pytest

from tests.cases import read_cases
from vocap.errors import VocapError
from vocap.tables.curve import (
    Point,
    find_knee,
    outline,
    read_characters,
    read_points,
    write_characters,
    write_points,
)
from vocap.tables.sampling_probabilities import fair_factors
from vocap.text_files.named_texts import reference_language, reference_lines

CASES = read_cases(__file__)
POINTS = [
    Point(1000, status="too small: 3435 required characters need at least 3438 pieces"),
    Point(4000, 4000, -192.04712345678901, -193.5, 40.25),
    Point(5000, 5000, -170.5, None, 1 / 3),
    Point(9000, status="an odd\treason\\ with\nescapes"),
]


def test_written_rows_are_read_unchanged(tmp_path):
    path = tmp_path / "curve.tsv"
    write_points(path, POINTS)
    assert (
        path.read_text().splitlines()[0]
        == "size\tpieces\talp\talp_heldout\ttokens_per_sentence\tstatus"
    )
    assert path.read_text().splitlines()[1] == f"1000\t\t\t\t\t{POINTS[0].status}"
    assert read_points(path) == POINTS
    assert [point.ok for point in POINTS] == [False, True, True, False]


def test_a_curve_made_elsewhere_needs_three_columns(tmp_path):
    path = tmp_path / "curve.tsv"
    path.write_text("status\tsize\talp\nok\t1000\t-5e1\nnobody knows\t2000\t\n")
    assert read_points(path) == [Point(1000, None, -50.0), Point(2000, status="nobody knows")]


HEADER = "size\tpieces\talp\talp_heldout\ttokens_per_sentence\tstatus\n"


@pytest.mark.parametrize(("text", "words"), CASES["errors"])
def test_errors_name_file_line_and_column(tmp_path, text, words):
    (tmp_path / "curve.tsv").write_text(text.format(header=HEADER), encoding="utf-8")
    with pytest.raises(VocapError) as error:
        read_points(tmp_path / "curve.tsv")
    assert str(tmp_path / "curve.tsv") in str(error.value) and words in str(error.value)


def test_written_characters_are_read_unchanged(tmp_path):
    path = tmp_path / "characters.tsv"
    write_characters(path, {"b": 7, "\t": 3, "\u2581": 21, "a": 7, "\\": 1}, 3)
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows[0] == ["character", "count", "per_line"]
    assert [row[:2] for row in rows[1:]] == CASES["characters"]
    means = {"\u2581": 7.0, "a": 7 / 3, "b": 7 / 3, "\t": 1.0, "\\": 1 / 3}
    assert read_characters(path) == (means, 3)
    write_characters(path, {}, 0)
    assert read_characters(path) == ({}, 0)


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


def test_there_is_no_knee_without_a_bend():
    assert find_knee([1000], [-5]) is None
    assert find_knee([1000, 2000], [-5, -4]) is None
    assert find_knee(SIZES, SIZES * 0.001 - 200) is None
    assert find_knee(SIZES, np.full(50, -7.3)) is None
    assert find_knee(SIZES, (SIZES / 1000.0) ** 2 - 5000) is None  # bends the other way
    assert find_knee([1000, 2000, 3000], [-9, -6, -5]) == 1


def made(size, alp=None, heldout=None, status="ok"):
    return Point(
        size, size if status == "ok" else None, alp, heldout, None if alp is None else 9.0, status
    )


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
    assert (whole.start_reason, whole.end_reason) == (
        "the smallest size asked for",
        "the largest size asked for",
    )


def test_an_outline_of_one_point_or_none():
    assert outline([]) is None
    assert outline([made(1000, status="no text")]) is None
    one = outline([made(1000, -90.0)])
    assert one.start == one.end and one.knee is None and one.best_heldout is None


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 4.0, 16.0])
def test_factors_are_powers_of_rates_over_their_mean(power):
    generator = np.random.default_rng(int(power * 2))
    tokens, references = generator.integers(1, 9000, 30), generator.integers(1, 9000, 30)
    rates = tokens / references
    found = [float(factor) for factor in fair_factors(tokens.tolist(), references.tolist(), power)]
    assert found == pytest.approx((rates / rates.mean()) ** power, rel=1e-12)


def test_a_language_without_text_keeps_its_weight_and_changes_no_other():
    found = fair_factors([30, 0, 10], [10, 0, 10], 3)
    assert [found[0], found[2]] == fair_factors([30, 10], [10, 10], 3)
    assert fair_factors([0, 0], [0, 0], 3) == [1, 1]


def test_only_lines_that_both_have_count():
    parallel = dict(CASES["parallel"])
    assert reference_language(parallel) == "en"
    assert reference_lines(parallel, "de") == (["ä", "d"], 7)
    assert reference_lines(parallel, "en") == (["one", "two", "vier"], 10)
    assert reference_lines(parallel, "fr") == ([], 0)
    del parallel["en"]
    assert reference_language(parallel) == "ja"
    assert reference_lines(parallel, "de") == (["ä", "c", "d"], 9)
    assert reference_language({}) is None and reference_lines({}, "de") == ([], 0)
