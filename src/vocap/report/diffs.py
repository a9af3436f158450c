"""What `vocap diff` left of two tokenizers, as the report shows it."""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from vocap.errors import VocapError
from vocap.json_object import read_object
from vocap.tsv import read_tsv

SUMMARY = "summary.json"
WORDS = 300  # changed words that the report has; words.tsv has the rest
PIECES = 50  # of those that only one has, on each side
_SCANNED = 50_000  # rows of pieces.tsv, the most used first, that are looked through for them
_COUNTS = ("count", "tokens_a", "tokens_b", "uses_a", "uses_b")


@dataclass(frozen=True)
class Diff:
    """Tokenizer A against B: `summary` as written, and the head of the tables, counts as numbers."""

    name: str
    a: str
    b: str
    summary: dict[str, Any]
    languages: list[dict[str, Any]]
    words: list[dict[str, Any]]
    examples: list[dict[str, Any]]
    only_a: list[dict[str, Any]]
    only_b: list[dict[str, Any]]


def load_diffs(folder: Path, tokenizers: Collection[str], languages: Collection[str]) -> list[Diff]:
    """The comparisons under `folder` of two of these tokenizers, by name; rows of these languages, in their order.

    Raises VocapError, naming the file, for what cannot be read.
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
        words = [row for row in _rows(place / "words.tsv", ("word", "split_a")) if row["language"] in languages]
        words.sort(key=lambda row: (-row["count"], row["language"], row["word"]))
        examples = [
            row for row in _rows(place / "examples.tsv", ("line", "split_a")) if row["language"] in languages
        ]
        pieces = list(islice(_rows(place / "pieces.tsv", ("piece", "status")), _SCANNED))
        only = [[row for row in pieces if row["status"] == f"only_{side}"][:PIECES] for side in "ab"]
        found.append(Diff(place.name, *names, summary, rows, words[:WORDS], examples, *only))
    return found


def _name(path: Any) -> str:
    """The tokenizer of a path results/tokenizers/NAME/sentencepiece.model, or of its folder."""
    parts = Path(str(path)).parts
    return parts[-2] if len(parts) > 1 and parts[-1].endswith(".model") else parts[-1] if parts else ""


def _listed(path: Path, summary: dict[str, Any]) -> list[dict[str, Any]]:
    rows = summary.get("languages")
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "language" in row for row in rows):
        raise VocapError(f"{path}: no list of languages in it; delete the folder and run its stage again")
    return rows


def _rows(path: Path, columns: tuple[str, ...]):
    for line, row in enumerate(read_tsv(path, columns), start=2):
        try:
            yield {key: int(cell) if key in _COUNTS else cell for key, cell in row.items()}
        except ValueError:
            raise VocapError(
                f"{path}, line {line}: a count is no number; delete the folder and run its stage again"
            ) from None
