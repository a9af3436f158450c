"""The warning where lines of one language hold many more or fewer nats than those of others."""

import numpy as np
import pytest

from vocap.allocation.inputs import Inputs, LanguageInput, uneven_lines
from vocap.allocation.settings import Allocation


def warned(nats, **settings):
    """The warning of languages whose lines hold so many nats under their smallest vocabularies."""
    languages = [LanguageInput(code, 1.0, None, np.array([-own, -own / 2]), None) for code, own in nats.items()]
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
        ({f"l{k}": 1000.0 + k for k in range(7)} | {f"s{k}": 100.0 for k in range(8)}, "and 2 more (nats"),
    ],
)
def test_languages_are_named_with_both_remedies(nats, said):
    (warning,) = warned(nats)
    assert said in warning and "split_sentences: true" in warning and "per: character" in warning
