"""The characters that the merged vocabulary must hold, as SentencePiece's trainer requires them of one corpus."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from vocap.corpora.weights import sampling_probabilities
from vocap.errors import VocapError
from vocap.vocabularies import COVERAGE
from vocap.vocabularies.character_table import read_characters, read_counts
from vocap.vocabularies.coverage import character_counts
from vocap.vocabularies.coverage import required_characters as most_frequent
from vocap.vocabularies.text import read_blocks


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


def shared_characters(
    counts: Sequence[Mapping[str, int]],
    per_line: Sequence[Mapping[str, float]],
    q: Sequence[float],
    coverage: float = COVERAGE,
) -> list[str]:
    """The characters that a tokenizer of these languages must hold, sorted: those that each language's own models
    hold, and those of the expected multilingual sample.

    `counts[k]` is how often each character stands in the text of language k; `per_line` and `q` as of
    `required_characters`.
    """
    own = (character for counted in counts for character in most_frequent(counted, coverage))
    return sorted({*own, *required_characters(per_line, q, coverage)})


def read_shared_characters(
    vocabularies: str | os.PathLike, n: Mapping[str, float], alpha: float, coverage: float = COVERAGE
) -> list[str]:
    """`shared_characters` of the languages with n above 0, from `vocabularies/{language}/characters.tsv`.

    Raises VocapError for a missing or damaged file, and where no n is above 0.
    """
    tables = _files(vocabularies, n, "characters.tsv", "vocap curve")
    return shared_characters([*map(read_counts, tables)], [*map(read_characters, tables)], _q(n, alpha), coverage)


def count_shared_characters(
    corpora: str | os.PathLike, n: Mapping[str, float], alpha: float, coverage: float = COVERAGE
) -> list[str]:
    """The same from the text that the tables are made of, `corpora/{language}/train.txt`: 4 s for 65 MB.

    Raises VocapError for a missing file, one that is not UTF-8, and where no n is above 0.
    """
    counts, per_line = [], []
    for path in _files(corpora, n, "train.txt", "vocap sample"):
        counted = character_counts(read_blocks(path))
        lines = sum(map(len, read_blocks(path)))
        counts.append(counted)
        per_line.append({character: count / lines for character, count in counted.items()})
    return shared_characters(counts, per_line, _q(n, alpha), coverage)


def _files(folder: str | os.PathLike, n: Mapping[str, float], name: str, command: str) -> list[Path]:
    """A file of each language with n above 0."""
    paths = [Path(folder) / language / name for language in n if n[language]]
    for path in paths:
        if not path.is_file():
            raise VocapError(
                f"{path}: no such file, but the weights give {path.parent.name} a weight; make it ({command})"
            )
    if not paths:
        raise VocapError(f"{folder}: no language with text; every n of the weights is 0")
    return paths


def _q(n: Mapping[str, float], alpha: float) -> list[float]:
    return sampling_probabilities([number for number in n.values() if number], alpha).tolist()
