"""Points and their correlations, against pandas."""

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocap.correlation.study import Measured, correlations

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
