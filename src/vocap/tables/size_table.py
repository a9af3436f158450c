"""Tokens and ALP of held-out text by T and language: the table that `vocap size` reads, of any kind of tokenizer.

A row for each T and language: the lines and UTF-8 bytes of its held-out text, their tokens under the vocabulary of
T ids, and their ALP (Equation 1, p_uni counted on these lines). A text is the same for all T.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

from vocap.errors import VocapError
from vocap.files.io import number, read_tsv, whole_number, write_tsv
from vocap.text_files.lines import read_blocks
from vocap.tokenizer_files.encoders import Encoder
from vocap.unigram.alp import average_log_probability, count_tokens

COLUMNS = ("total", "language", "lines", "bytes", "tokens", "alp")
POINTS = 8  # of a curve over T


@dataclass(frozen=True)
class Measured:
    """One T on one language's held-out lines; `alp` in nats a line."""

    total: int
    language: str
    lines: int
    bytes: int
    tokens: int
    alp: float

    @property
    def tokens_per_byte(self) -> float:
        return self.tokens / self.bytes


Sizes = dict[int, dict[str, Measured]]  # by T, then language


def points_below(largest: int) -> list[int]:
    """Equal steps up to the largest T.

    >>> points_below(200_000)[:3]
    [25000, 50000, 75000]
    """
    return [largest * step // POINTS for step in range(1, POINTS + 1)]


def measure_size(encoder: Encoder, total: int, texts: Mapping[str, Path]) -> list[Measured]:
    """The rows of one vocabulary of `total` ids on the files of `texts`, a language after another.

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


def write_sizes(path: str | Path, rows: Iterable[Measured]) -> None:
    """Write rows by rising T, the languages of each in the order given; whole or not at all."""
    write_tsv(path, COLUMNS, map(astuple, sorted(rows, key=lambda row: row.total)))


def read_sizes(path: str | Path) -> Sizes:
    """The rows by T, rising, and by language.

    Raises VocapError, naming file and line, for a missing column, a cell that is no number in its range, a
    duplicate row, and a T that was measured on another text than the first; and for fewer than two T.
    """
    sizes: dict[int, dict[str, Measured]] = {}
    for line, row in enumerate(read_tsv(path, COLUMNS), start=2):
        where = f"{path}, line {line}"
        total, lines, size, tokens = (
            whole_number(where, name, row[name]) for name in ("total", "lines", "bytes", "tokens")
        )
        alp = number(row["alp"])
        if not alp <= 0 or alp == -float("inf"):
            raise VocapError(f"{where}: alp is {row['alp']!r}, not a number of at most 0; measure the sizes again")
        found = sizes.setdefault(total, {})
        if row["language"] in found:
            raise VocapError(f"{where}: duplicate row of T = {total}, {row['language']!r}; keep one of them")
        found[row["language"]] = Measured(total, row["language"], lines, size, tokens, alp)
    if len(sizes) < 2:
        raise VocapError(f"{path}: {len(sizes)} T in it; a choice needs two or more (vocap joint --curve)")
    texts = {
        total: {(row.language, row.lines, row.bytes) for row in found.values()} for total, found in sizes.items()
    }
    first = next(iter(texts))
    for total, text in texts.items():
        if text != texts[first]:
            named = min(text ^ texts[first])[0]
            raise VocapError(
                f"{path}: T = {total} and T = {first} are of different text ({named}); measure all on one"
            )
    return dict(sorted(sizes.items()))
