"""The characters that the merged vocabulary must hold, as SentencePiece's trainer requires them of one corpus."""

from collections.abc import Mapping, Sequence

from vocap.vocabularies.characters import COVERAGE, SEPARATOR


def required_characters(
    counts: Sequence[Mapping[str, float]], q: Sequence[float], coverage: float = COVERAGE
) -> list[str]:
    """The most frequent characters of the multilingual mix that make up `coverage` of its text.

    `counts[k]` is how often each character stands in the normalised text of language k, `q[k]` its probability
    (Equation 3); languages enter by relative counts. Sorted by code point.

    As in `TrainerInterface::LoadSentences`, characters are taken by falling frequency (then by code point) while
    those already taken make up less than `coverage`; the tab, which stands for meta pieces, is counted, not taken.
    """
    shares: dict[str, float] = {}
    for language, probability in zip(counts, q, strict=True):
        total = sum(language.values())
        for character, count in language.items():
            shares[character] = shares.get(character, 0.0) + probability * count / total
    whole = sum(shares[character] for character in sorted(shares))
    required, covered = [], 0.0
    for character in sorted(shares, key=lambda character: (-shares[character], character)):
        if covered >= coverage * whole:
            break
        covered += shares[character]
        if character != SEPARATOR:
            required.append(character)
    return sorted(required)
