"""The rows of a table by T (`vocap.tables.curve`), measured on held-out text."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from vocap.tables.curve import Measured
from vocap.text_files.records import read_blocks
from vocap.tokenizer_files.encoders import Encoder
from vocap.unigram.alp import average_log_probability, count_tokens

POINTS = 8  # of a curve over T


def points_below(largest: int) -> list[int]:
    """Equal steps up to the largest T.

    >>> points_below(200_000)[:3]
    [25000, 50000, 75000]
    """
    return [largest * step // POINTS for step in range(1, POINTS + 1)]


def measure_size(encoder: Encoder, total: int, texts: Mapping[str, Path]) -> list[Measured]:
    """The rows of one vocabulary of `total` ids on the files of `texts`, a language
    after another.

    Empty lines are left out, and so are languages that have no other.
    """
    rows = []
    for language, path in texts.items():
        sizes: list[int] = []
        counts, lines = count_tokens(encoder.encode_batch, encoder.size, _filled(path, sizes))
        if lines:
            alp = average_log_probability(counts, lines)
            rows.append(Measured(total, language, lines, sum(sizes), int(counts.sum()), alp))
    return rows


def _filled(path: Path, sizes: list[int]) -> Iterator[list[str]]:
    """Blocks of the lines that hold text; their bytes are appended to `sizes`."""
    for block in read_blocks(path):
        lines = [line for line in block if line]
        sizes.append(sum(len(line.encode("utf-8")) for line in lines))
        yield lines
