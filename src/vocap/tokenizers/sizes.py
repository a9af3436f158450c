"""The rows of a table by T (`vocap.tables.curve`), measured on held-out text."""

from collections.abc import Mapping
from pathlib import Path

from vocap.tables.curve import Measured
from vocap.text_files.named_texts import find_texts, read_sentences
from vocap.text_files.text import Text, Texts
from vocap.tokenizer_files.encoders import Encoder
from vocap.unigram.usage import Segments

POINTS = 8  # of a curve over T


def points_below(largest: int) -> list[int]:
    """Equal steps up to the largest T.

    >>> points_below(200_000)[:3]
    [25000, 50000, 75000]
    """
    return [largest * step // POINTS for step in range(1, POINTS + 1)]


def heldout_texts(texts: Texts) -> Mapping[str, Text]:
    """The held-out text of each language, of a folder all that there are."""
    if isinstance(texts, Mapping):
        return texts
    found = find_texts({}, Path(texts), None, ["heldout"])
    return {code: files["heldout"] for code, files in found.items()}


def measure_size(encoder: Encoder, total: int, texts: Mapping[str, Text]) -> list[Measured]:
    """The rows of one vocabulary of `total` ids on `texts`, a language after another.

    Empty lines are left out, and so are languages that have no other.
    """
    rows = []
    for language, text in texts.items():
        segments = Segments(encoder)
        for lines in read_sentences(text):
            segments.add(lines)
        sums = segments.sums
        if count := sums["lines"]:
            alp = sums["nats"] / count
            rows.append(Measured(total, language, count, sums["bytes"], sums["tokens"], alp))
    return rows
