"""Made shards of text in the formats of public collections."""

import io
import json
from collections.abc import Sequence

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
