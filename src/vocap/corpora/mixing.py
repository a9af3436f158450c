"""The multilingual sample: lines of each language in the shares of Equation 3, shuffled on disk."""

import mmap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vocap.errors import VocapError
from vocap.files.atomic import replacing, scratch_directory
from vocap.tables.sampling_probabilities import quotas
from vocap.text_files.lines import count_lines, survey
from vocap.text_files.records import TextFile

BUCKET_BYTES = 1 << 26  # of text shuffled in memory at a time
_SEARCH = 1 << 24


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
    bucket_bytes: int = BUCKET_BYTES,
    pools: Mapping[str, Pool] | None = None,
) -> np.ndarray:
    """Write `sentences` lines of `files` (language, path), shuffled, in shares by `q`; returns the shares.

    Where a share is larger than the file, it is drawn from the language's pool, if it has one, and filled up from
    the file; else lines are taken several times.

    Each line gets a random 63-bit key and is written to the bucket of the key's first bits; each bucket is
    sorted by key: a uniform shuffle that does not depend on the number of buckets. Memory: one bucket and 32
    bytes for each line of one language; disk: the output twice. A language's lines and keys depend on its own
    share alone. Raises VocapError for a file without lines whose share is not 0.
    """
    path = Path(path)
    counts = quotas(sentences, q)
    with replacing(path, "wb") as output, scratch_directory(path) as folder:
        bits = _bucket_bits(files, counts, bucket_bytes)
        for (language, file), quota in zip(files, counts.tolist(), strict=True):
            if quota:
                code = int.from_bytes(language.encode(), "big")
                generator = np.random.Generator(np.random.PCG64([seed, code]))
                if pools and language in pools and quota > count_lines(file):
                    pooled = folder / "pool"
                    drawn = pools[language].draw(quota, generator, pooled)
                    if drawn:
                        _deal(folder, language, pooled, drawn, generator, bits)
                        quota -= drawn
                    pooled.unlink()
                if quota:
                    _deal(folder, language, file, quota, generator, bits)
        for bucket in range(1 << bits):
            _empty_bucket(folder / str(bucket), output)
    return counts


def _bucket_bits(files: Sequence[tuple[str, str | Path]], counts: np.ndarray, bucket_bytes: int) -> int:
    """The number of leading bits of a key that select its bucket, for buckets of about `bucket_bytes`."""
    total = 0.0
    for (_, file), quota in zip(files, counts.tolist(), strict=True):
        if quota:
            with open(file, "rb") as text:
                start = text.read(1 << 20)
            total += quota * len(start) / max(1, start.count(b"\n"))
    return max(0, int(np.ceil(np.log2(max(1.0, total / bucket_bytes)))))


def _deal(
    folder: Path, language: str, file: str | Path, quota: int, generator: np.random.Generator, bits: int
) -> None:
    """Append `quota` lines of `file` to the buckets, and their keys beside them."""
    with open(file, "rb") as text:
        if not text.seek(0, 2):
            raise VocapError(
                f"{file}: no line to take {quota:,} from; give {language} n = 0 in the weights, or some text"
            )
        with mmap.mmap(text.fileno(), 0, access=mmap.ACCESS_READ) as data:
            bounds = line_bounds(data)
            lines = chosen_lines(len(bounds) - 1, quota, generator)
            keys = generator.integers(1 << 63, size=quota, dtype=np.int64)
            buckets = keys >> (63 - bits)
            order = np.argsort(buckets, kind="stable")
            edges = np.searchsorted(buckets[order], np.arange((1 << bits) + 1))
            for bucket in np.flatnonzero(np.diff(edges)).tolist():
                members = order[edges[bucket] : edges[bucket + 1]]
                picked = lines[members]
                with open(folder / f"{bucket}.keys", "ab") as target:
                    target.write(keys[members].tobytes())
                with open(folder / str(bucket), "ab") as target:
                    for start, end in zip(bounds[picked].tolist(), bounds[picked + 1].tolist(), strict=True):
                        line = data[start:end]
                        target.write(line if line.endswith(b"\n") else line + b"\n")


def _empty_bucket(bucket: Path, output) -> None:
    """Write a bucket's lines in the order of their keys, and remove it."""
    if not bucket.exists():
        return
    lines = bucket.read_bytes().split(b"\n")
    keys = np.fromfile(f"{bucket}.keys", np.int64)
    output.write(b"\n".join([*(lines[index] for index in np.argsort(keys, kind="stable").tolist()), b""]))
    bucket.unlink()
