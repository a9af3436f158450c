"""Points and their correlations, against pandas."""

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocap.correlation.study import Measured, correlations, read_records
from vocap.errors import VocapError
from vocap.files.tsv import write_tsv

values = st.floats(-500, 100).map(lambda value: round(value, 3))


@given(st.lists(st.tuples(st.sampled_from(["hi", "fa"]), values, values), min_size=1, max_size=30))
def test_the_correlations_are_those_of_pandas(rows):
    points = [
        Measured(language, 1000 * (place + 1), alp, "panx", "test", f1, 1, 10)
        for place, (language, alp, f1) in enumerate(rows)
    ]
    frame = pandas.DataFrame(points)
    for one in correlations(points, {"hi": [1000, 2000]}):
        mine = frame[frame.language == one.language]
        assert (one.sizes, one.holes) == (len(mine), 2 if one.language == "hi" else 0)
        for column, rho in (("alp", one.rho_alp), ("size", one.rho_size)):
            defined = len(mine) > 2 and mine[column].nunique() > 1 and mine.f1.nunique() > 1
            assert (rho is not None) == defined
            if defined:
                assert rho == pytest.approx(mine[column].corr(mine.f1), abs=1e-6)


def test_points_come_back(tmp_path):
    points = [
        Measured("hi", 1000, -123.456789012345, "udpos", "test", 71.25, 2, 500),
        Measured("hi", 2000, -99.5, "panx", "dev", 0.0, 1, 500),
    ]
    write_tsv(tmp_path / "points.tsv", Measured._fields, points)
    assert read_records(tmp_path / "points.tsv", Measured) == points


def test_a_cell_that_is_no_number_is_named(tmp_path):
    path = tmp_path / "points.tsv"
    path.write_text("\t".join(Measured._fields) + "\nhi\t1000\t-1.5\tudpos\ttest\tmany\t1\t5\n", encoding="utf-8")
    with pytest.raises(VocapError, match=r"points\.tsv, line 2: .*many"):
        read_records(path, Measured)
