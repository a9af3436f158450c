"""One allocation: the choice of sizes, the other rules, clipping to capacity, files."""

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vocap.allocation.algorithm_1 import (
    Problem,
    SizeChoice,
    Union,
    fair_values,
    merge,
    next_gain,
)
from vocap.allocation.inputs import Inputs, uneven_lines
from vocap.allocation.rules import RULES
from vocap.allocation.settings import Allocation
from vocap.errors import UsageError
from vocap.files.io import replacing, replacing_directory, table_lines
from vocap.tables.curve import write_points
from vocap.tables.sampling_probabilities import sampling_probabilities
from vocap.tokenizer_files import SPECIALS
from vocap.unigram.text_settings import COVERAGE
from vocap.unigram.training_text import required_in_sample

if TYPE_CHECKING:  # numba, which rules of sizes do not need
    from vocap.allocation.language_state import LanguageUnigram

Numbers = NDArray[np.float64]
Scores = Callable[[str, int], dict[str, float]]  # of a language and a size: piece to score


@dataclass(frozen=True)
class AllocationRow:
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
    """A rule's choice at its last union that fits, and its objective F.

    Both are None where the smallest sizes alone do not fit.
    """

    rule: str
    union: int | None
    objective: float | None


@dataclass(frozen=True)
class Solution:
    """The content of the files and messages about an allocation."""

    rows: list[AllocationRow]
    vocabulary: dict[str, list[str]]  # piece to the languages whose chosen vocabulary holds it
    capacity: int
    required: int
    required_added: int
    union: int
    clipped: int
    short: int
    objective_smallest: float
    chosen: Assessment
    others: list[Assessment]
    exhausted: list[str]
    warnings: list[str]
    lines: int | None = None  # of the text, where the rule reads it


def solve(
    inputs: Inputs,
    settings: Allocation,
    scores: Scores,
    coverage: float = COVERAGE,
) -> Solution:
    """Allocate a merged vocabulary by a rule that chooses a size for each language.

    `scores` gives piece to score of a language's model of a size, for clipping;
    `coverage`: the share of the multilingual sample's characters that must be pieces.
    The solution has at most T - 5 pieces, the sizes, and the objective of each rule.
    Raises UsageError for a total below the single characters, which are never clipped.
    """
    problem, q, required = pose(inputs, settings, coverage)
    choices, assessments = assess(problem, settings)
    choice, chosen = choices[settings.rule], assessments.pop(settings.rule)

    # the union of the chosen lists, clipped to the capacity
    union = Union(problem, choice.ranks)
    vocabulary = _pieces(inputs, problem, choice.ranks, required)
    assert len(vocabulary) == union.size  # no two pieces have one hash
    slices = _slices(inputs, problem, choice, vocabulary, scores)
    pieces, dropped = clip(vocabulary, problem.capacity, slices, required, settings.reserved)
    steps = list(zip(problem.curves, choice.ranks, strict=True))
    sizes = [int(own.sizes[rank]) for own, rank in steps]
    gains = [float(own.gains[rank - 1]) if rank else None for own, rank in steps]
    return Solution(
        rows=make_rows(inputs, problem, q, vocabulary, sizes, gains),
        vocabulary={piece: vocabulary[piece] for piece in pieces},
        capacity=problem.capacity,
        required=len(required),
        required_added=sum(not vocabulary[character] for character in required),
        union=union.size,
        clipped=len(dropped),
        short=problem.capacity - len(pieces),
        objective_smallest=problem.objective([0] * len(problem.curves)),
        chosen=chosen,
        others=list(assessments.values()),
        exhausted=[
            own.language for k, own in enumerate(problem.curves) if next_gain(union, k) == -np.inf
        ],
        warnings=[
            *inputs.warnings,
            *uneven_lines(inputs, settings),
            *_warnings(problem, settings, choice, union.size, len(pieces)),
        ],
    )


