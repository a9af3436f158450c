"""Readers of a stage's files: allocations, tokenizers, comparisons of two tokenizers."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from vocap.errors import VocapError
from vocap.files.json_object import read_object
from vocap.files.tsv import read_tsv
from vocap.report.data.results import Allocation, Diff, Pieces, Share, Tokenizer
from vocap.tables.curve import Point, read_points
from vocap.text_files.lines import count_lines
from vocap.tokenizers.evaluation import COLUMNS
from vocap.tokenizers.settings import KINDS

DEFINITION = "tokenizer.json"
FORMS = ("sentencepiece.model", DEFINITION, "huggingface")  # of a tokenizer
DEAD_SHOWN = 100  # dead pieces that the page lists; pieces.tsv has them all
MEASURES = COLUMNS[2:]  # the columns of evaluation.tsv that are numbers
Row = TypeVar("Row")
SUMMARY = "summary.json"
WORDS = 300  # changed words in the report; words.tsv has all
PIECES = 50  # of those that only one has, on each side
_SCANNED = 50_000  # rows of pieces.tsv, the most used first, that are looked through for them
_COUNTS = ("count", "tokens_a", "tokens_b", "uses_a", "uses_b")


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
        weights = (cell(column, float) for column in ("n", "q", "weight"))
        return Share(
            cell("language"), *weights, cell("size", _whole), cell("gain", float), cell("own_pieces", _whole)
        )

    rows, summary, vocabulary = (folder / name for name in ("allocation.tsv", "summary.json", "vocabulary.tsv"))
    return Allocation(
        folder.name,
        read_rows(rows, ("language", "size"), share) if rows.exists() else [],
        read_object(summary) if summary.exists() else {},
        count_lines(vocabulary) - 1 if vocabulary.exists() else None,
        _own_models(folder),
    )


def _own_models(folder: Path) -> dict[str, Point]:
    """By language the model of a rule that makes models, from the curve of one size beside it."""
    points = {path.parent.name: read_points(path) for path in sorted(folder.glob("vocabularies/*/curve.tsv"))}
    return {language: found[-1] for language, found in points.items() if found and found[-1].ok}


def read_tokenizer(folder: Path, configured: str | None) -> Tokenizer:
    names = (
        "description.json",
        "evaluation.tsv",
        "parity.tsv",
        "pieces.tsv",
        "parallel.tsv",
        "unknown.tsv",
        "roundtrip.tsv",
    )
    files = {name: folder / name for name in names if (folder / name).exists()}
    description = read_object(files["description.json"]) if "description.json" in files else {}
    # a tokenizer from elsewhere is evaluated, and nothing else
    kind = (
        description.get("kind") or configured or ("file" if set(files) <= {*names[1:2], *names[4:]} else "unknown")
    )
    expected = names[1:2] if kind == "file" else names[:4]
    if kind in KINDS and KINDS[kind].file == DEFINITION:  # its export is the same file
        expected = (*names[:2], names[3])

    def rows(name: str, column: str, build: Callable[[Cells], dict[str, Any]]) -> list[dict[str, Any]]:
        return read_rows(files[name], ("language", column), build) if name in files else []

    return Tokenizer(
        folder.name,
        description,
        rows("evaluation.tsv", "alp", _measures),
        rows("parity.tsv", "share", partial(_compared, counted="lines")),
        rows("parallel.tsv", "tokens", _parallel),
        rows("unknown.tsv", "character", lambda cell: cell.row),
        rows("roundtrip.tsv", "share", partial(_compared, counted="texts")),
        _pieces(files["pieces.tsv"]) if "pieces.tsv" in files else None,
        tuple(name for name in expected if name not in files),
        str(kind),
        tuple(name for name in FORMS if (folder / name).exists()),
    )


def _measures(cell: Cells) -> dict[str, Any]:
    row: dict[str, Any] = {name: text for name, text in cell.row.items() if name not in MEASURES}
    return row | {name: cell(name, _whole if name == "lines" else float) for name in MEASURES}


def _compared(cell: Cells, counted: str) -> dict[str, Any]:
    """A row of parity or round trips: counts of the lines or texts `counted`, and the share of identical ones."""
    counts = {name: cell(name, _whole) for name in (counted, "identical")}
    return cell.row | counts | {"share": cell("share", float)}


def _parallel(cell: Cells) -> dict[str, Any]:
    counts = {name: cell(name, _whole) for name in ("lines", "tokens", "english_tokens")}
    return {"language": cell("language"), **counts, "ratio_to_english": cell("ratio_to_english", float)}


def _pieces(path: Path) -> Pieces:
    counts: Counter[str] = Counter()
    dead = []
    for row in read_tsv(path, ("piece", "status")):
        counts[row["status"]] += 1
        if row["status"] == "dead" and len(dead) < DEAD_SHOWN:
            dead.append(row)
    return Pieces(dict(sorted(counts.items())), dead)


def load_diffs(folder: Path, tokenizers: Collection[str], languages: Collection[str]) -> list[Diff]:
    """The comparisons under `folder` of two of these tokenizers, by name; rows of these languages, in their order.

    Raises VocapError, naming the file, for malformed tables.
    """
    found = []
    for path in sorted(folder.glob(f"*/{SUMMARY}")):
        summary = read_object(path)
        names = [_name(summary.get(side)) for side in ("a", "b")]
        if any(name not in tokenizers for name in names):
            continue
        place = path.parent
        listed = {row["language"]: row for row in _listed(path, summary)}
        rows = [listed[language] for language in languages if language in listed]
        words, examples = (
            [row for row in _diff_rows(place / f"{table}.tsv", (key, "split_a")) if row["language"] in languages]
            for table, key in (("words", "word"), ("examples", "line"))
        )
        words.sort(key=lambda row: (-row["count"], row["language"], row["word"]))
        pieces = list(islice(_diff_rows(place / "pieces.tsv", ("piece", "status")), _SCANNED))
        only = [[row for row in pieces if row["status"] == f"only_{side}"][:PIECES] for side in "ab"]
        found.append(Diff(place.name, *names, summary, rows, words[:WORDS], examples, *only))
    return found


def _name(path: Any) -> str:
    """The tokenizer of a path results/tokenizers/NAME/FILE, or of its folder."""
    parts = Path(str(path)).parts
    return parts[-2] if len(parts) > 1 and parts[-1].endswith((".model", ".json")) else parts[-1] if parts else ""


def _listed(path: Path, summary: dict[str, Any]) -> list[dict[str, Any]]:
    rows = summary.get("languages")
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "language" in row for row in rows):
        raise VocapError(f"{path}: no list of languages in it; delete the folder and run its stage again")
    return rows


def _diff_rows(path: Path, columns: tuple[str, ...]):
    for line, row in enumerate(read_tsv(path, columns), start=2):
        try:
            yield {key: int(cell) if key in _COUNTS else cell for key, cell in row.items()}
        except ValueError:
            raise VocapError(
                f"{path}, line {line}: a count is no number; delete the folder and run its stage again"
            ) from None
