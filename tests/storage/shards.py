"""Made shards of text in the formats of public collections, and corpora whose content
drifts from the first shard to the last.
"""

import gzip
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow
from backports import zstd
from pyarrow import parquet

LETTERS = {"deu_Latn": "abcdefghiklmnoprstuwz", "rus_Cyrl": "абвгдежзиклмнопрстуя"}


class Words:
    """Made words, drawn by Zipf's law; `lines` gives as many lines as asked for."""

    def __init__(self, letters: str, seed: int, size: int = 20_000) -> None:
        self.generator = np.random.default_rng(seed)
        signs = np.array(list(letters))
        lengths = self.generator.integers(2, 11, size)
        drawn = self.generator.integers(0, len(signs), int(lengths.sum()))
        ends = np.cumsum(lengths)
        self.words = np.array(
            [
                "".join(signs[drawn[end - length : end]])
                for end, length in zip(ends, lengths, strict=True)
            ]
        )
        shares = 1 / np.arange(1, size + 1)
        self.cumulated = np.cumsum(shares / shares.sum())

    def lines(self, count: int, words: float) -> list[str]:
        """Lines of half to one and a half times so many words."""
        lengths = self.generator.integers(
            max(1, round(words / 2)), max(2, round(1.5 * words)), count, endpoint=True
        )
        ranks = np.searchsorted(self.cumulated, self.generator.random(int(lengths.sum())))
        drawn = self.words[np.minimum(ranks, len(self.words) - 1)].tolist()
        ends = np.cumsum(lengths).tolist()
        return [
            " ".join(drawn[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)
        ]


def as_parquet(texts: Sequence[str], rows: int, seed: int = 0) -> bytes:
    """A shard with the columns of FineWeb-2, `rows` in each row group."""
    generator = np.random.default_rng(seed)
    ids = [generator.bytes(16).hex() for _ in texts]
    count = len(texts)
    table = pyarrow.table(
        {
            "text": pyarrow.array(texts, pyarrow.string()),
            "id": [f"<urn:uuid:{name}>" for name in ids],
            "dump": ["CC-MAIN-2024-10"] * count,
            "url": [f"https://{name[:9]}.example/{name[9:20]}" for name in ids],
            "date": ["2024-02-28T10:11:12Z"] * count,
            "language": ["deu"] * count,
            "language_script": ["Latn"] * count,
            "language_score": generator.random(count),
            "minhash_cluster_size": generator.integers(1, 90, count),
        }
    )
    out = io.BytesIO()
    parquet.write_table(table, out, row_group_size=rows, compression="zstd")
    return out.getvalue()


def as_json_lines(texts: Sequence[str]) -> bytes:
    records = (json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(texts))
    return zstd.compress("".join(records).encode(), 3)


def as_plain(texts: Sequence[str]) -> bytes:
    return gzip.compress("".join(f"{text}\n" for text in texts).encode(), 3, mtime=0)


ENDINGS = {"parquet": ".parquet", "jsonl": ".jsonl.zst", "text": ".txt.gz"}
FORMATS = {"parquet": "parquet:text", "jsonl": "jsonl:text", "text": "text"}


def encode(kind: str, texts: Sequence[str], rows: int) -> bytes:
    """A shard of `kind`; `rows` of a row group."""
    if kind == "parquet":
        return as_parquet(texts, rows)
    return as_json_lines(texts) if kind == "jsonl" else as_plain(texts)


@dataclass(frozen=True)
class MadeCorpus:
    """A folder of shards and what is true of them."""

    folder: Path
    format: str
    lines: int
    stored_bytes: int


class ShardPool:
    """Shards of one kind, of lines of 4 to 20 words on average, of which corpora are
    made by links.

    `size`: bytes of text of a shard; they differ by up to three times.
    """

    def __init__(self, folder: Path, kind: str, seed: int, size: int, steps: int = 48) -> None:
        self.folder, self.kind = folder, kind
        self.words = Words(LETTERS["deu_Latn"], seed)
        self.generator = self.words.generator
        self.lengths = np.geomspace(4, 20, steps)
        self.lines: list[int] = []
        (folder / "pool").mkdir(parents=True)
        for number, length in enumerate(self.lengths.tolist()):
            count = round(size / (length * 7) * self.generator.uniform(0.5, 1.5))
            body = encode(kind, self.words.lines(count, length), rows=-(-count // 5))
            self._file(number).write_bytes(body)
            self.lines.append(count)

    def _file(self, number: int) -> Path:
        return self.folder / "pool" / f"{number:03}"

    def _corpus(self, name: str, numbers: Sequence[int]) -> MadeCorpus:
        """A corpus of these shards, in this order."""
        folder = self.folder / name
        folder.mkdir()
        for place, number in enumerate(numbers):
            os.link(self._file(number), folder / f"{place:05}{ENDINGS[self.kind]}")
        return MadeCorpus(
            folder,
            FORMATS[self.kind],
            sum(self.lines[number] for number in numbers),
            sum(self._file(number).stat().st_size for number in numbers),
        )

    def drifting(self, name: str) -> MadeCorpus:
        """A corpus of 12 to 80 shards, whose lines become longer or shorter from the
        first to the last, with exceptions.
        """
        last = len(self.lengths) - 1
        count = int(self.generator.integers(12, 81))
        path = np.linspace(*self.generator.uniform(0, last, 2), count)
        path += self.generator.normal(0, 2, count)
        return self._corpus(name, np.clip(np.rint(path), 0, last).astype(int).tolist())

    def even(self, name: str, shards: int) -> MadeCorpus:
        """A corpus whose lines are alike in all shards."""
        near = self.generator.integers(24, 26, shards)
        return self._corpus(name, near.tolist())