def _warnings(
    problem: Problem, settings: Allocation, choice: SizeChoice, union: int, pieces: int
) -> Iterator[str]:
    """Why the vocabulary is short of T, or clipped below the languages' smallest
    sizes.
    """
    short, curves = problem.capacity - pieces, problem.curves
    stopped = [
        own.language
        for own, rank in zip(curves, choice.ranks, strict=True)
        if rank + 1 < len(own.sizes)
    ]
    if short and stopped:
        yield (
            f"the vocabulary stays {short} short of a total of {settings.total}: the next size "
            f"gains nothing for {', '.join(stopped)}, though there are larger ones"
        )
    elif short:
        yield (
            f"a total of {settings.total} is above the union of all sizes: the vocabulary stays "
            f"{short} short (larger sizes or more text fill it)"
        )
    if choice.fitting is None:
        yield (
            f"a total of {settings.total} is below the smallest sizes of all languages, "
            f"{union + settings.reserved} together; their lowest-scored pieces are clipped (leave "
            "out languages, or train smaller sizes)"
        )


def pose(
    inputs: Inputs, settings: Allocation, coverage: float = COVERAGE
) -> tuple[Problem, Numbers, list[str]]:
    """The problem of these inputs and settings, q of each language (Equation 3), and
    the required characters.
    """
    languages = inputs.languages
    q, weights = weigh_nats(inputs, settings)
    required = required_in_inputs(inputs, q, coverage)
    problem = merge(
        [entry.language for entry in languages],
        [entry.index for entry in languages],
        [fair_values(entry.alp, settings.fairness) for entry in languages],
        weights.tolist(),
        required,
        settings.capacity,
    )
    return problem, q, required


def required_in_inputs(inputs: Inputs, q: Numbers, coverage: float) -> list[str]:
    """The characters that make up `coverage` of the multilingual sample of shares q."""
    per_line = [entry.characters or {} for entry in inputs.languages]
    return required_in_sample(per_line, q.tolist(), coverage)


def weigh_nats(inputs: Inputs, settings: Allocation) -> tuple[Numbers, Numbers]:
    """q_i (Equation 3) and the weight of a nat a line of each language, q_i^beta
    (Equation 2), float64 both.

    `per: character`: times mean characters a line of all languages / of this one, so
    that weight x nats a line is proportional to q_i^beta x nats a character. Raises
    UsageError for a language whose characters are not known.
    """
    languages = inputs.languages
    q = sampling_probabilities([entry.n for entry in languages], settings.alpha)
    weights = q**settings.beta
    if settings.per == "line":
        return q, weights
    characters = {entry.language: entry.characters or {} for entry in languages}
    unknown = [language for language, counts in characters.items() if not counts]
    if unknown:
        raise UsageError(
            f"per: character needs the characters of every language, and {', '.join(unknown)} has "
            "no characters.tsv with a character; make it (vocap curve), leave the language out, or "
            "take per: line"
        )
    lengths = np.array([math.fsum(counts.values()) for counts in characters.values()])
    return q, weights * (lengths.mean() / lengths)


def assess(
    problem: Problem, settings: Allocation
) -> tuple[dict[str, SizeChoice], dict[str, Assessment]]:
    """The choice of each rule that chooses sizes, and its objective."""
    choices = {rule.name: rule.choose(problem, settings) for rule in RULES.values() if rule.choose}
    assessments = {}
    for rule, choice in choices.items():
        objective = problem.objective(choice.fitting) if choice.fitting else None
        assessments[rule] = Assessment(rule, choice.fitting_union, objective)
    return choices, assessments


def make_rows(
    inputs: Inputs,
    problem: Problem,
    q: Numbers,
    vocabulary: Mapping[str, Sequence[str]],
    sizes: Sequence[int],
    gains: Sequence[float | None],
) -> list[AllocationRow]:
    """The lines of allocation.tsv; `vocabulary` before clipping, sizes and gains in the
    order of the languages.
    """
    own = Counter(held[0] for held in vocabulary.values() if len(held) == 1)
    return [
        AllocationRow(
            entry.language,
            entry.n,
            float(share),
            float(curve.weight),
            size,
            gain,
            own[entry.language],
        )
        for entry, curve, share, size, gain in zip(
            inputs.languages, problem.curves, q, sizes, gains, strict=True
        )
    ]


