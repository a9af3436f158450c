"""Token counts at every size, from the applications of the merges: no text is encoded."""

from collections.abc import Iterator, Sequence

import numpy as np

from vocap.bpe.training import Applied


def symbol_counts(symbols: tuple[np.ndarray, np.ndarray], counts: np.ndarray, base: int) -> np.ndarray:
    """Occurrences of each symbol, int64 [base]: `symbols` as of `Alphabet.symbols`, `counts` int64 [K] by word."""
    text, starts = symbols
    totals = np.zeros(base, np.int64)
    np.add.at(totals, text, np.repeat(counts, np.diff(starts)))
    return totals


def add_merges(counts: np.ndarray, merges: np.ndarray, times: np.ndarray) -> None:
    """Change counts of tokens by merges (int32 [E, 3 or more]) that are applied so many `times` (int64 [E])."""
    for side, sign in ((0, -1), (1, -1), (2, 1)):
        np.add.at(counts, merges[:, side], sign * times)


def token_counts(
    initial: np.ndarray, applied: Applied, column: int, sizes: Sequence[int]
) -> Iterator[tuple[int, np.ndarray]]:
    """Each of the ascending `sizes` (tokens, symbols among them), and the counts of its tokens, int64 [size].

    `initial`: those of the symbols; `column` of `Applied.uses`. A text is encoded by the merges of lowest rank
    first, so its tokens at a size are those after the last merge of that size. Sizes that training did not reach
    are left out.
    """
    rows, uses = applied.rows, applied.uses[:, column]
    base = len(initial)
    highest = np.maximum.accumulate(np.concatenate([[base - 1], rows[:, 2]]))
    counts = np.zeros(int(highest[-1]) + 1, np.int64)
    counts[:base] = initial
    done = 0
    for size in sizes:
        if size > len(counts) or size < base:
            continue
        end = max(done, int(np.searchsorted(highest[:-1] + 1, size, side="left")))
        add_merges(counts, rows[done:end], uses[done:end])
        done = end
        yield size, counts[:size].copy()
