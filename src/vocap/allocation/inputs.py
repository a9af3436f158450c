"""What an allocation starts from: weights, curves, indexes of pieces and characters, read and checked."""

import logging
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vocap.errors import UsageError, VocapError
from vocap.tsv import read_tsv
from vocap.vocabularies.curve import read_points
from vocap.vocabularies.index import PieceIndex, load_or_build

CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # a folder's name, and a part of a comma-separated list

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LanguageInput:
    """One language that takes part; `alp` [S] belongs to `index.sizes`."""

    language: str
    n: float
    index: PieceIndex
    alp: np.ndarray
    characters: dict[str, int] | None  # None where there is no characters.tsv


@dataclass(frozen=True)
class Inputs:
    """The languages that take part, sorted by code, and those that do not, with the reason."""

    languages: list[LanguageInput]
    left_out: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def read_weights(path: str | os.PathLike) -> dict[str, float]:
    """n of every language, from the columns `language` and `n`; the order of the rows does not matter.

    Raises VocapError, naming file and line, for a code that stands twice or an n that is no number of lines.
    """
    weights: dict[str, float] = {}
    for line, row in enumerate(read_tsv(path, ("language", "n")), start=2):
        language, where = row["language"], f"{path}, line {line}"
        if not CODE.fullmatch(language):
            raise VocapError(f"{where}: {language!r} is not a language code; use letters, digits, - and _")
        if language in weights:
            raise VocapError(f"{where}: language {language!r} stands twice; keep one of the rows")
        try:
            n = float(row["n"])
        except ValueError:
            n = math.nan
        if not (math.isfinite(n) and n >= 0):
            raise VocapError(f"{where}: n of {language} is {row['n']!r}; give a number, 0 or above")
        weights[language] = n
    return dict(sorted(weights.items()))


def gather(directory: str | os.PathLike, weights: dict[str, float], without: Sequence[str] = ()) -> Inputs:
    """Read what `directory/{lang}/` has of every language of the weights, except those `without`.

    A language whose n is 0, or none of whose sizes is ok, is left out with a warning.
    Raises UsageError for a folder that is missing or when no language remains, VocapError for damaged files.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise UsageError(
            f"{directory}: no such folder of vocabularies; it should hold LANG/curve.tsv and LANG/models/"
        )
    unknown = [language for language in without if language not in weights]
    if unknown:
        raise UsageError(
            f"--without names {', '.join(map(repr, unknown))}, which the weights do not have; "
            f"they have: {', '.join(weights)}"
        )
    left_out = dict.fromkeys(sorted(set(without)), "left out by --without")
    warnings: list[str] = []
    languages = []
    for language, n in sorted(weights.items()):
        if language in left_out:
            continue
        if n == 0:
            left_out[language] = "n is 0: no text of it"
            warnings.append(f"{language} is left out: its n is 0")
            continue
        folder = directory / language
        if not (folder / "curve.tsv").exists():
            raise UsageError(
                f"{folder / 'curve.tsv'}: no such file, but the weights have language {language!r}; make its "
                f"curve (vocap curve), remove its row from the weights, or pass --without {language}"
            )
        points = [point for point in read_points(folder / "curve.tsv") if point.ok]
        if not points:
            left_out[language] = "no size could be trained"
            warnings.append(f"{language} is left out: {folder / 'curve.tsv'} has no size that is ok")
            continue
        index = load_or_build(folder)
        alp = np.array([point.alp for point in points], np.float64)
        languages.append(LanguageInput(language, n, index, alp, _read_characters(folder / "characters.tsv")))
    if not languages:
        raise UsageError(f"{directory}: no language is left to allocate to; see the weights, and --without")
    missing = [entry.language for entry in languages if entry.characters is None]
    if missing:
        warnings.append(
            f"no characters.tsv for {', '.join(missing)}: the required characters come from the other languages"
            if len(missing) < len(languages)
            else "no characters.tsv for any language: no character is required beyond those of the vocabularies"
        )
    return Inputs(languages, left_out, warnings)


def _read_characters(path: Path) -> dict[str, int] | None:
    if not path.exists():
        return None
    counts = {}
    for line, row in enumerate(read_tsv(path, ("character", "count")), start=2):
        character, count = row["character"], row["count"]
        if len(character) != 1 or not (count.isascii() and count.isdigit()) or character in counts:
            raise VocapError(
                f"{path}, line {line}: {character!r} {count!r} is not one new character and its count; "
                "make the file again (vocap curve)"
            )
        counts[character] = int(count)
    return counts if sum(counts.values()) else None
