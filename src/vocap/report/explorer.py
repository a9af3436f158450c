"""What the page's explorer computes from: curves, weights, the overlap of pieces, and the present choices."""

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from vocap.allocation.inputs import Inputs
from vocap.allocation.rules import RULES
from vocap.allocation.settings import Allocation as Settings
from vocap.report.overlap import Overlap, find_overlap, pack
from vocap.report.results import Allocation, Results
from vocap.vocabularies import COVERAGE
from vocap.vocabularies.curve import Point

BUDGET = 4_000_000  # characters of the packed overlap
MOST_THINNED = 1024


@dataclass(frozen=True)
class Explorer:
    """A block of the page: `data` for its script; `error` is the largest share that a counted union was off by."""

    data: dict[str, Any]
    thinned: int
    error: float
    kind: str = "explorer"


def make_explorer(results: Results, budget: int = BUDGET) -> Explorer | None:
    """The explorer of these results; None without languages or without an allocation to compare with."""
    inputs = results.inputs
    present = present_choices(results)
    if not inputs.languages or not present:
        return None
    overlap, packed, error = _fitting(inputs, budget)
    languages = []
    for entry, (piece, _, _) in zip(inputs.languages, overlap.entries, strict=True):
        points = results.trained(entry.language)
        languages.append(
            {
                "code": entry.language,
                "name": results.name(entry.language),
                "group": results.resource(entry.language),
                "n": entry.n,
                "sizes": [point.size for point in points],
                "alp": [point.alp for point in points],
                "heldout": [point.alp_heldout for point in points],
                "tokens": [point.tokens_per_sentence for point in points],
                "entries": len(piece),
                "characters": len(entry.characters or ()),
            }
        )
    schema = Settings.model_json_schema()["properties"]
    data = {
        "folder": results.folder,
        "limits": {key: schema[key]["maximum"] for key in ("alpha", "beta", "fairness")},
        "classes": len(overlap.times),
        "alphabet": overlap.characters,
        "languages": languages,  # in the order of `vocap allocate`, on which ties depend
        "shown": sorted((one["code"] for one in languages), key=results.rank),
        "packed": packed,
        "rules": {rule.name: rule.label for rule in RULES.values()},
        "present": [_shown(one) for one in present],
    }
    return Explorer(data, overlap.thinned, error)


@dataclass(frozen=True)
class Present:
    """A finished allocation: its settings, and the size of each language."""

    name: str
    settings: Settings
    coverage: float
    sizes: dict[str, int | None]
    models: dict[str, Point]  # of a rule that makes models: each language's own, of no size of its curve


def _shown(one: Present) -> dict[str, Any]:
    """For the page's script: settings, sizes, and of models of their own what the curves do not have."""
    measured = {
        language: {"alp": model.alp, "heldout": model.alp_heldout, "tokens": model.tokens_per_sentence}
        for language, model in one.models.items()
    }
    settings = {**one.settings.model_dump(), "coverage": one.coverage}
    return {"name": one.name, "settings": settings, "sizes": one.sizes, "measured": measured}


def present_choices(results: Results) -> list[Present]:
    """The allocations whose files say settings and sizes, as the configuration names them, then any others."""
    entries = [results.allocations[name] for name in results.configured("allocation", results.allocations)]
    return [found for entry in entries if (found := _present(entry)) is not None]


def _present(entry: Allocation) -> Present | None:
    settings = entry.summary.get("settings")
    if not isinstance(settings, dict) or not entry.shares:
        return None
    coverage = settings.get("coverage", COVERAGE)
    try:
        known = Settings(**{key: value for key, value in settings.items() if key != "coverage"})
    except ValidationError:
        return None
    sizes = {share.language: share.size for share in entry.shares}
    return Present(entry.name, known, coverage, sizes, entry.models)


def _fitting(inputs: Inputs, budget: int) -> tuple[Overlap, str, float]:
    """The overlap of all pieces if it fits the budget packed, else of as many shared ones as do."""
    indexes = [entry.index for entry in inputs.languages]
    tables = [entry.characters for entry in inputs.languages]
    stops = [len(index.sizes) for index in indexes]
    whole = find_overlap(indexes, tables)
    overlap, packed = whole, pack(whole, tables, stops)
    while len(packed) > budget and overlap.thinned < MOST_THINNED:
        overlap = find_overlap(indexes, tables, 2 * overlap.thinned)
        packed = pack(overlap, tables, stops)
    return overlap, packed, _error(whole, overlap, stops)


def _error(whole: Overlap, thinned: Overlap, stops: list[int], steps: int = 8) -> float:
    """How far the size of a union is off, as a share: the most of several, from smallest sizes to largest."""
    if thinned.thinned == 1:
        return 0.0
    ranks = [[(last - 1) * step // steps for last in stops] for step in range(steps + 1)]
    sizes = [(whole.union(choice), thinned.union(choice)) for choice in ranks]
    return max(abs(estimate - size) / size for size, estimate in sizes)
