"""A whole allocation, clipping and the fairness weight included, against the same
written with sets.
"""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import sentencepiece_model_pb2

from tests.allocation.factories import Case
from tests.allocation.test_rules import naive_algorithm_1
from tests.vocabularies.factories import make_text
from vocap.allocation.algorithm_1 import fair_values
from vocap.allocation.inputs import Inputs, LanguageInput
from vocap.allocation.settings import Allocation
from vocap.allocation.solution import clip, solve
from vocap.errors import UsageError
from vocap.tables.piece_index import build
from vocap.unigram.sentencepiece_trainer import Unreachable, train
from vocap.unigram.training_text import character_counts, required_in_sample


def scores_of(case):
    """A score of each piece in each model; it differs between models, as in reality."""
    rng = random.Random("scores")
    return {
        (language, size): {piece: rng.uniform(-15, -3) for piece in sorted(pieces)}
        for language, sizes, sets in zip(case.languages, case.sizes, case.sets, strict=True)
        for size, pieces in zip(sizes, sets, strict=True)
    }


def inputs_of(case, n, characters):
    return Inputs(
        [
            LanguageInput(code, count, build(sizes, [sorted(s) for s in sets]), alp, characters)
            for code, count, sizes, sets, alp in zip(
                case.languages, n, case.sizes, case.sets, map(np.array, case.alp), strict=True
            )
        ]
    )


def solved(case, n, total, **options):
    scores, inputs = scores_of(case), inputs_of(case, n, {"z": 3, "q": 1})
    return solve(inputs, Allocation(total=total, **options), lambda code, size: scores[code, size])


def naive_clip(case, ranks, fitting, capacity, required):
    """The last slice's new pieces by their score in that model, then all pieces by
    their best score.
    """
    scores = scores_of(case)
    union = case.union(ranks, required)
    if fitting is not None:
        language = next(k for k, (a, b) in enumerate(zip(ranks, fitting, strict=True)) if a != b)
        model = scores[case.languages[language], case.sizes[language][ranks[language]]]
        new = case.union(ranks, required) - case.union(fitting, required)
        for piece in sorted(new, key=lambda piece: (model[piece], piece)):
            if len(union) > capacity and len(piece) > 1:
                union.remove(piece)
    best = {}
    for code, sizes, rank in zip(case.languages, case.sizes, ranks, strict=True):
        for piece, score in scores[code, sizes[rank]].items():
            best[piece] = max(score, best.get(piece, -99.0))
    for piece in sorted(best, key=lambda piece: (best[piece], piece)):
        if len(union) > capacity and len(piece) > 1 and piece in union:
            union.remove(piece)
    return union


@pytest.mark.parametrize("seed", range(10))
def test_vocabulary_is_the_clipped_union(seed):
    case = Case(seed, languages=4, sizes=5, holes=seed % 2 == 0)
    n = [50.0, 3.0, 700.0, 20.0]
    powers = [count**0.6 for count in n]
    case.weights = [(power / sum(powers)) ** 0.5 for power in powers]
    clipped = 0
    for capacity in (25, 55, 80, 110, 140):
        solution = solved(case, n, capacity + 5, alpha=0.6, beta=0.5)
        ranks, fitting = naive_algorithm_1(case, capacity, ["q", "z"])
        sizes = [sizes[rank] for sizes, rank in zip(case.sizes, ranks, strict=True)]
        assert [row.size for row in solution.rows] == sizes
        overshoots = fitting if len(case.union(ranks, ["q", "z"])) > capacity else None
        expected = naive_clip(case, ranks, overshoots, capacity, ["q", "z"])
        assert set(solution.vocabulary) == expected and list(solution.vocabulary) == sorted(
            expected
        )
        assert solution.clipped == len(case.union(ranks, ["q", "z"])) - len(expected)
        clipped += solution.clipped
        for piece, languages in solution.vocabulary.items():
            assert languages == [
                code
                for code, sets, rank in zip(case.languages, case.sets, ranks, strict=True)
                if piece in sets[rank]
            ]
        for row, sets, rank in zip(solution.rows, case.sets, ranks, strict=True):
            others = [s[r] for s, r in zip(case.sets, ranks, strict=True) if s is not sets]
            assert row.own_pieces == len(sets[rank] - set().union(*others))
        assert solution.required == solution.required_added == 2
    assert clipped > 0


def test_a_piece_that_others_hold_is_not_new():
    """The last step brings `shared` with the lowest score of all, but another language
    has it: it stays.
    """
    case = Case(0, languages=2, sizes=2)
    case.sizes = [[2, 3], [2, 5]]
    case.sets = [
        [{"aa", "shared"}, {"aa", "shared", "ax"}],
        [{"bb", "bc"}, {"bb", "bc", "shared", "bd", "be"}],
    ]
    case.alp = [[-10.0, -10.0], [-10.0, -5.0]]
    scores = {"bb": -1.0, "bc": -1.0, "shared": -99.0, "bd": -4.0, "be": -3.0}
    solution = solve(
        inputs_of(case, [1.0, 1.0], None), Allocation(total=5 + 5), lambda code, size: scores
    )
    assert [row.size for row in solution.rows] == [2, 5]
    assert list(solution.vocabulary) == ["aa", "bb", "bc", "be", "shared"]
    assert solution.vocabulary["shared"] == ["l0", "l1"]


def test_equal_scores_go_by_code_point():
    assert clip(["bb", "aa", "cc"], 1, iter([{"cc": -1.0, "bb": -1.0, "aa": -1.0}])) == (
        ["cc"],
        ["aa", "bb"],
    )


