"""One allocation from beginning to end: choose, compare with the bound and the other rule, clip to size."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vocap.allocation import SPECIALS
from vocap.allocation.bound import upper_bound
from vocap.allocation.characters import required_characters
from vocap.allocation.clipping import clip
from vocap.allocation.fairness import fair_values
from vocap.allocation.greedy import Choice, next_gain
from vocap.allocation.inputs import Inputs
from vocap.allocation.ladders import Problem, Union, merge
from vocap.allocation.line_length import uneven_lines
from vocap.allocation.rules import size_rules
from vocap.allocation.settings import Allocation
from vocap.corpora.weights import sampling_probabilities
from vocap.errors import UsageError, VocapError
from vocap.vocabularies import COVERAGE

ROUNDING = 1e-12  # of a sum of some hundred languages, relative


@dataclass(frozen=True)
class Row:
    """A line of allocation.tsv; `gain` None at the smallest size."""

    language: str
    n: float
    q: float
    weight: float
    size: int
    gain: float | None
    own_pieces: int


@dataclass(frozen=True)
class Assessment:
    """A rule's choice at its last union that fits: its objective F, and `way_percent` from F_min to the bound.

    Both are None when the smallest sizes alone do not fit. A rule that chooses pieces may pass 100 %: the bound is
    that of unions of whole lists.
    """

    rule: str
    union: int | None
    objective: float | None
    way_percent: float | None


@dataclass(frozen=True)
class Solution:
    """Everything that is written or printed about an allocation."""

    rows: list[Row]
    vocabulary: dict[str, list[str]]  # piece to the languages whose chosen vocabulary holds it
    capacity: int
    required: int
    required_added: int
    union: int
    clipped: int
    short: int
    objective_smallest: float
    bound: float | None
    chosen: Assessment
    others: list[Assessment]
    exhausted: list[str]
    warnings: list[str]
    lines: int | None = None  # of text that the rule itself has read


def solve(
    inputs: Inputs,
    settings: Allocation,
    scores: Callable[[str, int], dict[str, float]],
    coverage: float = COVERAGE,
) -> Solution:
    """Allocate. `scores(language, size)` gives the pieces of a model and their scores: only clipping needs them.

    `coverage` is the share of the multilingual sample's characters that must be pieces.
    Raises UsageError for a total below the single characters, which are never clipped.
    """
    problem, q, required = pose(inputs, settings, coverage)
    choices = choose(problem, settings)
    choice = choices[settings.rule]
    bound, assessments = assess(problem, choices)
    chosen = assessments.pop(settings.rule)

    union = Union(problem, choice.ranks)
    vocabulary = _pieces(inputs, problem, choice.ranks, required)
    assert len(vocabulary) == union.size, (len(vocabulary), union.size)
    slices = _slices(inputs, problem, choice, vocabulary, scores)
    pieces, dropped = clip(vocabulary, problem.capacity, slices, required)
    exhausted = [
        ladder.language for which, ladder in enumerate(problem.ladders) if next_gain(union, which) == -np.inf
    ]
    short = problem.capacity - len(pieces)
    warnings = [*inputs.warnings, *uneven_lines(inputs, settings)]
    stopped = [
        ladder.language
        for ladder, rank in zip(problem.ladders, union.ranks, strict=True)
        if rank + 1 < len(ladder.sizes)
    ]
    if short and stopped:
        warnings.append(
            f"the vocabulary stays {short} short of a total of {settings.total}: the next size gains nothing for "
            f"{', '.join(stopped)}, though there are larger ones (curve: hull goes past a single such size)"
        )
    elif short:
        warnings.append(
            f"a total of {settings.total} is above all that the languages have: {len(pieces)} pieces and "
            f"{SPECIALS} special tokens; the vocabulary stays {short} short (larger sizes or more text fill it)"
        )
    if choice.fitting is None:
        warnings.append(
            f"a total of {settings.total} is below the smallest sizes of all languages, {union.size + SPECIALS} "
            "together; their lowest-scored pieces are clipped (leave out languages, or train smaller sizes)"
        )
    warnings += _below_the_smallest(problem, choice, chosen)
    return Solution(
        rows=_rows(inputs, problem, union, q),
        vocabulary={piece: vocabulary[piece] for piece in pieces},
        capacity=problem.capacity,
        required=len(required),
        required_added=sum(not vocabulary[character] for character in required),
        union=union.size,
        clipped=len(dropped),
        short=short,
        objective_smallest=problem.objective([0] * len(problem.ladders)),
        bound=bound,
        chosen=chosen,
        others=list(assessments.values()),
        exhausted=exhausted,
        warnings=warnings,
    )


def pose(
    inputs: Inputs, settings: Allocation, coverage: float = COVERAGE
) -> tuple[Problem, np.ndarray, list[str]]:
    """The problem that these settings make of the inputs, q of each language (Equation 3), required characters."""
    languages = inputs.languages
    q, weights = weigh(inputs, settings)
    known = [which for which, entry in enumerate(languages) if entry.characters is not None]
    required = required_characters(
        [languages[k].characters for k in known], [float(q[k]) for k in known], coverage
    )
    problem = merge(
        [entry.language for entry in languages],
        [entry.index for entry in languages],
        [fair_values(entry.alp, settings.fairness) for entry in languages],
        weights.tolist(),
        required,
        settings.total - SPECIALS,
        settings.curve,
    )
    return problem, q, required


def weigh(inputs: Inputs, settings: Allocation) -> tuple[np.ndarray, np.ndarray]:
    """q_i (Equation 3) and the weight of a nat a line of each language, q_i^beta (Equation 2), float64 both.

    `per: character`: times mean characters a line of all languages / of this one, so that weight x nats a line is
    proportional to q_i^beta x nats a character. Raises UsageError for a language whose characters are not known.
    """
    languages = inputs.languages
    q = sampling_probabilities([entry.n for entry in languages], settings.alpha)
    weights = q**settings.beta
    if settings.per == "line":
        return q, weights
    unknown = [entry.language for entry in languages if not entry.characters]
    if unknown:
        raise UsageError(
            f"per: character needs the characters of every language, and {', '.join(unknown)} has no "
            "characters.tsv with a character; make it (vocap curve), leave the language out, or take per: line"
        )
    lengths = np.array([math.fsum(entry.characters.values()) for entry in languages])
    return q, weights * (lengths.mean() / lengths)


def choose(problem: Problem, settings: Allocation) -> dict[str, Choice]:
    """The choice of each rule that chooses sizes, by its name."""
    return {rule.name: rule.choose(problem, settings) for rule in size_rules()}


def assess(problem: Problem, choices: Mapping[str, Choice]) -> tuple[float | None, dict[str, Assessment]]:
    """The bound, None where the smallest sizes alone do not fit, and how near each choice comes to it."""
    fit = all(choice.fitting is not None for choice in choices.values())
    bound = upper_bound(problem) if fit else None
    return bound, {rule: _assess(problem, rule, choice, bound) for rule, choice in choices.items()}


def _assess(problem: Problem, rule: str, choice: Choice, bound: float | None) -> Assessment:
    if choice.fitting is None or bound is None:
        return Assessment(rule, None, None, None)
    objective = problem.objective(choice.fitting)
    smallest = problem.objective([0] * len(problem.ladders))
    return Assessment(rule, choice.fitting_union, objective, way_percent(objective, smallest, bound))


def way_percent(objective: float, smallest: float, bound: float) -> float:
    """How much of the distance from `smallest` (F_min) to the bound an objective covers, 0 to 100.

    100 at the bound, to 12 digits. Below `smallest` it is 0: steps along the hull of a curve that falls as
    measured lead there, and the distance can be so small that a ratio to it says nothing.

    >>> way_percent(-3.0, -4.0, -2.0), way_percent(-5.0, -4.0, -3.99), way_percent(-4.0, -4.0, -4.0)
    (50.0, 0.0, 100.0)
    >>> way_percent(-36.02506820641912, -49040109064.640144, -36.02506792010601)
    100.0
    """
    if objective >= bound - ROUNDING * abs(bound):
        return 100.0
    return min(100.0, 100 * (objective - smallest) / (bound - smallest)) if objective > smallest else 0.0


def _below_the_smallest(problem: Problem, choice: Choice, chosen: Assessment) -> list[str]:
    """A warning where the choice is worth less than every language's smallest size."""
    smallest = problem.objective([0] * len(problem.ladders))
    if chosen.objective is None or chosen.objective >= smallest - ROUNDING * abs(smallest):
        return []
    fallen = [
        ladder.language
        for ladder, rank in zip(problem.ladders, choice.fitting, strict=True)
        if ladder.value[rank] < ladder.value[0]
    ]
    return [
        f"at the last union that fits, F is {smallest - chosen.objective:.3g} nats below that of the smallest "
        f"sizes: as measured, the curve of {', '.join(fallen)} falls (more text makes a curve smoother)"
    ]


