"""The files of an allocation: all of them, or none."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from vocap.allocation import SPECIALS
from vocap.allocation.inputs import Inputs
from vocap.allocation.settings import Allocation
from vocap.allocation.solution import Assessment, Solution
from vocap.files import replacing, replacing_directory
from vocap.tsv import table_lines
from vocap.vocabularies.curve import Point, write_points

if TYPE_CHECKING:
    from vocap.allocation.pieces.language import Unigram

COLUMNS = ("language", "n", "q", "weight", "size", "gain", "own_pieces")


def summarise(inputs: Inputs, settings: Allocation, coverage: float, solution: Solution) -> dict:
    """What `summary.json` holds."""

    def assessment(of: Assessment) -> dict:
        return {
            "rule": of.rule,
            "union": of.union,
            "objective": of.objective,
            "way_percent": of.way_percent,
        }

    return {
        "settings": {**settings.model_dump(), "coverage": coverage},
        "languages": len(solution.rows),
        "left_out": inputs.left_out,
        "special_tokens": SPECIALS,
        "capacity": solution.capacity,
        "sum_of_sizes": sum(row.size for row in solution.rows),
        "union_before_clipping": solution.union,
        "clipped": solution.clipped,
        "short": solution.short,
        "pieces": len(solution.vocabulary),
        "required_characters": solution.required,
        "required_characters_added": solution.required_added,
        "objective_smallest": solution.objective_smallest,
        "bound": solution.bound,
        "chosen": assessment(solution.chosen),
        "other_rules": [assessment(other) for other in solution.others],
        "exhausted": solution.exhausted,
        **({} if solution.lines is None else {"lines": solution.lines}),
        "warnings": solution.warnings,
    }


def write_allocation(
    output: str | os.PathLike,
    inputs: Inputs,
    settings: Allocation,
    coverage: float,
    solution: Solution,
    models: Mapping[str, "Unigram"] | None = None,
) -> None:
    """Write `allocation.tsv`, `vocabulary.tsv` and `summary.json` into `output`; other files there stay.

    `models`: the languages' own on the pieces, of a rule that makes some: they become the folder `vocabularies`,
    with a curve of one size for each language.
    """
    output = Path(output)
    created = not output.exists()
    summary = summarise(inputs, settings, coverage, solution)
    texts = {
        "allocation.tsv": table_lines(
            COLUMNS, ([getattr(row, name) for name in COLUMNS] for row in solution.rows)
        ),
        "vocabulary.tsv": table_lines(
            ("piece", "languages"), ((piece, ",".join(held)) for piece, held in solution.vocabulary.items())
        ),
        "summary.json": [json.dumps(summary, ensure_ascii=False, indent=2) + "\n"],
    }
    try:
        with ExitStack() as stack:  # every file is complete on the disk before the first is renamed
            if models:
                _write_models(stack.enter_context(replacing_directory(output / "vocabularies")), models)
            for name, lines in texts.items():
                file = stack.enter_context(replacing(output / name))
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
    except BaseException:
        if created and output.is_dir() and not any(output.iterdir()):
            output.rmdir()
        raise


def _write_models(folder: Path, models: Mapping[str, "Unigram"]) -> None:
    for language, model in models.items():
        (folder / language / "models").mkdir(parents=True)
        (folder / language / "models" / f"{model.size}.model").write_bytes(model.model)
        alps = [*model.alp, None][:2]  # None without held-out text
        point = Point(model.size, model.size, *alps, model.tokens_per_sentence)
        write_points(folder / language / "curve.tsv", [point])


def describe(settings: Allocation, solution: Solution) -> Iterator[str]:
    """The lines that the command prints: the languages by falling size, and how good the choice is."""
    yield f"{'language':<10}{'q':>9}{'size':>8}{'own pieces':>12}{'gain':>12}"
    for row in sorted(solution.rows, key=lambda row: (-row.size, row.language)):
        gain = "" if row.gain is None else f"{row.gain:.5g}"
        yield f"{row.language:<10}{row.q:>9.5f}{row.size:>8,}{row.own_pieces:>12,}{gain:>12}"
    sizes = sum(row.size for row in solution.rows)
    yield ""
    yield (
        f"{len(solution.rows)} languages, {sizes:,} pieces by size, {solution.union:,} in the union; "
        f"{len(solution.vocabulary):,} kept of a room for {solution.capacity:,} "
        f"({solution.clipped:,} clipped, {solution.short:,} short)"
    )
    yield f"{solution.required:,} required characters; {solution.required_added:,} were in no chosen vocabulary"
    yield f"{settings.rule}: {_way(solution.chosen)}"
    for other in solution.others:
        yield f"rule {other.rule} would have given: {_way(other)}"
    if solution.exhausted:
        yield f"at the end of their curves: {', '.join(solution.exhausted)}"


def _way(of: Assessment) -> str:
    if of.way_percent is None:
        return "the smallest sizes do not fit, so there is no distance to a bound"
    return (
        f"{of.way_percent:.2f} % of the way to the bound, F = {of.objective:.6g} nats "
        f"at the last union that fits, {of.union:,}"
    )
