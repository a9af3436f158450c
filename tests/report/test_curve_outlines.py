"""The table of where each curve starts, bends and ends, and the marks in the chart."""

import math

from tests.report.factories import make_curves
from tests.report.pages import write
from vocap.files.io import read_tsv


def test_each_curve_has_its_ends_its_knee_and_the_reasons(tmp_path):
    codes = ["de", "ja", "ka", "sw"]
    make_curves(tmp_path / "results", codes, range(1000, 50_001, 1000))
    write(tmp_path / "results", tmp_path / "out")
    table = {row["language"]: row for row in read_tsv(tmp_path / "out" / "tables" / "curve-summary.tsv")}
    assert sorted(table) == codes
    for code in codes:
        points = list(read_tsv(tmp_path / "results" / "vocabularies" / code / "curve.tsv"))
        trained = [row for row in points if row["status"] == "ok"]
        row = table[code]
        for name, point in (("smallest", trained[0]), ("knee", _knee(trained)), ("largest", trained[-1])):
            assert row[name] == point["size"], (code, name)
            assert row[f"alp_{name}"] == point["alp"]
            assert row[f"alp_heldout_{name}"] == point["alp_heldout"]
        assert row["best_heldout"] == max(trained, key=lambda point: float(point["alp_heldout"]))["size"]
        refused = [
            point for point in points if point["status"] != "ok" and int(point["size"]) > int(row["largest"])
        ]
        assert row["end_reason"] == (refused[0]["status"] if refused else "the largest size asked for")
    assert "do not fit" in table["ja"]["start_reason"]
    assert table["de"]["start_reason"] == "the smallest size asked for"


def _knee(points):
    """By angle: the point whose distance from the line through both ends is largest, axes scaled to 0 to 1."""
    sizes, alps = ([float(point[column]) for point in points] for column in ("size", "alp"))
    x = [(size - sizes[0]) / (sizes[-1] - sizes[0]) for size in sizes]
    y = [(alp - alps[0]) / (alps[-1] - alps[0]) for alp in alps]
    return max(zip(y, x, points, strict=True), key=lambda item: (item[0] - item[1]) / math.sqrt(2))[2]


def test_the_chart_marks_one_knee_of_each_curve(tmp_path):
    make_curves(tmp_path / "results", ["de", "sw"], range(1000, 20_001, 1000))
    page = write(tmp_path / "results", tmp_path / "out")
    assert page.count('"k":1') == 2