def _pieces(
    inputs: Inputs, problem: Problem, ranks: Sequence[int], required: list[str]
) -> dict[str, list[str]]:
    """The union before clipping, each piece with the languages that hold it, sorted by
    piece.
    """
    holders: dict[str, list[str]] = {character: [] for character in required}
    for entry, own, rank in zip(inputs.languages, problem.curves, ranks, strict=True):
        members = np.sort(own.entry[(own.start <= rank) & (rank < own.stop)])
        for piece in entry.index.strings(members):
            holders.setdefault(piece, []).append(entry.language)
    return dict(sorted(holders.items()))


def _slices(
    inputs: Inputs,
    problem: Problem,
    choice: SizeChoice,
    vocabulary: Mapping[str, list[str]],
    scores: Scores,
) -> Iterator[dict[str, float]]:
    """Candidates for clipping: the new pieces of the last step, then every piece by its
    best score.
    """
    if choice.last is not None and choice.fitting is not None:
        own, index = problem.curves[choice.last], inputs.languages[choice.last].index
        rank = choice.ranks[choice.last]
        before = Union(problem, choice.fitting)
        entering = own.entry[own.start == rank]
        new = index.strings(entering[before.count[own.ids[entering]] == 0])
        of_model = scores(own.language, int(own.sizes[rank]))
        yield {piece: of_model[piece] for piece in new}
    best: dict[str, float] = {}
    for own, rank in zip(problem.curves, choice.ranks, strict=True):
        for piece, score in scores(own.language, int(own.sizes[rank])).items():
            if piece in vocabulary and score > best.get(piece, -np.inf):
                best[piece] = score
    yield best


def solve_by_sizes(inputs: Inputs, coverage: float, settings: Allocation) -> tuple[Solution, None]:
    """Solve by the models of the ladders, for settings whose rule chooses sizes; None for
    the models that a rule has which reads text.
    """

    def scores(language: str, size: int) -> dict[str, float]:
        model = inputs.ladders[language].read_pieces(size)
        return dict(zip(model.pieces, model.scores.tolist(), strict=True))

    return solve(inputs, settings, scores, coverage), None


def clip(
    union: Iterable[str],
    capacity: int,
    slices: Iterator[Mapping[str, float]],
    required: Collection[str] = (),
    reserved: int = SPECIALS,
) -> tuple[list[str], list[str]]:
    """The pieces kept, in the order of `union`, and the pieces dropped, in the order of
    dropping.

    `slices` gives candidates, piece to score (natural log), one mapping after the other
    as long as more must be dropped: first the new pieces of the last step, then all
    pieces by their best score. Within a mapping the lowest score is dropped first, then
    the first by code point; a single character never, `required` or not. `reserved`:
    rows of T besides the pieces, for the message. Raises UsageError where the capacity
    is below the single characters alone.
    """
    union = list(union)
    excess = len(union) - capacity
    if excess <= 0:
        return union, []
    characters = sum(len(piece) == 1 for piece in union)
    if characters > capacity:
        raise UsageError(
            f"a total of {capacity + reserved} holds {capacity} pieces beside {reserved} special "
            f"tokens and other rows, but the chosen vocabularies hold {characters} single "
            f"characters ({len(required)} of them required), which are never clipped; use a total "
            f"of at least {characters + reserved}, or leave out languages"
        )
    present = set(union)
    dropped: dict[str, None] = {}
    while len(dropped) < excess:
        scores = next(slices)
        candidates = [
            piece
            for piece in scores
            if len(piece) > 1 and piece in present and piece not in dropped
        ]
        candidates.sort(key=lambda piece: (scores[piece], piece))
        dropped.update(dict.fromkeys(candidates[: excess - len(dropped)]))
    return [piece for piece in union if piece not in dropped], list(dropped)


