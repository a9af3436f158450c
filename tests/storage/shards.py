"""Made shards of text in the formats of public collections."""

import io
import json
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pyarrow
from backports import zstd
from pyarrow import parquet

from tests.made_text import draw_sentences

LETTERS = {"deu_Latn": "abcdefghiklmnoprstuwz", "rus_Cyrl": "абвгдежзиклмнопрстуя"}


def draw_lines(letters: str, seed: int, words: int) -> Iterator[str]:
    """Lines without end, of half to one and a half times so many words."""
    length = (words // 2, words + words // 2)
    return draw_sentences(str(seed), letters, words=3000, longest=10, length=length)


def as_parquet(lines: Iterator[str], count: int, rows: int, seed: int = 0) -> bytes:
    """A shard of so many lines with the columns of FineWeb-2, `rows` in each row group."""
    generator = np.random.default_rng(seed)
    ids = [generator.bytes(16).hex() for _ in range(count)]
    table = pyarrow.table(
        {
            "text": list(islice(lines, count)),
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


def as_json_lines(lines: Iterator[str], count: int) -> bytes:
    texts = enumerate(islice(lines, count))
    records = (json.dumps({"id": number, "text": text}) + "\n" for number, text in texts)
    return zstd.compress("".join(records).encode(), 3)