def _rows(inputs: Inputs, problem: Problem, union: Union, q: np.ndarray) -> list[Row]:
    holders = union.count.copy()
    holders[problem.required] -= 1
    rows = []
    for entry, ladder, rank, probability in zip(inputs.languages, problem.ladders, union.ranks, q, strict=True):
        rows.append(
            Row(
                language=entry.language,
                n=entry.n,
                q=float(probability),
                weight=float(ladder.weight),
                size=int(ladder.sizes[rank]),
                gain=float(ladder.gains[rank - 1]) if rank else None,
                own_pieces=int(np.count_nonzero(holders[ladder.members(rank)] == 1)),
            )
        )
    return rows


def _pieces(inputs: Inputs, problem: Problem, ranks: Sequence[int], required: list[str]) -> dict[str, list[str]]:
    """The union before clipping, each piece with the languages that hold it, sorted by piece."""
    holders: dict[str, list[str]] = {character: [] for character in required}
    number: dict[int, str] = {}
    for entry, ladder, rank in zip(inputs.languages, problem.ladders, ranks, strict=True):
        members = np.sort(ladder.entry[(ladder.start <= rank) & (rank < ladder.stop)])
        for piece, shared in zip(entry.index.strings(members), ladder.ids[members].tolist(), strict=True):
            if number.setdefault(shared, piece) != piece:
                raise VocapError(
                    f"the pieces {piece!r} and {number[shared]!r} have one hash; leave a language out"
                )
            holders.setdefault(piece, []).append(entry.language)
    return dict(sorted(holders.items()))


def _slices(inputs, problem: Problem, choice: Choice, vocabulary: dict[str, list[str]], scores):
    """Candidates for clipping: the new pieces of the last step, then every piece by its best score."""
    if choice.last is not None:
        ladder, index = problem.ladders[choice.last], inputs.languages[choice.last].index
        rank = choice.ranks[choice.last]
        before = Union(problem, choice.fitting)
        entering = ladder.entry[ladder.start == rank]
        new = index.strings(entering[before.count[ladder.ids[entering]] == 0])
        of_model = scores(ladder.language, int(ladder.sizes[rank]))
        yield {piece: of_model[piece] for piece in new}
    best: dict[str, float] = {}
    for ladder, rank in zip(problem.ladders, choice.ranks, strict=True):
        for piece, score in scores(ladder.language, int(ladder.sizes[rank])).items():
            if piece in vocabulary and score > best.get(piece, -np.inf):
                best[piece] = score
    yield best
