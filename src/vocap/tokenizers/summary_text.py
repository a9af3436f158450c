"""The summary of an evaluation and its gates, as lines for a terminal."""

import math
from collections.abc import Mapping
from typing import Any

from vocap.files.io import aligned
from vocap.tokenizers.evaluate import BITS, Evaluation

HEADS = ("tokenizer", "T", "tokens", "ratio", "Gini", "worst")
WHITE = str.maketrans({"\t": r"\t", "\n": r"\n", "\r": r"\r"})  # in a cell


def summary_lines(found: Evaluation) -> list[str]:
    """A line a tokenizer, under one that says on which text."""
    texts = found.texts
    bits = "bits/byte" if texts.corpora is not None else "bits/byte (ten folds)"
    where = f"text of {_languages(texts.lines)}"
    if texts.aligned:
        where = f"parallel text {texts.parallel} of {_languages(texts.aligned)}"
        if texts.lines is not texts.aligned:
            where += f"; {bits} and round trip: text of {len(texts.lines)}"
    heads = [*HEADS, bits, "round trip", "unknown bytes"]
    return [where, *aligned([heads, *map(_cells, found.rows)], left=[0, 5])]


def _languages(texts: Mapping[str, Any]) -> str:
    return f"{len(texts)} language{'s' if len(texts) > 1 else ''}"


def _cells(row: Mapping[str, Any]) -> list[str]:
    # 100 % only where every line comes back
    back = row["round_trip"]
    return [
        row["tokenizer"],
        f"{row['total']:,}",
        _shown(row["tokens_per_sentence"], ".2f"),
        _shown(row["ratio_to_english"], ".3f"),
        _shown(row["gini"], ".4f"),
        "-" if row["worst"] is None else f"{row['worst']} {_shown(row['worst_ratio'], '.2f')}",
        _shown(row[BITS], ".4f"),
        "-" if back is None else f"{math.floor(back * 1e4) / 100:.2f} %",
        f"{row['unknown_bytes']:,}",
    ]


def _shown(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def gate_lines(found: Evaluation) -> list[str]:
    """A line a gate of each tokenizer, with its result."""
    cells = [["tokenizer", "gate", "result"]]
    for name, gates in found.gates.items():
        for gate, result in gates.items():
            cells.append([cell.translate(WHITE) for cell in (name, gate, result)])
    return aligned(cells, left=[0, 1, 2])
