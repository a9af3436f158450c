"""What an allocation starts from: weights, curves, indexes of pieces and characters, read and checked."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vocap.errors import UsageError, VocapError
from vocap.vocabularies.character_table import read_characters
from vocap.vocabularies.curve import read_points
from vocap.vocabularies.index import NAME, PieceIndex, load_or_build


@dataclass(frozen=True)
class LanguageInput:
    """One language that takes part; `alp` [S] belongs to `index.sizes`."""

    language: str
    n: float
    index: PieceIndex
    alp: np.ndarray
    characters: dict[str, float] | None  # how often each stands in a line; None where there is no characters.tsv


@dataclass(frozen=True)
class Inputs:
    """The languages that take part, sorted by code, and those that do not, with the reason."""

    languages: list[LanguageInput]
    left_out: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def gather(directory: str | os.PathLike, weights: Mapping[str, float], without: Sequence[str] = ()) -> Inputs:
    """Read what `directory/{lang}/` has of every language of the weights, except those `without`.

    A language whose n is 0, or none of whose sizes is ok, is left out with a warning.
    The order of the weights has no say. Raises UsageError where `without` names what is not there or leaves no
    language, VocapError for files that are missing or damaged, and where no language has anything.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise VocapError(
            f"{directory}: no such folder of vocabularies; it should hold LANG/curve.tsv and LANG/models/"
        )
    unknown = [language for language in without if language not in weights]
    if unknown:
        raise UsageError(
            f"--without names {', '.join(map(repr, unknown))}, which the weights do not have; "
            f"they have: {', '.join(sorted(weights))}"
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
            raise VocapError(
                f"{folder / 'curve.tsv'}: no such file, but the weights have language {language!r}; make its "
                f"curve (vocap curve), remove its row from the weights, or pass --without {language}"
            )
        points = [point for point in read_points(folder / "curve.tsv") if point.ok]
        if not points:
            left_out[language] = "no size could be trained"
            warnings.append(f"{language} is left out: {folder / 'curve.tsv'} has no size that is ok")
            continue
        index = load_or_build(folder / NAME, folder / "models", [point.size for point in points])
        alp = np.array([point.alp for point in points], np.float64)
        table = folder / "characters.tsv"
        characters = read_characters(table) or None if table.exists() else None
        languages.append(LanguageInput(language, n, index, alp, characters))
    if not languages:
        if without:
            raise UsageError(f"--without {','.join(without)}: no language is left to allocate to; name fewer")
        raise VocapError(f"{directory}: no language to allocate to: each has n = 0 or no size that is ok")
    missing = [entry.language for entry in languages if entry.characters is None]
    if missing:
        warnings.append(
            f"no characters.tsv for {', '.join(missing)}: the required characters come from the other languages"
            if len(missing) < len(languages)
            else "no characters.tsv for any language: no character is required beyond those of the vocabularies"
        )
    return Inputs(languages, left_out, warnings)
