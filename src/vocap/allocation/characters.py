"""The characters that the merged vocabulary must hold, as SentencePiece's trainer requires them of one corpus."""

from collections.abc import Mapping, Sequence

from vocap.vocabularies import COVERAGE
from vocap.vocabularies.coverage import required_characters as most_frequent


def required_characters(
    per_line: Sequence[Mapping[str, float]], q: Sequence[float], coverage: float = COVERAGE
) -> list[str]:
    """The most frequent characters of the expected multilingual sample that make up `coverage` of it, sorted.

    `per_line[k]` is how often each character stands in a line of the normalised text of language k, `q[k]` the
    probability of a line of it (Equation 3). A line of the sample then holds sum_k q_k per_line_k of a character,
    and of these SentencePiece's rule takes the most frequent ones.
    """
    expected: dict[str, float] = {}
    for frequencies, probability in zip(per_line, q, strict=True):
        for character, frequency in frequencies.items():
            expected[character] = expected.get(character, 0.0) + probability * frequency
    return sorted(most_frequent(expected, coverage))
