"""The files of an allocation, written all or none, and the summary that the command prints."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from vocap.allocation.inputs import Inputs
from vocap.allocation.settings import Allocation
from vocap.allocation.solution import Assessment, Solution
from vocap.files.atomic import replacing, replacing_directory
from vocap.files.tsv import table_lines
from vocap.tables.curve import Point, write_points

COLUMNS = ("language", "n", "q", "weight", "size", "gain", "own_pieces")


def summarise(inputs: Inputs, settings: Allocation, coverage: float, solution: Solution) -> dict:
    """The content of `summary.json`."""
    return {
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
        "bound": solution.bound,
        "chosen": asdict(solution.chosen),
        "other_rules": [asdict(other) for other in solution.others],
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
    models: Mapping | None = None,
) -> None:
    """Write `allocation.tsv`, `vocabulary.tsv` and `summary.json` into `output`; other files there stay.

    `models`: each language's own model on the pieces, of a rule that reads text; written to the folder
    `vocabularies` with a curve of one size for each language.
    """
    output = Path(output)
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
    with ExitStack() as stack:  # every file is complete on the disk before the first is renamed
        if models:
            _write_models(stack.enter_context(replacing_directory(output / "vocabularies")), models)
        for name, lines in texts.items():
            file = stack.enter_context(replacing(output / name))
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())


def _write_models(folder: Path, models: Mapping) -> None:
    for language, model in models.items():
        (folder / language / "models").mkdir(parents=True)
        (folder / language / "models" / f"{model.size}.model").write_bytes(model.model)
        alps = [*model.alp, None][:2]  # None without held-out text
        point = Point(model.size, model.size, *alps, model.tokens_per_sentence)
        write_points(folder / language / "curve.tsv", [point])


def describe(settings: Allocation, solution: Solution) -> Iterator[str]:
    """The lines that the command prints: the languages by falling size, and the quality of the choice."""
    yield f"{'language':<10}{'q':>9}{'size':>8}{'own pieces':>12}{'gain':>12}"
    for row in sorted(solution.rows, key=lambda row: (-row.size, row.language)):
        gain = "" if row.gain is None else f"{row.gain:.5g}"
        yield f"{row.language:<10}{row.q:>9.5f}{row.size:>8,}{row.own_pieces:>12,}{gain:>12}"
    sizes = sum(row.size for row in solution.rows)
    yield ""
    yield (
        f"{len(solution.rows)} languages, {sizes:,} pieces by size, {solution.union:,} in the union; "
        f"{len(solution.vocabulary):,} kept of a capacity of {solution.capacity:,} "
        f"({solution.clipped:,} clipped, {solution.short:,} short)"
    )
    yield f"{solution.required:,} required characters; {solution.required_added:,} were in no chosen vocabulary"
    yield f"{settings.rule}: {_gap(solution.chosen)}"
    for other in solution.others:
        yield f"rule {other.rule} instead: {_gap(other)}"
    if solution.exhausted:
        yield f"at the end of their curves: {', '.join(solution.exhausted)}"


def _gap(of: Assessment) -> str:
    """The optimality gap in words: the part of the distance from F_min to the bound that is left, in percent."""
    if of.way_percent is None:
        return "the smallest sizes do not fit, so there is no bound to compare with"
    gap = 100 - of.way_percent
    said = f"optimality gap {gap:.2f} %" if gap >= 0 else f"{-gap:.2f} % above the bound on unions of whole lists"
    return f"{said}, F = {of.objective:.6g} nats at the last union that fits, {of.union:,}"
