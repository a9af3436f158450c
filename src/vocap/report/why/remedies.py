"""What would help a language, computed from the results of a run: a larger weight by
Algorithm 1, more pieces by the language's curve.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from vocap.allocation.algorithm_1 import Problem, allocate_greedy
from vocap.allocation.inputs import Inputs
from vocap.allocation.settings import Allocation
from vocap.allocation.solution import pose
from vocap.files.written import written_by
from vocap.report.why.run import Run
from vocap.tokenizers.settings import BytePair
from vocap.unigram.text_settings import COVERAGE
from vocap.vocabularies.measurement import measure_text

MOST_INTERVALS = 6_000_000  # of pieces in sizes; ten times those of 86 languages
ADDED = (100, 250, 500, 1000, 2000, 4000)  # pieces of an extension
FIELDS = ("total", "alpha", "beta", "per", "fairness", "without", "other_rows", "special_tokens")


def reason_without_weights(run: Run, code: str) -> str:
    """Why no allocation is computed for a language; empty where it is."""
    inputs = run.results.inputs
    intervals = sum(len(one.index.piece) for one in inputs)
    if intervals > MOST_INTERVALS:
        return f"The pieces are too many ({intervals:,} intervals of sizes); try vocap allocate."
    absent = code not in [one.language for one in inputs]
    return run.results.no_inputs or f"There is no weight or no ladder of {code}." * absent


@lru_cache(8)
def pose_again(run: Run, name: str, **changed: float) -> Problem:
    """The problem of Algorithm 1 with the settings of an allocation, but for those `changed`."""
    entry = run.results.allocations[name]
    known = {key: entry.settings[key] for key in FIELDS if key in entry.settings}
    settings = Allocation(**known | changed)
    languages = [one for one in run.results.inputs if one.language not in settings.without]
    return pose(Inputs(languages), settings, entry.setting("coverage") or COVERAGE)[0]


@lru_cache(64)
def allocate_again(run: Run, name: str, doubled: str = "", **changed: float) -> dict[str, int]:
    """The size of each language by Algorithm 1 with the settings of an allocation, but for those
    `changed`; `doubled` has twice its n.
    """
    problem = pose_again(run, name, **changed)
    # q^beta of Equation 2, over that of the others; the required characters stay
    setting = run.results.allocations[name].setting
    factor = 2 ** (setting("alpha") * setting("beta")) if doubled else 1.0
    curves = [
        replace(own, gains=own.gains * factor) if own.language == doubled else own
        for own in problem.curves
    ]
    steps = zip(curves, allocate_greedy(replace(problem, curves=curves)).ranks, strict=True)
    return {own.language: int(own.sizes[rank]) for own, rank in steps}


def larger_weights(run: Run, name: str, code: str) -> dict[str, Any]:
    """The `size` of a language by Algorithm 1 with the settings of an allocation, and in
    `changes` by setting what a larger weight does: its `size`, the change of the tokens of its
    training lines in `percent`, the same of all `losers` that get smaller.
    """
    before, n = allocate_again(run, name), run.results.line_counts
    # flatter weights serve a language of little text, steeper ones one of much
    factor = 0.5 if n[code] < np.median(list(n.values())) else 1.5
    tried: dict[str, dict[str, Any]] = {"twice its n": {"doubled": code}}
    for key in ("alpha", "beta"):
        value = round(factor * run.results.allocations[name].setting(key), 3)
        tried[f"{key} {value:g}"] = {key: value}
    changes = {}
    for setting, change in tried.items():
        after = allocate_again(run, name, **change)
        percent = {
            language: 100 * (run.tokens[language, size] / run.tokens[language, old] - 1)
            for (language, old), size in zip(before.items(), after.values(), strict=True)
            if size < old or language == code
        }
        own = percent.pop(code)
        losers = dict(sorted(percent.items(), key=lambda lost: -lost[1]))
        changes[setting] = {"size": after[code], "percent": own, "losers": losers}
    return {"size": before[code], "changes": changes}


def estimate_extension(run: Run, name: str, code: str) -> dict[str, Any]:
    """An estimate of what `vocap extend` saves a language with this tokenizer: in `percent` the
    change of its tokens by the number of pieces added, none beyond the end of the curve.

    The curve's tokens are those of the training lines. `start` is the size where the curve needs
    the tokens that the tokenizer needs on the same lines: a model near it and the tokenizer are
    compared on the held-out lines. The language saves what its curve saves from `start` on.
    Where there is no such size, `start` is None and `reason` says why.
    """
    points = run.results.trained(code)
    own = run.costs.get((name, code), {}).get("tokens_per_sentence")

    def unknown(reason: str) -> dict[str, Any]:
        return {"start": None, "percent": {}, "reason": reason}

    if issubclass(run.results.tokenizers[name].kind_class, BytePair):
        return unknown("it is byte-pair encoding, which has no curve")
    if not (points and own):
        return unknown(f"{code} has no ladder, or was not measured")
    sizes = np.array([point.size for point in points])
    tokens = np.minimum.accumulate([point.tokens_per_sentence or np.nan for point in points])
    near = np.argmin(np.abs(tokens - own))
    model = run.folder / "vocabularies" / code / "models" / f"{sizes[near]}.model"
    heldout = run.heldout(code)
    if not (model.exists() and heldout.exists()):
        return unknown(f"the model of {sizes[near]} pieces or the held-out text is not there")
    with written_by("ladder", model):  # as bytes: their pieces are not read
        measured = measure_text(model.read_bytes(), heldout).tokens_per_sentence
    wanted = tokens[near] * own / measured
    if wanted > tokens[0]:
        return unknown("it needs more tokens than the smallest size of the curve")
    start = float(np.interp(-wanted, -tokens, sizes))
    percent = {
        pieces: float(100 * (np.interp(start + pieces, sizes, tokens) / wanted - 1))
        for pieces in ADDED
        if start + pieces <= sizes[-1]
    }
    return {"start": start, "percent": percent}
