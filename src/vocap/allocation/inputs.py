"""The inputs of an allocation: weights, curves, pieces and characters by language, and
the lengths of lines.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vocap.allocation.settings import Allocation
from vocap.errors import UsageError, VocapError, listed
from vocap.tables.ladder import Ladder, Vocabularies, read_ladder
from vocap.tables.piece_index import PieceIndex
from vocap.tables.sampling_probabilities import weights_without

# a line this much longer or shorter than the median is reported; measured in
# docs/allocation.md
FACTOR = 2.0
NAMED = 5  # languages in the message, on each side
# begins the message; the report's first page looks for it
UNEVEN = "lines differ in length between languages"


@dataclass(frozen=True)
class LanguageInput:
    """One language that takes part; `alp` [S] belongs to `index.sizes`."""

    language: str
    n: float
    index: PieceIndex
    alp: NDArray[np.float64]
    characters: dict[str, float] | None  # mean count of each in a line; None without characters.tsv


@dataclass(frozen=True)
class Inputs:
    """The languages that take part, sorted by code, and those that do not, with the
    reason; `ladders` of those that take part, where their models are known.
    """

    languages: list[LanguageInput]
    left_out: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    ladders: dict[str, Ladder] = field(default_factory=dict)


def gather(
    vocabularies: Vocabularies,
    weights: Mapping[str, float],
    without: Sequence[str] = (),
) -> Inputs:
    """Take the ladder of every language of the weights, except those `without`; of a
    folder, that of `vocabularies/{lang}/`.

    A language whose n is 0, or none of whose sizes is ok, is left out with a warning.
    The order of the weights does not matter. Raises UsageError where `without` names an
    unknown language, or where none is left. VocapError names a file that is missing or
    damaged.
    """
    if not isinstance(vocabularies, str | Path | Mapping):
        kind = type(vocabularies).__name__
        raise UsageError(f"vocabularies: a {kind}; give ladders by language, or their folder")
    if isinstance(vocabularies, Mapping) and (more := set(vocabularies) - {*weights, *without}):
        raise UsageError(f"weights: no n of {listed(sorted(more))}, which has a ladder; give it")
    # every language with text and sizes
    left_out = dict.fromkeys(sorted(set(without)), "left out by `without`")
    warnings: list[str] = []
    ladders: dict[str, Ladder] = {}
    for language in sorted(weights_without(weights, without)):
        reason = "n is 0: no text of it"
        if weights[language]:
            ladder = _ladder_of(vocabularies, language)
            if any(point.ok for point in ladder.points):
                ladders[language] = ladder
                continue
            reason = "no size could be trained"
        left_out[language] = reason
        warnings.append(f"{language} is left out: {reason}")
    languages = [
        LanguageInput(language, weights[language], ladder.index, ladder.alp, ladder.characters)
        for language, ladder in ladders.items()
    ]
    # what is missing
    if not languages:
        where = "the ladders" if isinstance(vocabularies, Mapping) else vocabularies
        raise UsageError(
            f"{where}: no language is left to allocate to: each is left out, has n = 0 or no size"
        )
    if missing := [entry.language for entry in languages if entry.characters is None]:
        warnings.append(
            f"no characters.tsv for {listed(missing)}: none of their characters are required"
        )
    return Inputs(languages, left_out, warnings, ladders)


def _ladder_of(vocabularies: Vocabularies, language: str) -> Ladder:
    """A language's ladder; raises VocapError where there is none."""
    if isinstance(vocabularies, Mapping):
        if language in vocabularies:
            return vocabularies[language]
        missing = f"no ladder of {language!r}, which the weights have"
    else:
        folder = Path(vocabularies, language)
        if (folder / "curve.tsv").exists():
            return read_ladder(folder)
        missing = (
            f"{folder / 'curve.tsv'}: no such file, but the weights have language {language!r}"
        )
    raise VocapError(
        f"{missing}; make its curve (vocap curve), remove its row from the weights, or name "
        f"{language} under `without`"
    )


def uneven_lines(inputs: Inputs, settings: Allocation) -> list[str]:
    """A warning where lines of some language hold `FACTOR` times the nats of the median
    language's, or 1/`FACTOR`.

    Nats of a line are -ALP under a language's smallest vocabulary. Characters are no
    measure: of parallel sentences Chinese has a third of the characters of German, and
    as many nats. With `per: character` there is none.
    """
    if settings.per == "character" or len(inputs.languages) < 2:
        return []
    return uneven_lengths(
        {entry.language: -float(entry.alp[0]) for entry in inputs.languages}, "nats"
    )


def uneven_lengths(lengths: Mapping[str, float], unit: str) -> list[str]:
    """The warning of `uneven_lines` for mean lengths of lines by language."""
    middle = statistics.median(lengths.values())
    if middle <= 0:  # lines of one token that is always the same
        return []
    order = sorted(lengths, key=lambda language: (-lengths[language], language))
    longer = [language for language in order if lengths[language] >= FACTOR * middle]
    shorter = [language for language in reversed(order) if lengths[language] * FACTOR <= middle]
    said = []
    for amount, languages in (("many", longer), ("few", shorter)):
        if languages:
            times = [f"{code} ({lengths[code] / middle:.2g} times)" for code in languages]
            said.append(f"too {amount} for {listed(times, NAMED)}")
    if not said:
        return []
    return [
        f"{UNEVEN}, and a language with longer lines gets more pieces for it: {'; '.join(said)} "
        f"({unit} of its mean line over those of the median language). Cut paragraphs into "
        "sentences (split_sentences: true of the source of the text), or take per: character"
    ]
