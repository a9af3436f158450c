"""The multilingual sample: lines of each language in the shares of Equation 3, shuffled."""

import mmap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vocap.errors import VocapError
from vocap.files.atomic import replacing, scratch_directory
from vocap.tables.sampling_probabilities import quotas
from vocap.text_files.lines import count_lines, survey
from vocap.text_files.records import TextFile

_SEARCH = 1 << 24  # bytes searched for line ends at a time
_BATCH = 1 << 16  # lines written at a time


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
    """`count` distinct integers below `below`, rising, int64; every set is equally likely."""
    if 2 * count > below:
        return np.sort(generator.permutation(below)[:count])
    found = np.zeros(0, np.int64)
    while len(found) < count:
        more = generator.integers(below, size=count - len(found) + 16, dtype=np.int64)
        found = np.unique(np.concatenate([found, more]))
    return np.sort(generator.permutation(found)[:count])


def chosen_lines(lines: int, quota: int, generator: np.random.Generator) -> np.ndarray:
    """Indices, rising, of `quota` out of `lines` lines: each floor(quota / lines) times or once more."""
    passes, remainder = divmod(quota, lines)
    extra = np.sort(generator.choice(lines, remainder, replace=False))
    return np.sort(np.concatenate([np.repeat(np.arange(lines), passes), extra]))


def line_bounds(data: mmap.mmap | bytes) -> np.ndarray:
    r"""The starts of the lines and, last, the length, int64: line i is `data[bounds[i]:bounds[i + 1]]`."""
    stops = [np.zeros(1, np.int64)]
    for start in range(0, len(data), _SEARCH):
        block = np.frombuffer(data[start : start + _SEARCH], np.uint8)
        stops.append(np.flatnonzero(block == 10) + (start + 1))
    bounds = np.concatenate(stops)
    return bounds if bounds[-1] == len(data) else np.append(bounds, len(data))  # a last line without its line end


def write_mix(
    path: str | Path,
    files: Sequence[tuple[str, str | Path]],
    q: np.ndarray,
    sentences: int,
    seed: int,
    pools: Mapping[str, Pool] | None = None,
) -> np.ndarray:
    """Write `sentences` lines of `files` (language, path), shuffled, in shares by `q`; returns the shares.

    Where a share is larger than the file, it is drawn from the language's pool, if it has one, and filled up from
    the file; else lines are taken several times. Each line gets a random 63-bit key, and lines are written in the
    order of their keys; the lines and keys of a language depend on its own share alone. Memory: 50 bytes for each
    line of the mix, 8 for each line of a file, and the pages of the files that the system keeps. Raises VocapError
    for a file without lines whose share is not 0.
    """
    path, counts = Path(path), quotas(sentences, q)
    texts: list[mmap.mmap] = []
    taken = []  # of each text: its number, the starts and ends of the lines, and their keys
    with replacing(path, "wb") as output, scratch_directory(path) as folder, ExitStack() as opened:
        # choose the lines of each language
        for (language, file), quota in zip(files, counts.tolist(), strict=True):
            generator = np.random.Generator(np.random.PCG64([seed, int.from_bytes(language.encode(), "big")]))
            parts = [(Path(file), quota)]
            if pools and language in pools and quota > count_lines(file):
                drawn = pools[language].draw(quota, generator, folder / language)
                parts = [(folder / language, drawn), (Path(file), quota - drawn)]
            for part, number in parts:
                if not number:
                    continue
                if not part.stat().st_size:
                    raise VocapError(
                        f"{part}: no line to take {number:,} from; give {language} n = 0 in the weights, "
                        "or some text"
                    )
                text = opened.enter_context(open(part, "rb"))
                texts.append(opened.enter_context(mmap.mmap(text.fileno(), 0, access=mmap.ACCESS_READ)))
                bounds = line_bounds(texts[-1])
                lines = chosen_lines(len(bounds) - 1, number, generator)
                keys = generator.integers(1 << 63, size=number, dtype=np.int64)
                taken.append((np.full(number, len(texts) - 1), bounds[lines], bounds[lines + 1], keys))
        # write them in the order of their keys
        sources, starts, ends, keys = map(np.concatenate, zip(*taken, strict=True))
        order = np.argsort(keys, kind="stable")
        for first in range(0, len(order), _BATCH):
            batch = order[first : first + _BATCH]
            rows = zip(sources[batch].tolist(), starts[batch].tolist(), ends[batch].tolist(), strict=True)
            output.writelines(texts[source][start:end].removesuffix(b"\n") + b"\n" for source, start, end in rows)
    return counts