def test_exactly_the_characters_fit_and_one_less_does_not():
    everything = iter([{}, {"ab": -1.0, "a": -1.0, "b": -1.0}])
    assert clip(["a", "ab", "b", "z"], 3, everything) == (["a", "b", "z"], ["ab"])
    with pytest.raises(
        UsageError,
        match=r"total of 7 .* 2 pieces .* 3 single characters \(1 of them required\).*at least 8, "
        r"or leave out",
    ):
        clip(["a", "ab", "b", "z"], 2, iter([{}, {"ab": -1.0}]), ["z"])


def test_a_long_line_counts_more_than_a_short_one():
    """Ten lines by Equation 3: 5 of 9 s and 1 r, 5 of 1 l and 1 m; 60 characters, of
    which s makes 45.
    """
    short, long = {"l": 1.0, "m": 1.0}, {"s": 9.0, "r": 1.0}
    assert required_in_sample([short, long], [0.5, 0.5], 0.75) == ["s"]
    # equal ones by code point
    assert required_in_sample([short, long], [0.5, 0.5], 0.76) == ["l", "s"]
    # a hundredth as many long lines: 99 l, 99 m, 9 s, 1 r of 208
    assert required_in_sample([short, long], [0.99, 0.01], 0.95) == ["l", "m"]
    assert required_in_sample([short, long], [0.99, 0.01], 0.99) == ["l", "m", "s"]


@pytest.mark.parametrize("coverage", [0.98, 0.99, 0.9995, 1.0])
def test_they_are_those_of_a_sample_that_is_drawn(coverage):
    """A sample with each language's lines in proportion to q, counted by
    SentencePiece's trainer.
    """
    texts = {
        "latin": make_text("latin", 300),
        "kana": make_text("kana", 200),
        "cyrillic": make_text("cyrillic", 100),
    }
    times = {"latin": 1, "kana": 3, "cyrillic": 2}  # each line so often: 300, 600 and 200 lines
    sample = [line for name, lines in texts.items() for line in lines * times[name]]
    per_line = [
        {character: count / len(lines) for character, count in character_counts([lines]).items()}
        for lines in texts.values()
    ]
    with pytest.raises(Unreachable) as below:
        train(sample, 4, coverage)
    proto = sentencepiece_model_pb2.ModelProto.FromString(
        train(sample, below.value.least, coverage)
    )
    expected = {entry.piece for entry in proto.pieces[3:]}
    found = required_in_sample(per_line, [300 / 1100, 600 / 1100, 200 / 1100], coverage)
    assert set(found) == expected and found == sorted(found)
    assert (len(found) < len(character_counts([sample]))) == (coverage < 1)


def test_no_counts_require_nothing():
    assert required_in_sample([], []) == []


CURVES = st.lists(st.floats(-400, -5), min_size=2, max_size=8).map(np.array)
N = [50.0, 3.0, 700.0, 20.0]


@given(CURVES, st.floats(0, 20))
def test_a_nat_is_worth_x_to_the_fairness(alp, fairness):
    """The slope of the worth, taken numerically, and the best size's worth, which is
    its ALP.
    """
    best = alp.max()
    for value in alp:
        step = 1e-6 * -value
        near = fair_values(np.array([value - step, value + step, best]), fairness)
        if value + step < best:
            assert (near[1] - near[0]) / (2 * step) == pytest.approx(
                (value / best) ** fairness, rel=1e-3
            )
    assert fair_values(alp, fairness).max() == pytest.approx(best, rel=1e-12)


@given(CURVES, st.floats(0, 20), st.floats(0.1, 10))
def test_the_length_of_lines_has_no_say(alp, fairness, times):
    assert fair_values(times * alp, fairness) == pytest.approx(
        times * fair_values(alp, fairness), rel=1e-9
    )


def test_without_fairness_it_is_alp_itself():
    alp = np.array([-3.25, -2.0, -2.5])
    assert fair_values(alp, 0.0) is alp
    assert fair_values(np.array([-1.0, 0.0]), 3.0).tolist() == [-1.0, 0.0]  # a best of 0 has no x


def worst(case, sizes):
    """The largest x = ALP / best ALP of an allocation."""
    ranks = [grid.index(size) for grid, size in zip(case.sizes, sizes, strict=True)]
    return max(values[rank] / max(values) for values, rank in zip(case.alp, ranks, strict=True))


def test_the_worst_served_language_gains_and_the_sample_pays():
    """Over many cases, with weights that differ a hundredfold."""
    fairer, plain = [], []
    for seed in range(20):
        case = Case(seed, languages=4, sizes=6, clean=True)
        for fairness, found in ((0.0, plain), (50.0, fairer)):
            solution = solved(case, N, 105, fairness=fairness)
            found.append(worst(case, [row.size for row in solution.rows]))
    assert all(b <= a + 1e-12 for a, b in zip(plain, fairer, strict=True))
    assert sum(b < a for a, b in zip(plain, fairer, strict=True)) > 10


def test_the_objective_is_of_the_fair_values():
    case = Case(3, languages=4, sizes=5)
    solution = solved(case, N, 90, fairness=4.0)
    weights = [(count**0.7 / sum(other**0.7 for other in N)) ** 0.7 for count in N]
    smallest = sum(
        weight * fair_values(np.array(values), 4.0)[0]
        for weight, values in zip(weights, case.alp, strict=True)
    )
    assert solution.objective_smallest == pytest.approx(smallest)
    assert smallest < solution.chosen.objective
