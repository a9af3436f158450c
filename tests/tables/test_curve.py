import pytest

from vocap.errors import VocapError
from vocap.tables.curve import Point, read_points, write_points

POINTS = [
    Point(1000, status="too small: 3435 required characters need at least 3438 pieces"),
    Point(4000, 4000, -192.04712345678901, -193.5, 40.25),
    Point(5000, 5000, -170.5, None, 1 / 3),
    Point(9000, status="an odd\treason\\ with\nescapes"),
]


def test_written_rows_are_read_unchanged(tmp_path):
    path = tmp_path / "curve.tsv"
    write_points(path, POINTS)
    assert path.read_text().splitlines()[0] == "size\tpieces\talp\talp_heldout\ttokens_per_sentence\tstatus"
    assert path.read_text().splitlines()[1] == f"1000\t\t\t\t\t{POINTS[0].status}"
    assert read_points(path) == POINTS
    assert [point.ok for point in POINTS] == [False, True, True, False]


def test_a_curve_made_elsewhere_needs_three_columns(tmp_path):
    path = tmp_path / "curve.tsv"
    path.write_text("status\tsize\talp\nok\t1000\t-5e1\nnobody knows\t2000\t\n")
    assert read_points(path) == [Point(1000, None, -50.0), Point(2000, status="nobody knows")]


HEADER = "size\tpieces\talp\talp_heldout\ttokens_per_sentence\tstatus\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("size\tstatus\n1000\tok\n", "line 1: no column alp"),
        (HEADER + "1000\t1000\t-1\t\t\n", "line 2: 5 cells"),
        (HEADER + "1k\t1000\t-1\t\t\tok\n", "line 2: size '1k'"),
        (HEADER + "-5\t1000\t-1\t\t\tok\n", "line 2: size '-5'"),
        (HEADER + "²\t1000\t-1\t\t\tok\n", "line 2: size '²'"),
        (HEADER + "9" * 5000 + "\t1000\t-1\t\t\tok\n", "line 2: size '999"),
        (HEADER + "1000\t1e3\t-1\t\t\tok\n", "line 2: pieces '1e3'"),
        (HEADER + "1000\t1000\tnan\t\t\tok\n", "line 2: alp 'nan'"),
        (HEADER + "1000\t1000\t-1\t-inf\t\tok\n", "line 2: alp_heldout '-inf'"),
        (HEADER + "1000\t1000\t-1\t-1\tmany\tok\n", "line 2: tokens_per_sentence 'many'"),
        (HEADER + "1000\t1000\t0.5\t\t\tok\n", "line 2: alp 0.5 is above 0"),
        (HEADER + "1000\t1000\t\t\t\tok\n", "line 2: status ok, but no alp"),
        (HEADER + "2000\t2000\t-1\t\t\tok\n1000\t1000\t-1\t\t\tok\n", "line 3: size 1000 after 2000"),
        (HEADER + "2000\t2000\t-1\t\t\tok\n2000\t2000\t-1\t\t\tok\n", "line 3: size 2000 after 2000"),
    ],
)
def test_errors_name_file_line_and_column(tmp_path, text, words):
    path = tmp_path / "curve.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(VocapError) as error:
        read_points(path)
    assert str(path) in str(error.value)
    assert words in str(error.value)
