"""Made shards of text in the formats of public collections, and corpora whose content
drifts from the first shard to the last.
"""

import gzip
import io
import json
from collections.abc import Iterator, Sequence
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


@dataclass(frozen=True)
class MadeCorpus:
    """A folder of shards and what is true of them."""

    folder: Path
    format: str
    lines: int
    text_bytes: int
    stored_bytes: int


def write_drifting(
    folder: Path,
    kind: str,
    words: Words,
    *,
    shards: int,
    first: float,
    last: float,
    lines: int = 300,
    within: bool = False,
) -> MadeCorpus:
    """Shards of `kind` (parquet, jsonl or text) whose lines have `first` words on average
    in the first shard and `last` in the last, on a geometric path; the sizes of the
    shards differ by up to three times. `within`: the drift goes on inside each shard.
    """
    folder.mkdir(parents=True)
    total = text = stored = 0
    for number in range(shards):
        count = round(lines * words.generator.uniform(0.5, 1.5))
        steps = np.linspace(number, number + 1, 8)[:-1] if within else [number + 0.5]
        texts = []
        for step in steps:
            length = first * (last / first) ** (float(step) / shards)
            texts += words.lines(max(1, count // len(steps)), length)
        body = encode(kind, texts, rows=max(1, len(texts) // 4))
        (folder / f"{number:05}{ENDINGS[kind]}").write_bytes(body)
        total += len(texts)
        text += sum(len(line.encode()) + 1 for line in texts)
        stored += len(body)
    return MadeCorpus(folder, FORMATS[kind], total, text, stored)


ENDINGS = {"parquet": ".parquet", "jsonl": ".jsonl.zst", "text": ".txt.gz"}
FORMATS = {"parquet": "parquet:text", "jsonl": "jsonl:text", "text": "text"}


def encode(kind: str, texts: Sequence[str], rows: int) -> bytes:
    """A shard of `kind`; `rows` of a row group."""
    if kind == "parquet":
        return as_parquet(texts, rows)
    return as_json_lines(texts) if kind == "jsonl" else as_plain(texts)


def drifting_corpora(folder: Path, kind: str, count: int, seed: int) -> Iterator[MadeCorpus]:
    """Corpora of 12 to 40 shards, whose lines become up to five times as long or as
    short from the first shard to the last.
    """
    words = Words(LETTERS["deu_Latn"], seed)
    for number in range(count):
        lengths = words.generator.uniform(4, 20, 2)
        yield write_drifting(
            folder / f"{number}",
            kind,
            words,
            shards=int(words.generator.integers(12, 41)),
            first=float(lengths[0]),
            last=float(lengths[1]),
        )


def write_even(folder: Path, kind: str, shards: int, seed: int) -> MadeCorpus:
    """A corpus whose rows are alike from the first shard to the last."""
    return write_drifting(
        folder, kind, Words(LETTERS["deu_Latn"], seed), shards=shards, first=12, last=12
    )
