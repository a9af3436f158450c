"""One file or folder of a stage each, as the page needs it; what is malformed is one clear error."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from vocap.errors import VocapError
from vocap.json_object import read_object
from vocap.report.results import Allocation, Pieces, Share, Tokenizer
from vocap.tokenizers.evaluation import COLUMNS
from vocap.tsv import read_tsv
from vocap.vocabularies.curve import Point, read_points

DEAD_SHOWN = 100  # dead pieces that the page lists; pieces.tsv has them all
MEASURES = COLUMNS[2:]  # the columns of evaluation.tsv that are numbers
Row = TypeVar("Row")


class Cells:
    """Typed cells of one row, whose errors name the file and the line."""

    def __init__(self, path: Path, line: int, row: dict[str, str]) -> None:
        self.path, self.line, self.row = path, line, row

    def __call__(self, column: str, kind: Callable[[str], Any] = str) -> Any:
        text = self.row.get(column, "")
        if kind is str:
            return text
        if text in ("", "-"):
            return None
        try:
            value = kind(text)
            if value != value or value in (float("inf"), float("-inf")):
                raise ValueError
        except ValueError:
            raise VocapError(
                f"{self.path}, line {self.line}: {column} is {text!r}, not a number; "
                "delete the file and run its stage again"
            ) from None
        return value


def read_rows(path: Path, required: Sequence[str], build: Callable[[Cells], Row]) -> list[Row]:
    return [build(Cells(path, line, row)) for line, row in enumerate(read_tsv(path, required), start=2)]


def _whole(text: str) -> int:
    return int(text) if text.lstrip("-").isdigit() else int(float(text))


def read_allocation(folder: Path) -> Allocation:
    def share(cell: Cells) -> Share:
        return Share(
            cell("language"),
            cell("n", float),
            cell("q", float),
            cell("weight", float),
            cell("size", _whole),
            cell("gain", float),
            cell("own_pieces", _whole),
        )

    rows, summary, vocabulary = (folder / name for name in ("allocation.tsv", "summary.json", "vocabulary.tsv"))
    return Allocation(
        folder.name,
        read_rows(rows, ("language", "size"), share) if rows.exists() else [],
        read_object(summary) if summary.exists() else {},
        sum(1 for _ in read_tsv(vocabulary, ("piece",))) if vocabulary.exists() else None,
        _own_models(folder),
    )


def _own_models(folder: Path) -> dict[str, Point]:
    """By language the model of a rule that makes models, from the curve of one size beside it."""
    points = {path.parent.name: read_points(path) for path in sorted(folder.glob("vocabularies/*/curve.tsv"))}
    return {language: found[-1] for language, found in points.items() if found and found[-1].ok}


def read_tokenizer(folder: Path, configured: str | None) -> Tokenizer:
    names = ("description.json", "evaluation.tsv", "parity.tsv", "pieces.tsv", "parallel.tsv", "unknown.tsv")
    files = {name: folder / name for name in names if (folder / name).exists()}
    description = read_object(files["description.json"]) if "description.json" in files else {}
    # a tokenizer from elsewhere is evaluated, and nothing else
    kind = (
        description.get("kind") or configured or ("file" if set(files) <= {*names[1:2], *names[4:]} else "unknown")
    )
    expected = names[1:2] if kind == "file" else names[:4]
    return Tokenizer(
        folder.name,
        description,
        read_rows(files["evaluation.tsv"], ("language", "alp"), _measures) if "evaluation.tsv" in files else [],
        read_rows(files["parity.tsv"], ("language", "share"), _parity) if "parity.tsv" in files else [],
        read_rows(files["parallel.tsv"], ("language", "tokens"), _parallel) if "parallel.tsv" in files else [],
        list(read_tsv(files["unknown.tsv"], ("language", "character"))) if "unknown.tsv" in files else [],
        _pieces(files["pieces.tsv"]) if "pieces.tsv" in files else None,
        tuple(name for name in expected if name not in files),
        str(kind),
        tuple(name for name in ("sentencepiece.model", "huggingface") if (folder / name).exists()),
    )


def _measures(cell: Cells) -> dict[str, Any]:
    row: dict[str, Any] = {name: text for name, text in cell.row.items() if name not in MEASURES}
    return row | {name: cell(name, _whole if name == "lines" else float) for name in MEASURES}


def _parity(cell: Cells) -> dict[str, Any]:
    return (
        dict(cell.row)
        | {name: cell(name, _whole) for name in ("lines", "identical")}
        | {"share": cell("share", float)}
    )


def _parallel(cell: Cells) -> dict[str, Any]:
    return {
        "language": cell("language"),
        "lines": cell("lines", _whole),
        "tokens": cell("tokens", _whole),
        "ratio_to_english": cell("ratio_to_english", float),
    }


def _pieces(path: Path) -> Pieces:
    counts: Counter[str] = Counter()
    dead = []
    for row in read_tsv(path, ("piece", "status")):
        counts[row["status"]] += 1
        if row["status"] == "dead" and len(dead) < DEAD_SHOWN:
            dead.append(row)
    return Pieces(dict(sorted(counts.items())), dead)
