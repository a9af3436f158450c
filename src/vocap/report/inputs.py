"""What allocations start from, as the stages left it: for the page's explorer and the frontier."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from vocap.allocation.inputs import Inputs, LanguageInput
from vocap.corpora.weights import read_weights
from vocap.vocabularies.character_table import read_characters
from vocap.vocabularies.curve import Point
from vocap.vocabularies.index import NAME, read_index


def load_inputs(folder: Path, curves: Mapping[str, Sequence[Point]], shown: Collection[str]) -> tuple[Inputs, str]:
    """The languages that `vocap allocate` would take, of those `shown`; and why there are none, or nothing.

    `folder` holds the results of the stages. An index of pieces that is missing, or of other sizes than the curve,
    is not made here: a report only reads. Raises VocapError for damaged files.
    """
    weights = folder / "corpora" / "weights.tsv"
    if not weights.exists() or not any(folder.glob(f"vocabularies/*/{NAME}")):
        return Inputs([]), f"There is no weights.tsv, or no {NAME}, the index of a language’s pieces."
    languages = []
    for code, n in sorted(read_weights(weights).items()):
        points = [point for point in curves.get(code, ()) if point.ok]
        if n == 0 or not points or code not in shown:
            continue
        path = folder / "vocabularies" / code / NAME
        if not path.exists():
            return Inputs([]), f"There is no {code}/{NAME}, the index of a language’s pieces."
        index = read_index(path)
        if index.sizes.tolist() != [point.size for point in points]:
            return Inputs([]), f"{code}/{NAME} has other sizes than the curve beside it."
        table = path.with_name("characters.tsv")
        characters = read_characters(table) or None if table.exists() else None
        alp = np.array([point.alp for point in points], np.float64)
        languages.append(LanguageInput(code, n, index, alp, characters))
    return Inputs(languages), "" if languages else "No language has a weight and a curve."
