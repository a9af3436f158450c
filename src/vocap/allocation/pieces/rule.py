"""The rule as a whole: from curves and texts to a `Solution`, and the languages' models on its pieces."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vocap.allocation import SPECIALS
from vocap.allocation.inputs import Inputs
from vocap.allocation.line_length import uneven_lines
from vocap.allocation.pieces.descent import Trunk, branch, grow_trunk, settle
from vocap.allocation.pieces.language import Unigram
from vocap.allocation.pieces.store import LanguageStore
from vocap.allocation.pieces.texts import texts_of_corpora
from vocap.allocation.settings import Allocation
from vocap.allocation.solution import (
    ROUNDING,
    Assessment,
    Row,
    Solution,
    assess,
    choose,
    pose,
    way_percent,
    weigh,
)
from vocap.errors import UsageError
from vocap.files import scratch_directory

MEMORY = 1 << 30  # bytes of the languages' states; those beyond it lie in files


@dataclass(frozen=True)
class Source:
    """The texts and tables of a descent: `corpora` holds {language}/train.txt, and heldout.txt where there is one;
    `scratch`: a path beside which a temporary folder is made."""

    inputs: Inputs
    corpora: Path
    coverage: float
    scratch: Path
    threads: int = 1


def weights_of(inputs: Inputs, settings: Allocation) -> dict[str, float]:
    """The weight of a nat a line of each language."""
    _, weights = weigh(inputs, settings)
    return dict(zip((entry.language for entry in inputs.languages), weights.tolist(), strict=True))


def make_trunk(source: Source, settings: Allocation) -> Trunk:
    """The part of the descent that does not depend on T; of the settings, alpha, beta, per and without count."""
    texts = texts_of_corpora(source.corpora, source.inputs, source.coverage)
    _, _, required = pose(source.inputs, settings, source.coverage)
    with scratch_directory(source.scratch) as folder:
        languages = LanguageStore(folder, MEMORY)
        return grow_trunk(texts, weights_of(source.inputs, settings), required, languages, source.threads)


def solve(source: Source, settings: Allocation, trunk: Trunk) -> tuple[Solution, dict[str, Unigram]]:
    """Allocate by pieces: exactly T - 5 of them, or all that the texts can use.

    Raises UsageError for a total below the characters that must be pieces.
    """
    inputs, weights = source.inputs, weights_of(source.inputs, settings)
    capacity, required = settings.total - SPECIALS, len(trunk.required)
    if required > capacity:
        raise UsageError(
            f"a total of {settings.total} leaves room for {capacity} pieces beside the {SPECIALS} special tokens, "
            f"but {required} characters must be pieces; use a total of at least {required + SPECIALS}, or leave "
            "out languages"
        )
    texts = texts_of_corpora(source.corpora, inputs, source.coverage, heldout=True)
    with scratch_directory(source.scratch) as folder:
        languages = LanguageStore(folder, MEMORY)
        chosen = branch(trunk, capacity, texts, weights, languages, source.threads)
        pieces, models = settle(chosen, languages, source.coverage, source.threads)
    return _solution(inputs, settings, source.coverage, chosen.price, pieces, models), models


def _solution(
    inputs: Inputs,
    settings: Allocation,
    coverage: float,
    price: float,
    pieces: list[str],
    models: Mapping[str, Unigram],
) -> Solution:
    problem, q, required = pose(inputs, settings, coverage)
    bound, others = assess(problem, choose(problem, settings))
    objective = sum(ladder.weight * models[ladder.language].alp[0] for ladder in problem.ladders)
    smallest = problem.objective([0] * len(problem.ladders))
    vocabulary = _vocabulary(pieces, models)
    holders = np.zeros(len(pieces), np.int32)
    for model in models.values():
        holders[model.numbers] += 1
    rows = [
        Row(
            language=entry.language,
            n=entry.n,
            q=float(probability),
            weight=float(ladder.weight),
            size=models[entry.language].size,
            gain=price,
            own_pieces=int(np.count_nonzero(holders[models[entry.language].numbers] == 1)),
        )
        for entry, ladder, probability in zip(inputs.languages, problem.ladders, q, strict=True)
    ]
    short = problem.capacity - len(vocabulary)
    warnings = [*inputs.warnings, *uneven_lines(inputs, settings)]
    if short:
        warnings.append(
            f"a total of {settings.total} is above all that the texts can use: {len(vocabulary)} pieces and "
            f"{SPECIALS} special tokens; the vocabulary stays {short} short (more text fills it)"
        )
    return Solution(
        rows=rows,
        vocabulary=vocabulary,
        capacity=problem.capacity,
        required=len(required),
        required_added=sum(not held for held in vocabulary.values()),
        union=len(vocabulary),
        clipped=0,
        short=short,
        objective_smallest=smallest,
        bound=bound,
        chosen=Assessment(settings.rule, len(vocabulary), objective, _way_percent(objective, smallest, bound)),
        others=list(others.values()),
        exhausted=[],
        warnings=warnings,
        lines=sum(model.lines for model in models.values()),
    )


def _way_percent(objective: float, smallest: float, bound: float | None) -> float | None:
    """`solution.way_percent`, and above 100 for what passes the bound on unions of whole lists."""
    if bound is None or objective <= bound or bound - smallest <= ROUNDING * abs(bound):
        return None if bound is None else way_percent(objective, smallest, bound)
    return 100 * (objective - smallest) / (bound - smallest)


def _vocabulary(pieces: list[str], models: Mapping[str, Unigram]) -> dict[str, list[str]]:
    """Each piece, sorted, with the languages whose model holds it."""
    languages: list[list[str]] = [[] for _ in pieces]
    for language, model in models.items():
        for number in model.numbers.tolist():
            languages[number].append(language)
    return dict(sorted(zip(pieces, languages, strict=True)))
