"""Lines of the multilingual sample from the files themselves, where a language's own sample is too small."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vocap.corpora.records import TextFile
from vocap.corpora.sampling import survey


@dataclass(frozen=True)
class Pool:
    """The text that a language's train.txt is a sample of.

    `open`: gives its files, read as `vocap sample` read them; `valid`: the usable lines that it counted in them;
    `heldout`: the file of lines that nothing may be trained on.
    """

    open: Callable[[], Iterable[TextFile]]
    valid: int
    heldout: Path

    def draw(self, count: int, generator: np.random.Generator, path: Path) -> int:
        """Write `count` random lines, each at most once, in the text's order; returns how many were written.

        Fewer where the text has fewer, and without those held out. Memory: 16 bytes for each line drawn.
        """
        held_out = set(self.heldout.read_bytes().split(b"\n"))
        wanted = distinct_numbers(self.valid, min(count, self.valid), generator)
        before = written = 0
        with open(path, "wb") as file:
            for text in self.open():
                for block in text:
                    found = survey(block)
                    first, last = np.searchsorted(wanted, (before, before + len(found.starts)))
                    chosen = wanted[first:last] - before
                    for start, end in zip(found.starts[chosen].tolist(), found.ends[chosen].tolist(), strict=True):
                        if (line := block[start:end]) not in held_out:
                            file.write(line + b"\n")
                            written += 1
                    before += len(found.starts)
        return written


def distinct_numbers(below: int, count: int, generator: np.random.Generator) -> np.ndarray:
    """So many different whole numbers from 0 on, rising, int64; every set of them is equally likely."""
    if 2 * count > below:
        return np.sort(generator.permutation(below)[:count])
    found = np.zeros(0, np.int64)
    while len(found) < count:
        more = generator.integers(below, size=count - len(found) + 16, dtype=np.int64)
        found = np.unique(np.concatenate([found, more]))
    return np.sort(generator.permutation(found)[:count])