def allocation_summary(
    inputs: Inputs, settings: Allocation, coverage: float, solution: Solution
) -> dict[str, Any]:
    """The content of summary.json."""
    summary = {
        "settings": {**settings.model_dump(), "coverage": coverage},
        "languages": len(solution.rows),
        "left_out": inputs.left_out,
        "special_tokens": settings.special_tokens,
        "capacity": solution.capacity,
        "sum_of_sizes": sum(row.size for row in solution.rows),
        "union_before_clipping": solution.union,
        "clipped": solution.clipped,
        "short": solution.short,
        "pieces": len(solution.vocabulary),
        "required_characters": solution.required,
        "required_characters_added": solution.required_added,
        "objective_smallest": solution.objective_smallest,
        "chosen": asdict(solution.chosen),
        "other_rules": [asdict(other) for other in solution.others],
        "exhausted": solution.exhausted,
    }
    if solution.lines is not None:
        summary["lines"] = solution.lines
    return summary | {"warnings": solution.warnings}


def write_allocation(
    output: str | Path,
    inputs: Inputs,
    settings: Allocation,
    coverage: float,
    solution: Solution,
    models: "Mapping[str, LanguageUnigram] | None" = None,
) -> None:
    """Write `allocation.tsv`, `vocabulary.tsv` and `summary.json` into `output`; other
    files there stay.

    `models`: each language's own model on the pieces, of a rule that reads text;
    written to the folder `vocabularies` with a curve of one size for each language.
    """
    output = Path(output)
    summary = allocation_summary(inputs, settings, coverage, solution)
    texts = {
        "allocation.tsv": table_lines(
            [field.name for field in fields(AllocationRow)], map(astuple, solution.rows)
        ),
        "vocabulary.tsv": table_lines(
            ("piece", "languages"),
            ((piece, ",".join(held)) for piece, held in solution.vocabulary.items()),
        ),
        "summary.json": [json.dumps(summary, ensure_ascii=False, indent=2) + "\n"],
    }
    with ExitStack() as stack:  # every file is complete on the disk before the first is renamed
        if models:
            folder = stack.enter_context(replacing_directory(output / "vocabularies"))
        for language, model in (models or {}).items():
            (folder / language / "models").mkdir(parents=True)
            (folder / language / "models" / f"{model.size}.model").write_bytes(model.model)
            write_points(folder / language / "curve.tsv", [model.point])
        for name, lines in texts.items():
            file = stack.enter_context(replacing(output / name))
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())


def allocation_lines(settings: Allocation, solution: Solution) -> Iterator[str]:
    """The lines that the command prints: the languages by falling size, and the
    objective.
    """
    yield f"{'language':<10}{'q':>9}{'size':>8}{'own pieces':>12}{'gain':>12}"
    for row in sorted(solution.rows, key=lambda row: (-row.size, row.language)):
        gain = "" if row.gain is None else f"{row.gain:.5g}"
        yield f"{row.language:<10}{row.q:>9.5f}{row.size:>8,}{row.own_pieces:>12,}{gain:>12}"
    sizes = sum(row.size for row in solution.rows)
    yield ""
    yield (
        f"{len(solution.rows)} languages, {sizes:,} pieces by size, {solution.union:,} in the "
        f"union; {len(solution.vocabulary):,} kept of a capacity of {solution.capacity:,} "
        f"({solution.clipped:,} clipped, {solution.short:,} short)"
    )
    yield (
        f"{solution.required:,} required characters; {solution.required_added:,} were in no "
        "chosen vocabulary"
    )
    yield f"{settings.rule}: {_objective(solution.chosen)}"
    for other in solution.others:
        yield f"rule {other.rule} instead: {_objective(other)}"
    if solution.exhausted:
        yield f"at the end of their curves: {', '.join(solution.exhausted)}"


def _objective(of: Assessment) -> str:
    """The objective of a rule's choice, in words."""
    if of.objective is None:
        return "the smallest sizes do not fit"
    return f"F = {of.objective:.6g} nats at the last union that fits, {of.union:,}"
