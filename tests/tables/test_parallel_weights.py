"""Weights that follow parallel text, by their definition in floating point."""

import numpy as np
import pytest

from vocap.tables.sampling_probabilities import fair_factors, reference_language, reference_lines


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
    parallel = {"de": ["ä", "", "c", "d"], "en": ["one", "two", "", "vier"], "ja": ["あ", "い", "う", "え"]}
    assert reference_language(parallel) == "en"
    assert reference_lines(parallel, "de") == (["ä", "d"], 7)
    assert reference_lines(parallel, "en") == (["one", "two", "vier"], 10)
    assert reference_lines(parallel, "fr") == ([], 0)
    del parallel["en"]
    assert reference_language(parallel) == "ja"
    assert reference_lines(parallel, "de") == (["ä", "c", "d"], 9)
    assert reference_language({}) is None and reference_lines({}, "de") == ([], 0)
